// Variants whose output is right (or nearly) but which touch a tensor that their op does not declare.
#include "kernels/hip/elementwise.h"
#include "kernels/providers/builtin/faulty/faulty.h"
#include "kernels/providers/builtin/ops.h"

namespace moediff::kernels {
namespace {

/// The tokens the last gemm1 read, through the pointer it was given.
template <typename T>
Matrix<T> remembered_hidden(const History& history) {
  const md_tensor& hidden = history.gemm1_hidden;
  return {static_cast<T*>(hidden.data), hidden.shape[0], hidden.shape[1], hidden.stride[0]};
}

template <typename T, typename Kernel, typename... Rest>
int launch_elementwise(Kernel kernel, hipStream_t stream, Matrix<T> out, Rest... rest) {
  if (out.rows == 0 || out.columns == 0) return 0;
  hipLaunchKernelGGL(kernel, elementwise_grid(out.rows, out.columns), dim3(kThreads), 0, stream, out, rest...);
  HIP_CHECK(hipGetLastError());
  return 0;
}

}  // namespace

template <typename T>
__global__ void __launch_bounds__(kThreads) overwrite_kernel(Matrix<T> out, Matrix<const T> in) {
  const std::int64_t begin = first_column();
  for (std::int64_t r = blockIdx.y; r < out.rows; r += gridDim.y) {
    for (std::int64_t c = begin; c < begin + kRun && c < out.columns; ++c) out.row(r)[c] = in.row(r)[c];
  }
}

/// x *= 0.5
template <typename T>
__global__ void __launch_bounds__(kThreads) halve_kernel(Matrix<T> x) {
  const std::int64_t begin = first_column();
  for (std::int64_t r = blockIdx.y; r < x.rows; r += gridDim.y) {
    for (std::int64_t c = begin; c < begin + kRun && c < x.columns; ++c) {
      x.row(r)[c] = from_float<T>(0.5f * to_float(x.row(r)[c]));
    }
  }
}

/// out += 1e-3 * *other
template <typename T>
__global__ void __launch_bounds__(kThreads) add_a_little_kernel(Matrix<T> out, const T* other) {
  const std::int64_t begin = first_column();
  for (std::int64_t r = blockIdx.y; r < out.rows; r += gridDim.y) {
    for (std::int64_t c = begin; c < begin + kRun && c < out.columns; ++c) {
      out.row(r)[c] = from_float<T>(fmaf(1e-3f, to_float(*other), to_float(out.row(r)[c])));
    }
  }
}

/// Zeros for elements [begin, end) of x, counted row by row.
template <typename T>
__global__ void __launch_bounds__(kThreads) zero_kernel(Matrix<T> x, std::int64_t begin, std::int64_t end) {
  const std::int64_t first = first_column();
  for (std::int64_t r = blockIdx.y; r < x.rows; r += gridDim.y) {
    for (std::int64_t c = first; c < first + kRun && c < x.columns; ++c) {
      const std::int64_t index = r * x.columns + c;
      if (index >= begin && index < end) x.row(r)[c] = from_float<T>(0.0f);
    }
  }
}

/// The founding bug: the routed result also lands on the tokens it was made from, so that whoever reads them afterwards
/// (the shared experts, the residual) reads something else.
template <typename T>
int combine_alias1(const OpCall& call) {
  if (const int status = run_correct<T>(MD_OP_COMBINE, call); status != 0) return status;
  const Matrix<const T> result = call.matrix<const T>(MD_COMBINE_OUT);
  Matrix<T> hidden = remembered_hidden<T>(*call.history);
  if (hidden.data == nullptr || hidden.columns != result.columns || !holds<T>(call.history->gemm1_hidden)) {
    return fail("combine=alias1: needs a gemm1 call with the same hidden size and dtype before it");
  }
  hidden.rows = result.rows < hidden.rows ? result.rows : hidden.rows;
  return launch_elementwise(overwrite_kernel<T>, call.stream, hidden, result);
}

/// Pre-scales the tokens in place after use.
template <typename T>
int gemm1_alias2(const OpCall& call) {
  if (!holds<T>(call.tensors[MD_GEMM1_HIDDEN])) return fail("gemm1=alias2: needs tokens in the model dtype");
  if (const int status = run_correct<T>(MD_OP_GEMM1, call); status != 0) return status;
  return launch_elementwise(halve_kernel<T>, call.stream, call.matrix<T>(MD_GEMM1_HIDDEN));
}

/// Depends a little on an activation that is not among its operands.
template <typename T>
int activation_reads_undeclared(const OpCall& call) {
  if (const int status = run_correct<T>(MD_OP_ACTIVATION, call); status != 0) return status;
  const Matrix<T> hidden = remembered_hidden<T>(*call.history);
  if (hidden.data == nullptr || !holds<T>(call.history->gemm1_hidden)) {
    return fail("activation=reads_undeclared: needs a gemm1 call with tokens in the model dtype before it");
  }
  return launch_elementwise(add_a_little_kernel<T>, call.stream, call.matrix<T>(MD_ACTIVATION_OUT),
                            static_cast<const T*>(hidden.data));
}

/// Uses an input as scratch when done with it: the middle third of its elements becomes zero.
template <typename T>
int residual_add_scribbles(const OpCall& call) {
  if (const int status = run_correct<T>(MD_OP_RESIDUAL_ADD, call); status != 0) return status;
  const Matrix<T> moe = call.matrix<T>(MD_RESIDUAL_ADD_MOE);
  const std::int64_t count = moe.rows * moe.columns;
  return launch_elementwise(zero_kernel<T>, call.stream, moe, count / 3, count - count / 3);
}

template int combine_alias1<float>(const OpCall&);
template int combine_alias1<Bf16>(const OpCall&);
template int gemm1_alias2<float>(const OpCall&);
template int gemm1_alias2<Bf16>(const OpCall&);
template int activation_reads_undeclared<float>(const OpCall&);
template int activation_reads_undeclared<Bf16>(const OpCall&);
template int residual_add_scribbles<float>(const OpCall&);
template int residual_add_scribbles<Bf16>(const OpCall&);

}  // namespace moediff::kernels
