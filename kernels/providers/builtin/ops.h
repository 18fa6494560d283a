// The correct implementation of every op.
#pragma once

#include <type_traits>

#include "kernels/providers/builtin/op_call.h"

namespace moediff::kernels {

/// Indexed by md_op.
extern const OpKernel kOps[MD_OP_COUNT];

/// The correct op in model dtype T (float or Bf16), for the faulty variants.
template <typename T>
int run_correct(int op, const OpCall& call) {
  return std::is_same_v<T, float> ? kOps[op].f32(call) : kOps[op].bf16(call);
}

/// Is the operand in that dtype, and not quantised?
template <typename T>
bool holds(const md_tensor& tensor) {
  return tensor.dtype == (std::is_same_v<T, float> ? MD_F32 : MD_BF16);
}

}  // namespace moediff::kernels
