// Variants that leave their operands' memory, by more than any padding of an allocation.
#include "kernels/providers/builtin/faulty/faulty.h"
#include "kernels/providers/builtin/ops.h"

namespace moediff::kernels {

constexpr std::int64_t kBeyond = 64;  // elements past the end

template <typename T>
__global__ void write_beyond_kernel(T* end) {
  if (threadIdx.x == 0) end[kBeyond] = from_float<T>(1.0f);
}

/// Adds nothing, unless what lies past the end is not finite.
template <typename T>
__global__ void read_beyond_kernel(const T* end, T* out) {
  if (threadIdx.x == 0) *out = from_float<T>(fmaf(0.0f, to_float(end[kBeyond]), to_float(*out)));
}

template <typename T>
static T* end_of(Matrix<T> x) {
  return x.row(x.rows - 1) + x.columns;
}

template <typename T>
int gemm2_out_of_bounds(const OpCall& call) {
  if (const int status = run_correct<T>(MD_OP_GEMM2, call); status != 0) return status;
  const Matrix<T> out = call.matrix<T>(MD_GEMM2_OUT);
  if (out.rows == 0) return 0;
  hipLaunchKernelGGL((write_beyond_kernel<T>), dim3(1), dim3(kThreads), 0, call.stream, end_of(out));
  HIP_CHECK(hipGetLastError());
  return 0;
}

template <typename T>
int gemm2_reads_out_of_bounds(const OpCall& call) {
  if (!holds<T>(call.tensors[MD_GEMM2_ACT])) {
    return fail("gemm2=reads_out_of_bounds: needs activations in the model dtype");
  }
  if (const int status = run_correct<T>(MD_OP_GEMM2, call); status != 0) return status;
  const Matrix<T> out = call.matrix<T>(MD_GEMM2_OUT);
  if (out.rows == 0) return 0;
  hipLaunchKernelGGL((read_beyond_kernel<T>), dim3(1), dim3(kThreads), 0, call.stream,
                     end_of(call.matrix<const T>(MD_GEMM2_ACT)), out.data);
  HIP_CHECK(hipGetLastError());
  return 0;
}

template int gemm2_out_of_bounds<float>(const OpCall&);
template int gemm2_out_of_bounds<Bf16>(const OpCall&);
template int gemm2_reads_out_of_bounds<float>(const OpCall&);
template int gemm2_reads_out_of_bounds<Bf16>(const OpCall&);

}  // namespace moediff::kernels
