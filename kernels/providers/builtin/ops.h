// The correct implementation of every op, and what the faulty variants share with it.
#pragma once

#include "kernels/gemm/gemm.h"
#include "kernels/providers/builtin/op_call.h"

namespace moediff::kernels {

/// Indexed by md_op.
extern const OpKernel kOps[MD_OP_COUNT];

/// The dense or grouped GEMM that an op stands for; splits == 1, `out` as given by the op.
template <typename T>
Gemm<T, T> gemm1_of(const OpCall& call);
template <typename T>
Gemm<T, T> gemm2_of(const OpCall& call);
template <typename T>
Gemm<T, T> shared_gemm1_of(const OpCall& call);

/// The same GEMM with partial sums: out and the strides are those of the workspace.
template <typename T>
Gemm<T, float> split_gemm(const Gemm<T, T>& gemm, Matrix<float> partial, int splits, std::int64_t split_stride);

}  // namespace moediff::kernels
