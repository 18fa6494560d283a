// Which rows of a (grouped) GEMM a block computes, and where each row comes from.
#pragma once

#include "kernels/gemm/gemm.h"

namespace moediff::kernels {

inline constexpr int kTileRows = 32, kTileColumns = 128;

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

/// Column tiles along x, row tiles along y, K ranges along z.
inline dim3 gemm_grid(const Gemm& gemm) {
  const std::int64_t rows = gemm.rows;
  const std::int64_t tiles = gemm.offsets != nullptr ? max_row_tiles(rows, gemm.experts) : ceil_divide(rows, kTileRows);
  return dim3(static_cast<unsigned>(ceil_divide(gemm.columns, kTileColumns)), static_cast<unsigned>(tiles),
              static_cast<unsigned>(gemm.splits));
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

/// The tile of this block. Searching takes long with many experts, so one thread does it for all.
__device__ inline RowTile block_row_tile(const Gemm& gemm) {
  if (gemm.offsets == nullptr) {
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * kTileRows;
    const std::int64_t left = gemm.rows - first;
    return {0, first, static_cast<int>(left < kTileRows ? left : kTileRows)};
  }
  __shared__ RowTile tile;
  if (threadIdx.x == 0) tile = find_row_tile(gemm.offsets, gemm.experts, gemm.rows, blockIdx.y);
  __syncthreads();
  return tile;
}

/// The row of `a` that row r of the output multiplies; -1 when a fault made its slot nonsense.
__device__ inline std::int64_t source_row(const Gemm& gemm, std::int64_t r) {
  if (gemm.slots == nullptr) return r;
  const std::int64_t slot = gemm.slots[r];
  const std::int64_t token = slot / gemm.slots_per_token;
  return slot < 0 || token >= gemm.a_rows ? -1 : token;
}

/// The K range of this block. A range holds whole blocks of K where they have scales of their own.
struct KRange {
  std::int64_t begin, end;
};
__device__ inline KRange block_k_range(const Gemm& gemm) {
  std::int64_t length = ceil_divide(gemm.k, gemm.splits);
  if (gemm.scaling == Scaling::block) length = ceil_divide(length, gemm.group) * gemm.group;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.z) * length;
  return {begin, begin + length < gemm.k ? begin + length : gemm.k};
}

}  // namespace moediff::kernels
