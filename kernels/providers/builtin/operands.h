// Validation of a call's operands against a table: dtype, rank, shapes that agree with each other, adjacent columns.
#pragma once

#include <string>

#include "kernels/abi/moediff_abi.h"

namespace moediff::kernels {

/// Names of md_op, as in variant selections and error texts; null outside the enumeration.
const char* op_name(int op);

/// Checks the whole call. On success `model_dtype` is MD_F32 or MD_BF16 (MD_F32 for an op without model operands);
/// otherwise the text names op, operand, expected and found. Empty: valid.
std::string check_operands(const md_call& call, int* model_dtype);

}  // namespace moediff::kernels
