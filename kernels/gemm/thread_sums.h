// The sums that one thread of a GEMM keeps: 16 rows x 4 columns, in one of three ways.
#pragma once

#include "kernels/gemm/row_tile.h"
#include "kernels/hip/formats_any.h"

namespace moediff::kernels {

inline constexpr int kMicroRows = 16, kMicroColumns = 4;
inline constexpr int kRowGroups = kTileRows / kMicroRows;
inline constexpr int kColumnGroups = kTileColumns / kMicroColumns;
static_assert(kRowGroups * kColumnGroups == kThreads);

/// running: one sum over the range. blocks: a sum over each K block, which is then scaled and added to the range's.
/// integers: products of int8 codes, exact.
enum class Accumulation { running, blocks, integers };

/// Products of int8 codes are at most 2^14, so 2^10 of them add up exactly in fp32; then they move to an integer.
inline constexpr std::int64_t kExactProducts = 1024;

/// What a thread computes: rows first_row + r of one expert for r < live, columns first_column + c * kColumnGroups.
struct Micro {
  std::int64_t expert, first_row, first_column;
  int live;
};

/// Block row of the scales that weight row n has.
__device__ inline std::int64_t weight_block_row(const Gemm& gemm, std::int64_t n) {
  if (gemm.half == 0) return n / gemm.group;
  const std::int64_t h = n / gemm.half;
  return h * ceil_divide(gemm.half, gemm.group) + (n - h * gemm.half) / gemm.group;
}

/// Indices of the scales of a thread's rows and columns, in K block 0; -1: none, as the row or column does not exist.
struct ScaleIndices {
  std::int64_t row[kMicroRows], column[kMicroColumns];
};
__device__ inline ScaleIndices scale_indices(const Gemm& gemm, const Micro& micro) {
  ScaleIndices at;
  for (int r = 0; r < kMicroRows; ++r) {
    const std::int64_t source = r < micro.live ? source_row(gemm, micro.first_row + r) : -1;
    at.row[r] = source < 0 ? -1 : source * gemm.a_scale_stride;
  }
  for (int c = 0; c < kMicroColumns; ++c) {
    const std::int64_t n = micro.first_column + c * kColumnGroups;
    const std::int64_t scale_row = gemm.scaling == Scaling::block ? weight_block_row(gemm, n) : n;
    at.column[c] =
        n >= gemm.columns ? -1 : micro.expert * gemm.scale_expert_stride + scale_row * gemm.weight_scale_stride;
  }
  return at;
}

/// scales[index + block], or 0 without an index.
template <typename Acc>
__device__ inline Acc scale_at(const void* scales, std::int64_t index, std::int64_t block) {
  return index < 0 ? Acc{} : static_cast<const Acc*>(scales)[index + block];
}

/// total += (dot * sa) * sb of K block `block`; dot = 0.
template <typename Acc>
__device__ inline void add_scaled_block(const Gemm& gemm, const ScaleIndices& at, std::int64_t block,
                                        Acc (&dot)[kMicroColumns][kMicroRows],
                                        Acc (&total)[kMicroColumns][kMicroRows]) {
  Acc row_scale[kMicroRows];
  for (int r = 0; r < kMicroRows; ++r) row_scale[r] = scale_at<Acc>(gemm.a_scales, at.row[r], block);
  for (int c = 0; c < kMicroColumns; ++c) {
    const Acc column_scale = scale_at<Acc>(gemm.weight_scales, at.column[c], block);
    for (int r = 0; r < kMicroRows; ++r) {
      total[c][r] = total[c][r] + dot[c][r] * row_scale[r] * column_scale;
      dot[c][r] = Acc{};
    }
  }
}

/// total += dot; dot = 0. Every dot is an integer of at most 2^24.
__device__ inline void add_integers(float (&dot)[kMicroColumns][kMicroRows],
                                    std::int32_t (&total)[kMicroColumns][kMicroRows]) {
  for (int c = 0; c < kMicroColumns; ++c) {
    for (int r = 0; r < kMicroRows; ++r) {
      total[c][r] += static_cast<std::int32_t>(dot[c][r]);
      dot[c][r] = 0.0f;
    }
  }
}

/// Routing weight of output row r; 0 when a fault made its slot nonsense.
template <typename Acc>
__device__ inline Acc row_weight(const Gemm& gemm, std::int64_t r) {
  const std::int64_t slot = gemm.row_weight_slots[r], token = slot / gemm.row_weight_columns;
  if (slot < 0 || token >= gemm.row_weight_rows) return Acc{};
  return static_cast<const Acc*>(gemm.row_weights)[token * gemm.row_weight_stride + slot % gemm.row_weight_columns];
}

/// Times the routing weight, then times both scales where the range is scaled as a whole.
template <typename Acc>
__device__ void weigh_and_scale(const Gemm& gemm, const Micro& micro, Acc (&sum)[kMicroColumns][kMicroRows]) {
  const bool scaled = gemm.scaling == Scaling::range;
  ScaleIndices at;
  if (scaled) at = scale_indices(gemm, micro);
  for (int r = 0; r < kMicroRows && r < micro.live; ++r) {
    const Acc weight = gemm.row_weights != nullptr ? row_weight<Acc>(gemm, micro.first_row + r) : Acc{};
    const Acc row_scale = scaled ? scale_at<Acc>(gemm.a_scales, at.row[r], 0) : Acc{};
    for (int c = 0; c < kMicroColumns; ++c) {
      if (gemm.row_weights != nullptr) sum[c][r] = sum[c][r] * weight;
      if (scaled) sum[c][r] = sum[c][r] * row_scale * scale_at<Acc>(gemm.weight_scales, at.column[c], 0);
    }
  }
}

/// Finishes the sums of a range and stores them, rounded once.
template <typename Acc>
__device__ inline void store_sums(const Gemm& gemm, const Micro& micro, Acc (&sum)[kMicroColumns][kMicroRows]) {
  if (gemm.row_weights != nullptr || gemm.scaling == Scaling::range) weigh_and_scale(gemm, micro, sum);
  with_model_element<Acc>(gemm.out_dtype, [&](auto element) {
    using Out = decltype(element);
    Out* row = static_cast<Out*>(gemm.out) + static_cast<std::int64_t>(blockIdx.z) * gemm.split_stride +
               micro.first_row * gemm.out_stride + micro.first_column;
    for (int r = 0; r < kMicroRows && r < micro.live; ++r, row += gemm.out_stride) {
      for (int c = 0; c < kMicroColumns; ++c) {
        if (micro.first_column + c * kColumnGroups < gemm.columns) row[c * kColumnGroups] = narrow<Out>(sum[c][r]);
      }
    }
  });
}

}  // namespace moediff::kernels
