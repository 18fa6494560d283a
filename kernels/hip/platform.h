// The platform seam: what every kernel needs of HIP, whichever implementation the build put behind <hip/hip_runtime.h>
// (hiphost on the CPU, amdhip64 on AMD). No kernel includes a HIP header by another way.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

namespace moediff::kernels {

/// Threads of every block here: one AMD wavefront. On the host few threads with much work each are cheap to switch.
inline constexpr int kThreads = 64;

constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace moediff::kernels
