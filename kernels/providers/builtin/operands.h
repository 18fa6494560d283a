// Validation of a call: its scalars, and its operands' dtypes, ranks, shapes that agree with each other and with the
// scheme, adjacent columns.
#pragma once

#include <string>

#include "kernels/abi/moediff_abi.h"

namespace moediff::kernels {

/// Names of md_op, as in variant selections and error texts; null outside the enumeration.
const char* op_name(int op);

const char* dtype_name(int dtype);

/// Checks the whole call. On success `model_dtype` is MD_F32, MD_BF16, MD_F16 or, in algebra mode, MD_FIELD (MD_F32 for
/// an op without model operands); otherwise the text names op, operand or parameter, expected and found. Empty: valid.
std::string check_operands(const md_call& call, int* model_dtype);

}  // namespace moediff::kernels
