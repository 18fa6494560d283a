// What the ops should give: double loops, written for the tests alone. Routing is in naive_router.h.
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

/// f(gate) and h(up) of each kind of activation (MD_SILU...) in double.
double naive_act(int kind, double limit, double gate);
double naive_factor(int kind, double limit, double up);
/// in [R, 2I] of values of the dtype; rounded as params say.
Array naive_activation(const Array& in, const md_params& params, md_dtype dtype);
/// Not rounded; null weights: 1.
Array naive_combine(const Array& in, const Array& slot_rows, const Array* weights, std::int64_t width);

/// Every value rounded to the dtype.
Array rounded(Array array, md_dtype dtype);

}  // namespace moediff::test
