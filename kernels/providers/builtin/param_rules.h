// Validation of the scalars of a call.
#pragma once

#include <string>

#include "kernels/abi/moediff_abi.h"

namespace moediff::kernels {

/// The text names op, parameter, expected and found; empty: valid. Looks at no operand. `algebra`: the operands are
/// field elements.
std::string check_params(const md_call& call, bool algebra);
/// What depends on the sizes of valid operands.
std::string check_sizes(const md_call& call);

}  // namespace moediff::kernels
