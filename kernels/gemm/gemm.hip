// Launch of the tiled GEMM; the kernel is explained in gemm_kernel.h.
#include "kernels/gemm/gemm_kernel.h"

namespace moediff::kernels {

template <typename In, typename Out>
__global__ void __launch_bounds__(kThreads) gemm_kernel(Gemm<In, Out> gemm) {
  run_gemm(gemm);
}

template <typename In, typename Out>
hipError_t launch_gemm(const Gemm<In, Out>& gemm, hipStream_t stream) {
  if (gemm.out.rows == 0 || gemm.out.columns == 0) return hipSuccess;
  hipLaunchKernelGGL((gemm_kernel<In, Out>), gemm_grid(gemm), dim3(kThreads), 0, stream, gemm);
  return hipGetLastError();
}

template hipError_t launch_gemm(const Gemm<float, float>&, hipStream_t);
template hipError_t launch_gemm(const Gemm<Bf16, Bf16>&, hipStream_t);
template hipError_t launch_gemm(const Gemm<Bf16, float>&, hipStream_t);

}  // namespace moediff::kernels
