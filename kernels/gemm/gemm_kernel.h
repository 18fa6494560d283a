// out[r] = W[expert of r] a[token of r]: one tiled kernel for the router's logits, the grouped and the shared GEMMs,
// whatever the operands are made of.
//
// Method: a block of 64 threads computes 32 rows x 128 columns. Step by step along K it brings a tile of `a`
// (transposed) and a tile of the weights into shared memory as numbers (fp32, in algebra mode the field), then each
// thread adds 16 rows x 4 columns: the host's vectors lie along the rows, so the weights need no transposition. A
// thread whose rows are mostly beyond its expert's last one takes a shorter path, so that an expert with one row costs
// one row.
//
// Every sum is fma(a[k], w[k], sum) for k ascending from 0, on each path, and is scaled at places that depend on k
// alone: an element's bits depend neither on its place in a tile nor on the other rows. What is computed of rows and
// columns that do not exist is not stored.
#pragma once

#include "kernels/gemm/load_tile.h"
#include "kernels/gemm/thread_sums.h"

namespace moediff::kernels {

/// Elements of K in one step: as many as local memory has room for.
template <typename Acc>
inline constexpr int kStep = sizeof(Acc) == 4 ? 64 : 16;
// One number more than kStep: the column groups of a wavefront then read different banks of an AMD local memory.
template <typename Acc>
inline constexpr int kWeightStride = kStep<Acc> + 1;

/// sum[c][r] += over `steps` elements of K. `a` is [kStep][kTileRows], `weights` [column][kStep] with this thread's
/// columns kColumnGroups apart.
template <int Rows, typename Acc>
__device__ inline void accumulate(int steps, const Acc* a, const Acc* weights, Acc (&sum)[kMicroColumns][kMicroRows]) {
  Acc local[kMicroColumns][Rows];
#pragma unroll
  for (int c = 0; c < kMicroColumns; ++c) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) local[c][r] = sum[c][r];
  }
#pragma unroll 1
  for (int k = 0; k < steps; ++k) {
#pragma unroll
    for (int c = 0; c < kMicroColumns; ++c) {
      const Acc weight = weights[c * kColumnGroups * kWeightStride<Acc> + k];
#pragma unroll
      for (int r = 0; r < Rows; ++r) local[c][r] = fma_of(a[k * kTileRows + r], weight, local[c][r]);
    }
  }
#pragma unroll
  for (int c = 0; c < kMicroColumns; ++c) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) sum[c][r] = local[c][r];
  }
}

/// The cheapest path that covers `live` rows.
template <typename Acc>
__device__ inline void accumulate_live(int live, int steps, const Acc* a, const Acc* weights,
                                       Acc (&sum)[kMicroColumns][kMicroRows]) {
  if (live > 8) {
    accumulate<kMicroRows>(steps, a, weights, sum);
  } else if (live > 4) {
    accumulate<8>(steps, a, weights, sum);
  } else if (live > 1) {
    accumulate<4>(steps, a, weights, sum);
  } else if (live == 1) {
    accumulate<1>(steps, a, weights, sum);
  }
}

/// What this thread brings in a step: a run of one row of `a`, and two rows of the weights. Rows and columns that do
/// not exist are zeros, written once.
template <typename Acc>
struct Loader {
  static constexpr int kRun = kStep<Acc> * kTileRows / kThreads;
  static constexpr int kThreadsPerRow = kStep<Acc> / kRun;

  const Gemm& gemm;
  std::int64_t expert, source, column0, column_end;
  int k_in_step;  ///< where this thread's run of `a` begins
  Acc *to_a, *tile_w;

  __device__ Loader(const Gemm& job, const RowTile& rows, std::int64_t first_column, Acc* tile_a, Acc* tile_weights)
      : gemm(job), expert(rows.expert), column0(first_column), tile_w(tile_weights) {
    const int thread = static_cast<int>(threadIdx.x), row = thread / kThreadsPerRow;
    column_end = column0 + kTileColumns < gemm.columns ? column0 + kTileColumns : gemm.columns;
    k_in_step = thread % kThreadsPerRow * kRun;
    to_a = tile_a + k_in_step * kTileRows + row;
    source = row < rows.count ? source_row(gemm, rows.first + row) : -1;
    for (int i = 0; source < 0 && i < kRun; ++i) to_a[i * kTileRows] = Acc{};
    for (std::int64_t n = thread; n < kTileColumns; n += kThreads) {
      for (int i = 0; column0 + n >= gemm.columns && i < kStep<Acc>; ++i) tile_w[n * kWeightStride<Acc> + i] = Acc{};
    }
  }

  /// Elements [k, k + steps) of K.
  __device__ void load(std::int64_t k, int steps) const {
    if (source >= 0) {
      load_run<kRun, kTileRows>(gemm.a, gemm.a_dtype, source * gemm.a_stride + k + k_in_step, steps - k_in_step, to_a);
    }
    const int thread = static_cast<int>(threadIdx.x);
    const WeightRows rows{expert, column0 + thread, column_end, kThreads, kThreads * kWeightStride<Acc>};
    load_weights<kStep<Acc>>(gemm, rows, k, steps, tile_w + thread * kWeightStride<Acc>);
  }
};

/// The body of the kernel; blockIdx = (column tile, row tile, K range).
template <typename Acc, Accumulation kind>
__device__ void run_gemm(const Gemm& gemm) {
  __shared__ Acc tile_a[kStep<Acc> * kTileRows];
  __shared__ Acc tile_w[kTileColumns * kWeightStride<Acc>];
  const int thread = static_cast<int>(threadIdx.x);
  const RowTile rows = block_row_tile(gemm);
  if (rows.count <= 0) return;
  const std::int64_t column0 = static_cast<std::int64_t>(blockIdx.x) * kTileColumns;
  const Loader<Acc> loader(gemm, rows, column0, tile_a, tile_w);
  const int column = thread % kColumnGroups, row0 = thread / kColumnGroups * kMicroRows;
  const Micro micro{rows.expert, rows.first + row0, column0 + column, rows.count - row0};

  Acc sum[kMicroColumns][kMicroRows] = {};
  std::conditional_t<kind == Accumulation::integers, std::int32_t, Acc> total[kMicroColumns][kMicroRows] = {};
  ScaleIndices scales;
  if constexpr (kind == Accumulation::blocks) scales = scale_indices(gemm, micro);

  const KRange range = block_k_range(gemm);
  for (std::int64_t k = range.begin; k < range.end;) {
    std::int64_t end = k + kStep<Acc> < range.end ? k + kStep<Acc> : range.end;
    std::int64_t block = 0, block_end = range.end;
    if constexpr (kind == Accumulation::blocks) {
      block = k / gemm.group;
      if ((block + 1) * gemm.group < block_end) block_end = (block + 1) * gemm.group;
      if (end > block_end) end = block_end;
    }
    const int steps = static_cast<int>(end - k);
    loader.load(k, steps);
    __syncthreads();
    accumulate_live(micro.live, steps, tile_a + row0, tile_w + column * kWeightStride<Acc>, sum);
    k = end;
    if constexpr (kind == Accumulation::blocks) {
      if (k == block_end) add_scaled_block(gemm, scales, block, sum, total);
    }
    if constexpr (kind == Accumulation::integers) {
      if (k == range.end || (k - range.begin) % kExactProducts == 0) add_integers(sum, total);
    }
    if (k < range.end) __syncthreads();  // before the tiles are overwritten
  }
  if constexpr (kind == Accumulation::blocks) {
    store_sums(gemm, micro, total);
  } else {
    if constexpr (kind == Accumulation::integers) {
      for (int c = 0; c < kMicroColumns; ++c) {
        for (int r = 0; r < kMicroRows; ++r) sum[c][r] = static_cast<float>(total[c][r]);
      }
    }
    store_sums(gemm, micro, sum);
  }
}

}  // namespace moediff::kernels
