// Elements whose type is known at run time only, as an md_dtype: one switch a run of elements instead of a kernel for
// each combination of types. Acc is what a kernel computes in: float, or Field in algebra mode, where every element is
// one.
#pragma once

#include "kernels/abi/moediff_abi.h"
#include "kernels/hip/field.h"
#include "kernels/hip/formats.h"

namespace moediff::kernels {

/// Calls work(T{}) with the element type T of `dtype`. Types that kernels do not compute with are left alone: the
/// provider has refused them.
template <typename Acc, typename Work>
__device__ inline void with_element(std::int32_t dtype, const Work& work) {
  if constexpr (std::is_same_v<Acc, Field>) {
    work(Field{});
  } else {
    switch (dtype) {
      case MD_F32:
        return work(float{});
      case MD_BF16:
        return work(Bf16{});
      case MD_F16:
        return work(F16{});
      case MD_I8:
        return work(std::int8_t{});
      case MD_F8_E4M3FN:
        return work(E4M3Fn{});
      case MD_F8_E4M3FNUZ:
        return work(E4M3Fnuz{});
      case MD_F8_E5M2:
        return work(E5M2{});
      case MD_F8_E5M2FNUZ:
        return work(E5M2Fnuz{});
      case MD_F8_E8M0:
        return work(E8M0{});
      default:
        return;
    }
  }
}

/// The same for the types that results are rounded to.
template <typename Acc, typename Work>
__device__ inline void with_model_element(std::int32_t dtype, const Work& work) {
  if constexpr (std::is_same_v<Acc, Field>) {
    work(Field{});
  } else {
    switch (dtype) {
      case MD_F32:
        return work(float{});
      case MD_BF16:
        return work(Bf16{});
      case MD_F16:
        return work(F16{});
      default:
        return;
    }
  }
}

/// to[i * Stride] = from[i] for i < min(count, Count).
template <int Count, int Stride, typename T, typename Acc>
__device__ inline void widen_run(const T* from, std::int64_t count, Acc* to) {
  if (count >= Count) {
    for (int i = 0; i < Count; ++i) to[i * Stride] = widen(from[i]);
  } else {
    for (int i = 0; i < count; ++i) to[i * Stride] = widen(from[i]);
  }
}

/// The same from[first] on, of elements of any type.
template <int Count, int Stride, typename Acc>
__device__ inline void load_run(const void* from, std::int32_t dtype, std::int64_t first, std::int64_t count, Acc* to) {
  with_element<Acc>(dtype, [&](auto element) {
    widen_run<Count, Stride>(static_cast<const decltype(element)*>(from) + first, count, to);
  });
}

/// from[index].
template <typename Acc>
__device__ inline Acc load_element(const void* from, std::int32_t dtype, std::int64_t index) {
  Acc value{};
  load_run<1, 1>(from, dtype, index, 1, &value);
  return value;
}

}  // namespace moediff::kernels
