// One call of an op, as the builtin implementations see it: operands already validated, typed on request.
#pragma once

#include "kernels/abi/moediff_abi.h"
#include "kernels/hip/bf16.h"
#include "kernels/hip/hip_check.h"
#include "kernels/hip/tensor.h"

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
  /// The same, or nothing when the operand is absent.
  template <typename T>
  Matrix<T> matrix_or_none(int slot) const {
    return has(slot) ? matrix<T>(slot) : Matrix<T>{};
  }
};

/// Enqueues an op; 0, or non-zero with error_text() set.
using OpFunction = int (*)(const OpCall&);

/// The same op in each model dtype; null where there is none.
struct OpKernel {
  OpFunction f32 = nullptr, bf16 = nullptr, f16 = nullptr, field = nullptr;

  OpFunction of(int model_dtype) const {
    switch (model_dtype) {
      case MD_F32:
        return f32;
      case MD_BF16:
        return bf16;
      case MD_F16:
        return f16;
      case MD_FIELD:
        return field;
      default:
        return nullptr;
    }
  }
};

}  // namespace moediff::kernels
