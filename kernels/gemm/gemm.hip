// Launch of the tiled GEMM; the kernel is explained in gemm_kernel.h.
#include "kernels/gemm/gemm_kernel.h"

namespace moediff::kernels {

template <typename Acc, Accumulation kind>
__global__ void __launch_bounds__(kThreads) gemm_kernel(Gemm gemm) {
  run_gemm<Acc, kind>(gemm);
}

template <typename Acc, Accumulation kind>
static hipError_t launch(const Gemm& gemm, hipStream_t stream) {
  hipLaunchKernelGGL((gemm_kernel<Acc, kind>), gemm_grid(gemm), dim3(kThreads), 0, stream, gemm);
  return hipGetLastError();
}

hipError_t launch_gemm(const Gemm& gemm, hipStream_t stream) {
  if (gemm.rows == 0 || gemm.columns == 0) return hipSuccess;
  const bool blocks = gemm.scaling == Scaling::block;
  if (gemm.a_dtype == MD_FIELD) {
    return blocks ? launch<Field, Accumulation::blocks>(gemm, stream)
                  : launch<Field, Accumulation::running>(gemm, stream);
  }
  if (blocks) return launch<float, Accumulation::blocks>(gemm, stream);
  if (gemm.a_dtype == MD_I8) return launch<float, Accumulation::integers>(gemm, stream);
  return launch<float, Accumulation::running>(gemm, stream);
}

Gemm split_gemm(Gemm gemm, void* partial, std::int64_t row_stride, int splits, std::int64_t split_stride) {
  gemm.out = partial;
  gemm.out_dtype = gemm.a_dtype == MD_FIELD ? MD_FIELD : MD_F32;
  gemm.out_stride = row_stride;
  gemm.splits = splits;
  gemm.split_stride = split_stride;
  return gemm;
}

}  // namespace moediff::kernels
