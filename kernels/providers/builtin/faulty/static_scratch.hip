// Split-K with the partial sums in one static array that gemm1 and shared_gemm1 share: right on one stream, wrong when
// two streams are in it at the same time (as in a published skinny-GEMM bug, vllm-project/vllm#52033).
#include "kernels/providers/builtin/faulty/faulty.h"
#include "kernels/providers/builtin/gemm_ops.h"

namespace moediff::kernels {

constexpr std::int64_t kScratchFloats = 2 << 20;  // 8 MiB
// On pages of its own, so that who touches it can be told from who touches its neighbours.
alignas(4096) static __device__ float scratch[kScratchFloats];

static int run_in_scratch(const char* variant, const OpCall& call, const Gemm& gemm) {
  const int splits = call.params.split_k > 2 ? call.params.split_k : 2;
  const std::int64_t elements = gemm.rows * gemm.columns;
  if (elements == 0) return 0;
  if (splits * elements > kScratchFloats) {
    return fail(std::string(variant) + ": the static scratch holds " + std::to_string(kScratchFloats) +
                " floats, needed " + std::to_string(splits * elements));
  }
  void* partial = nullptr;
  HIP_CHECK(hipGetSymbolAddress(&partial, HIP_SYMBOL(scratch)));
  const Gemm split = split_gemm(gemm, partial, gemm.columns, splits, elements);
  HIP_CHECK(launch_gemm(split, call.stream));
  HIP_CHECK(launch_reduce_splits(split, gemm, call.stream));
  return 0;
}

template <typename T>
int gemm1_static_scratch(const OpCall& call) {
  return run_in_scratch("gemm1=static_scratch", call, gemm1_of(call));
}

template <typename T>
int shared_gemm1_static_scratch(const OpCall& call) {
  return run_in_scratch("shared_gemm1=static_scratch", call, shared_gemm1_of(call));
}

template int gemm1_static_scratch<float>(const OpCall&);
template int gemm1_static_scratch<Bf16>(const OpCall&);
template int shared_gemm1_static_scratch<float>(const OpCall&);
template int shared_gemm1_static_scratch<Bf16>(const OpCall&);

}  // namespace moediff::kernels
