// The matrix products, the quantisations and the conversion of number formats: one function an op, from operand slots
// to launches. None has a template parameter: element types, scheme and policies are read from the operands and the
// params, so that one function serves f32, bf16, f16 and field.
#pragma once

#include "kernels/gemm/gemm.h"
#include "kernels/providers/builtin/op_call.h"

namespace moediff::kernels {

int gemm1(const OpCall& call);
int gemm2(const OpCall& call);
int shared_gemm1(const OpCall& call);
int shared_gemm2(const OpCall& call);
/// MD_OP_QUANTIZE_A1, _A2 and the shared ones: the same slots.
int quantize(const OpCall& call);
/// MD_OP_ACTIVATION_QUANTIZE and the shared one.
int activation_quantize(const OpCall& call);
int convert(const OpCall& call);

/// The GEMM that an op stands for, in one launch into the op's own output.
Gemm gemm1_of(const OpCall& call);
Gemm gemm2_of(const OpCall& call);
Gemm shared_gemm1_of(const OpCall& call);
/// out = a weights^T of three slots, nothing quantised: the router's logits.
Gemm dense_gemm(const OpCall& call, int a, int weights, int out);

}  // namespace moediff::kernels
