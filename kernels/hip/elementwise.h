// The shape of an elementwise kernel over a matrix: a run of columns a thread, rows along y.
#pragma once

#include "kernels/hip/platform.h"

namespace moediff::kernels {

/// Consecutive elements of a row that one thread of an elementwise kernel computes: long enough for the host's vectors.
inline constexpr int kRun = 16;

/// Grid that covers a [rows, columns] array: blocks of kThreads runs along x, rows along y. Grids are limited to 65535
/// along y, so a kernel steps over rows by gridDim.y.
inline dim3 elementwise_grid(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kMaxRows = 65535;
  return dim3(static_cast<unsigned>(ceil_divide(columns, kThreads * kRun)),
              static_cast<unsigned>(rows < kMaxRows ? rows : kMaxRows));
}

/// First column of this thread's run in an elementwise grid.
__device__ inline std::int64_t first_column() {
  return (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kRun;
}

}  // namespace moediff::kernels
