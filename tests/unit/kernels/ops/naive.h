// What the ops should give: double loops, written for the tests alone.
#pragma once

#include "tests/unit/kernels/ops/device.h"

namespace moediff::test {

/// Sizes around every tile edge of the kernels.
inline constexpr std::int64_t kHardSizes[] = {1, 2, 3, 5, 7, 31, 33, 64, 65, 127, 129};

/// Routing of `rows` rows to experts for the grouped GEMMs: row counts per expert -> offsets [E+1].
Array offsets_of(const std::vector<std::int64_t>& rows_per_expert);

/// a [T, K], weights [E, N, K] or [N, K] -> [rows, N] in double. Row r is a[slots[r] / slots_per_token] times the
/// expert's weights; without slots a[r]; without offsets expert 0.
Array naive_gemm(const Array& a, const Array& weights, const Array* slots, std::int64_t slots_per_token,
                 const Array* offsets);

/// Stable sort of ids [T, W] by expert.
struct NaiveDispatch {
  Array offsets, slots, rows;
};
NaiveDispatch naive_dispatch(const Array& ids, std::int64_t experts);

struct NaiveRouting {
  Array ids, weights;
};
/// Straight from the definition, with scores in double from the given logits.
NaiveRouting naive_route(const Array& logits, const Array& bias, const md_params& params);

/// in [R, 2I] of values of the dtype.
Array naive_activation(const Array& in, md_dtype dtype);
/// Not rounded.
Array naive_combine(const Array& in, const Array& slot_rows, const Array& weights);

/// Every value rounded to the dtype.
Array rounded(Array array, md_dtype dtype);

}  // namespace moediff::test
