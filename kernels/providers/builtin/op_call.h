// One call of an op, as the builtin implementations see it: operands already validated, typed on request.
#pragma once

#include "kernels/abi/moediff_abi.h"
#include "kernels/hip/bf16.h"
#include "kernels/hip/hip_check.h"
#include "kernels/hip/tensor.h"
#include "kernels/router/router.h"

namespace moediff::kernels {

/// What earlier calls left behind. A correct op looks at none of it; the faulty variants do.
struct History {
  md_tensor gemm1_hidden{};  ///< the tokens the last gemm1 read
  unsigned combine_calls = 0;
};

struct OpCall {
  const md_tensor* tensors;
  int tensor_count;
  md_params params;
  hipStream_t stream;
  History* history;

  bool has(int slot) const { return slot < tensor_count && tensors[slot].data != nullptr; }
  std::int64_t size(int slot, int dimension) const { return tensors[slot].shape[dimension]; }

  /// A vector, or what of a matrix is contiguous.
  template <typename T>
  T* data(int slot) const {
    return static_cast<T*>(tensors[slot].data);
  }

  /// The last two dimensions of an operand.
  template <typename T>
  Matrix<T> matrix(int slot) const {
    const md_tensor& t = tensors[slot];
    return {static_cast<T*>(t.data), t.shape[t.rank - 2], t.shape[t.rank - 1], t.stride[t.rank - 2]};
  }
};

inline RouterPolicy router_policy(const md_params& params) {
  return {params.top_k, params.n_group, params.topk_group, params.norm_topk_prob != 0, params.factor};
}

/// Enqueues an op; 0, or non-zero with error_text() set.
using OpFunction = int (*)(const OpCall&);

/// The same op for both model dtypes.
struct OpKernel {
  OpFunction f32, bf16;
};

}  // namespace moediff::kernels
