// GEMM launches: dense, grouped by expert, split along K, of plain and of quantised operands.
#pragma once

#include "kernels/abi/moediff_abi.h"
#include "kernels/hip/tensor.h"

namespace moediff::kernels {

/// What the numbers of a weight are.
enum class WeightCode : std::int32_t {
  value,  ///< elements of Gemm::weight_dtype
  int4,   ///< two nibbles a byte along k, the even element low; value = nibble - 8
  e2m1,   ///< two 4-bit floats a byte likewise
};

/// Where scales enter.
enum class Scaling : std::int32_t {
  none,
  weight,  ///< w = round(code * scale) as a weight is read; scales by row and group of k
  block,   ///< a K block's dot product times both scales, as it is added to the sum
  range,   ///< the sum of a whole K range times both scales
};

/// out[r, n] = sum over k of a[source(r), k] * weights[expert(r), n, k], as kernels/abi/moediff_abi.h says in which
/// order and with which scales. The types of the elements are md_dtype; strides are in elements, of packed codes in
/// bytes.
///
/// With offsets (int32 [experts + 1]) row r belongs to the expert e with offsets[e] <= r < offsets[e+1]; without, all
/// rows to expert 0. With slots (int32 [rows]) source(r) = slots[r] / slots_per_token; without, source(r) = r. With
/// splits > 1, K is cut into `splits` equal ranges (the last ones short or empty), and range s writes its partial sums
/// to out + s * split_stride. Rows outside all experts are left alone.
struct Gemm {
  const void* a = nullptr;
  std::int32_t a_dtype = MD_F32;
  std::int64_t a_rows = 0, a_stride = 0;

  const void* weights = nullptr;
  std::int32_t weight_dtype = MD_F32;
  WeightCode weight_code = WeightCode::value;
  std::int64_t expert_stride = 0, weight_stride = 0, experts = 1;

  Scaling scaling = Scaling::none;
  std::int64_t group = 0;  ///< weight: elements of k with one scale; block: edge of a block
  std::int32_t round_weight_to = MD_F32;
  std::int64_t half = 0;  ///< block: weight rows [0, half) and [half, 2 half) are cut into blocks apart; 0: as one
  const void* a_scales = nullptr;
  std::int64_t a_scale_stride = 0;  ///< from row to row; 0: all rows have one
  const void* weight_scales = nullptr;
  std::int32_t weight_scale_dtype = MD_F32;
  std::int64_t scale_expert_stride = 0, weight_scale_stride = 0;  ///< to the next expert, and the next row of scales

  const std::int32_t* offsets = nullptr;
  const std::int32_t* slots = nullptr;
  std::int64_t slots_per_token = 1;
  /// Routing weights [tokens, columns] by the slot of a row, or null. One multiplies a range's sum.
  const void* row_weights = nullptr;
  const std::int32_t* row_weight_slots = nullptr;
  std::int64_t row_weight_rows = 0, row_weight_columns = 1, row_weight_stride = 0;

  void* out = nullptr;
  std::int32_t out_dtype = MD_F32;
  std::int64_t rows = 0, columns = 0, out_stride = 0;
  std::int64_t k = 0;
  std::int32_t splits = 1;
  std::int64_t split_stride = 0;
};

/// The same GEMM in `splits` ranges of K with partial sums (f32, algebra mode: field) at `partial`, [splits, rows,
/// columns] with the strides given.
Gemm split_gemm(Gemm gemm, void* partial, std::int64_t row_stride, int splits, std::int64_t split_stride);

hipError_t launch_gemm(const Gemm& gemm, hipStream_t stream);

/// gemm.out[r, n] = round(partial[0][r, n] + partial[1][r, n] + ...), added in that order, of the partial sums of
/// `split`.
hipError_t launch_reduce_splits(const Gemm& split, const Gemm& gemm, hipStream_t stream);

}  // namespace moediff::kernels
