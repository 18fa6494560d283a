// out[r] = W[expert of r] a[token of r]: one tiled kernel for the router's logits, the grouped and the shared GEMMs.
//
// Method: a block of 64 threads computes 32 rows x 128 columns. Step by step along K it brings a 32 x kStep tile of `a`
// (transposed) and a 128 x kStep tile of the weights into shared memory as fp32, then each thread adds 16 rows x 4
// columns: the host's vectors lie along the rows, so the weights need no transposition. A thread whose rows are mostly
// beyond its expert's last one takes a shorter path, so that an expert with one row costs one row.
//
// Every element is fmaf(a[k], w[k], sum) for k ascending from sum = 0, on each path: its bits depend neither on its
// place in a tile nor on the other rows. The zeros that fill a tile past K add nothing; what is computed of rows and
// columns that do not exist is not stored.
#pragma once

#include "kernels/gemm/gemm.h"
#include "kernels/hip/bf16.h"

namespace moediff::kernels {

inline constexpr int kTileRows = 32, kTileColumns = 128, kStep = 64;
inline constexpr int kMicroRows = 16, kMicroColumns = 4;
inline constexpr int kRowGroups = kTileRows / kMicroRows;
inline constexpr int kColumnGroups = kTileColumns / kMicroColumns;
static_assert(kRowGroups * kColumnGroups == kThreads);
// One float more than kStep: the column groups of a wavefront then read different banks of an AMD local memory.
inline constexpr int kWeightStride = kStep + 1;

/// Rows [first, first + count) of one expert; count == 0: the block has nothing to do.
struct RowTile {
  std::int64_t expert, first;
  int count;
};

/// Most tiles that any routing of `rows` rows can need: each non-empty expert fills all its tiles but one.
inline std::int64_t max_row_tiles(std::int64_t rows, std::int64_t experts) {
  const std::int64_t tiles = rows / kTileRows + experts;
  return tiles < rows ? tiles : rows;
}

/// The `index`-th tile when each expert's rows are cut into tiles. Offsets that a fault made nonsense are clamped: they
/// must give wrong numbers for the harness to explain, not an access out of bounds.
__device__ inline RowTile find_row_tile(const std::int32_t* offsets, std::int64_t experts, std::int64_t rows,
                                        std::int64_t index) {
  for (std::int64_t e = 0; e < experts; ++e) {
    const std::int64_t begin = offsets[e] < 0 ? 0 : offsets[e];
    const std::int64_t end = offsets[e + 1] < rows ? offsets[e + 1] : rows;
    if (end <= begin) continue;
    const std::int64_t tiles = ceil_divide(end - begin, kTileRows);
    if (index < tiles) {
      const std::int64_t first = begin + index * kTileRows;
      return {e, first, static_cast<int>(end - first < kTileRows ? end - first : kTileRows)};
    }
    index -= tiles;
  }
  return {0, 0, 0};
}

/// Column tiles along x, row tiles along y, K ranges along z.
template <typename In, typename Out>
dim3 gemm_grid(const Gemm<In, Out>& gemm) {
  const std::int64_t rows = gemm.out.rows;
  const std::int64_t tiles = gemm.offsets != nullptr ? max_row_tiles(rows, gemm.experts) : ceil_divide(rows, kTileRows);
  return dim3(static_cast<unsigned>(ceil_divide(gemm.out.columns, kTileColumns)), static_cast<unsigned>(tiles),
              static_cast<unsigned>(gemm.splits));
}

/// The tile of this block. Searching takes long with many experts, so one thread does it for all.
template <typename In, typename Out>
__device__ RowTile block_row_tile(const Gemm<In, Out>& gemm) {
  if (gemm.offsets == nullptr) {
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * kTileRows;
    const std::int64_t left = gemm.out.rows - first;
    return {0, first, static_cast<int>(left < kTileRows ? left : kTileRows)};
  }
  __shared__ RowTile tile;
  if (threadIdx.x == 0) tile = find_row_tile(gemm.offsets, gemm.experts, gemm.out.rows, blockIdx.y);
  __syncthreads();
  return tile;
}

/// The row of `a` that row r of the output multiplies; null when a fault made its slot nonsense.
template <typename In, typename Out>
__device__ const In* source_row(const Gemm<In, Out>& gemm, std::int64_t r) {
  if (gemm.slots == nullptr) return gemm.a.row(r);
  const std::int64_t slot = gemm.slots[r];
  const std::int64_t token = slot / gemm.slots_per_token;
  return slot < 0 || token >= gemm.a.rows ? nullptr : gemm.a.row(token);
}

/// to[i * Stride] = from[i] as fp32 for i < min(count, Count), then zeros.
template <int Count, int Stride, typename In>
__device__ inline void load_run(const In* from, std::int64_t count, float* to) {
  if (count >= Count) {
    for (int i = 0; i < Count; ++i) to[i * Stride] = to_float(from[i]);
    return;
  }
  for (int i = 0; i < Count; ++i) to[i * Stride] = i < count ? to_float(from[i]) : 0.0f;
}

/// sum[c][r] += over one step of K. `a` is [kStep][kTileRows], `weights` [column][kStep] with this thread's columns
/// kColumnGroups apart.
template <int Rows>
__device__ inline void accumulate(const float* a, const float* weights, float (&sum)[kMicroColumns][kMicroRows]) {
  float local[kMicroColumns][Rows];
#pragma unroll
  for (int c = 0; c < kMicroColumns; ++c) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) local[c][r] = sum[c][r];
  }
#pragma unroll 1
  for (int k = 0; k < kStep; ++k) {
#pragma unroll
    for (int c = 0; c < kMicroColumns; ++c) {
      const float weight = weights[c * kColumnGroups * kWeightStride + k];
#pragma unroll
      for (int r = 0; r < Rows; ++r) local[c][r] = fmaf(a[k * kTileRows + r], weight, local[c][r]);
    }
  }
#pragma unroll
  for (int c = 0; c < kMicroColumns; ++c) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) sum[c][r] = local[c][r];
  }
}

/// The cheapest path that covers `live` rows.
__device__ inline void accumulate_live(int live, const float* a, const float* weights,
                                       float (&sum)[kMicroColumns][kMicroRows]) {
  if (live > 8) {
    accumulate<kMicroRows>(a, weights, sum);
  } else if (live > 4) {
    accumulate<8>(a, weights, sum);
  } else if (live > 1) {
    accumulate<4>(a, weights, sum);
  } else if (live == 1) {
    accumulate<1>(a, weights, sum);
  }
}

/// The body of the kernel; blockIdx = (column tile, row tile, K range).
template <typename In, typename Out>
__device__ void run_gemm(const Gemm<In, Out>& gemm) {
  __shared__ float tile_a[kStep * kTileRows];
  __shared__ float tile_w[kTileColumns * kWeightStride];
  const int thread = static_cast<int>(threadIdx.x);
  const RowTile rows = block_row_tile(gemm);
  if (rows.count <= 0) return;

  const std::int64_t column0 = static_cast<std::int64_t>(blockIdx.x) * kTileColumns;
  const std::int64_t range = ceil_divide(gemm.k, gemm.splits);
  const std::int64_t k_begin = static_cast<std::int64_t>(blockIdx.z) * range;
  const std::int64_t k_end = k_begin + range < gemm.k ? k_begin + range : gemm.k;
  const In* weights = gemm.weights + rows.expert * gemm.expert_stride;

  // What this thread loads: half a row of `a`, two rows of the weights. Where a row does not exist it leaves zeros
  // once.
  constexpr int kRunA = kStep * kTileRows / kThreads;
  constexpr int kThreadsPerRow = kStep / kRunA;
  const int load_row = thread / kThreadsPerRow;
  const int load_k = thread % kThreadsPerRow * kRunA;
  const In* source = load_row < rows.count ? source_row(gemm, rows.first + load_row) : nullptr;
  if (source == nullptr) load_run<kRunA, kTileRows, In>(nullptr, 0, tile_a + load_k * kTileRows + load_row);
  const std::int64_t columns = gemm.out.columns - column0;
  for (std::int64_t n = thread; n < kTileColumns; n += kThreads) {
    if (n >= columns) load_run<kStep, 1, In>(nullptr, 0, tile_w + n * kWeightStride);
  }
  // What it computes.
  const int column = thread % kColumnGroups;
  const int row0 = thread / kColumnGroups * kMicroRows;
  const int live = rows.count - row0;
  float sum[kMicroColumns][kMicroRows] = {};

  for (std::int64_t k0 = k_begin; k0 < k_end; k0 += kStep) {
    if (source != nullptr) {
      load_run<kRunA, kTileRows>(source + k0 + load_k, k_end - k0 - load_k, tile_a + load_k * kTileRows + load_row);
    }
    for (std::int64_t n = thread; n < kTileColumns && n < columns; n += kThreads) {
      load_run<kStep, 1>(weights + (column0 + n) * gemm.weight_stride + k0, k_end - k0, tile_w + n * kWeightStride);
    }
    __syncthreads();
    accumulate_live(live, tile_a + row0, tile_w + column * kWeightStride, sum);
    if (k0 + kStep < k_end) __syncthreads();  // before the tiles are overwritten
  }

  Out* out = gemm.out.data + static_cast<std::int64_t>(blockIdx.z) * gemm.split_stride;
  for (int r = 0; r < kMicroRows && r < live; ++r) {
    Out* out_row = out + (rows.first + row0 + r) * gemm.out.stride + column0 + column;
    for (int c = 0; c < kMicroColumns; ++c) {
      if (column0 + column + c * kColumnGroups < gemm.out.columns)
        out_row[c * kColumnGroups] = from_float<Out>(sum[c][r]);
    }
  }
}

}  // namespace moediff::kernels
