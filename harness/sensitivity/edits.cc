#include "harness/sensitivity/edits.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "harness/core/check.h"
#include "harness/core/formats.h"

namespace moediff::edits {
namespace {

std::size_t columns_of(const Tensor& tensor) { return static_cast<std::size_t>(tensor.shape.back()); }

/// Applies a change to the values of a float tensor.
template <typename Change>
void change_values(Tensor& stored, Change change) {
  std::vector<double> values = to_doubles(stored);
  change(values);
  stored = from_doubles(stored.dtype, stored.shape, values);
}

/// Applies a change to whole elements, whatever they are.
template <typename Change>
void change_bytes(Tensor& stored, Change change) {
  change(stored.data.begin(), static_cast<std::ptrdiff_t>(size_of(stored.dtype)),
         static_cast<std::ptrdiff_t>(columns_of(stored)) * size_of(stored.dtype));
}

void raise(Tensor& stored, std::size_t at) {
  change_values(stored, [&](std::vector<double>& values) { values[at] = next_up(stored.dtype, values[at]); });
}

/// One row of a gemm1 product, accumulated from its inputs by `step`.
template <typename Accumulate>
void recompute_gemm1(const EditContext& c, Tensor& stored, Accumulate accumulate) {
  CHECK(c.spec.quant.scheme == QuantScheme::none, "plain weights are accumulated again");
  const std::vector<double> x = c.operand("hidden_states"), slots = c.operand("sorted_slots"),
                            offsets = c.operand("expert_offsets"), weights = to_doubles(c.inputs.at("w13"));
  const auto k = static_cast<std::size_t>(c.spec.shape.hidden), n = columns_of(stored);
  const auto width = static_cast<std::size_t>(c.spec.shape.top_k);
  change_values(stored, [&](std::vector<double>& values) {
    for (std::size_t e = 0; e + 1 < offsets.size(); ++e) {
      for (auto r = static_cast<std::size_t>(offsets[e]); r < static_cast<std::size_t>(offsets[e + 1]); ++r) {
        const double* row = x.data() + static_cast<std::size_t>(slots[r]) / width * k;
        for (std::size_t column = 0; column < n; ++column)
          values[r * n + column] = accumulate(row, weights.data() + (e * n + column) * k, k, values[r * n + column]);
      }
    }
  });
}

double dot(const double* a, const double* b, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

/// The running sum is kept in `dtype` between stretches of 64 products.
template <DType kDType>
double narrow_sum(const double* a, const double* b, std::size_t count, double) {
  constexpr std::size_t kStretch = 64;
  double sum = 0;
  for (std::size_t i = 0; i < count; i += kStretch)
    sum = round_to(kDType, sum + dot(a + i, b + i, std::min(kStretch, count - i)));
  return sum;
}

double towards_zero(DType dtype, double value) {
  const double rounded = round_to(dtype, value);
  if (std::fabs(rounded) <= std::fabs(value)) return rounded;
  return value > 0 ? next_down(dtype, rounded) : next_up(dtype, rounded);
}

}  // namespace

void one_ulp(const EditContext&, Tensor& stored) {
  const std::vector<double> values = to_doubles(stored);
  const auto end = values.begin() + static_cast<std::ptrdiff_t>(columns_of(stored));
  raise(stored, static_cast<std::size_t>(std::max_element(values.begin(), end) - values.begin()));
}

void one_ulp_of_a_middling_element(const EditContext&, Tensor& stored) {
  const std::vector<double> values = to_doubles(stored);
  std::vector<std::size_t> order(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(order.size() / 2), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::fabs(values[a]) < std::fabs(values[b]); });
  raise(stored, order[order.size() / 2]);
}

void lost_row(const EditContext&, Tensor& stored) {
  change_bytes(stored, [&](auto begin, auto, auto row) {
    const auto middle = begin + stored.shape[0] / 2 * row;
    std::fill(middle, middle + row, std::byte{0});
  });
}

void swapped_rows(const EditContext&, Tensor& stored) {
  change_bytes(stored, [](auto begin, auto, auto row) { std::swap_ranges(begin, begin + row, begin + row); });
}

void swapped_columns(const EditContext&, Tensor& stored) {
  change_bytes(stored,
               [](auto begin, auto element, auto) { std::swap_ranges(begin, begin + element, begin + element); });
}

void repeated_row(const EditContext&, Tensor& stored) {
  change_bytes(stored,
               [&](auto, auto, auto row) { std::copy_n(stored.data.end() - 2 * row, row, stored.data.end() - row); });
}

void stale_percent(const EditContext&, Tensor& stored) {
  const std::size_t columns = columns_of(stored);
  change_values(stored, [&](std::vector<double>& values) {
    const std::vector<double> before = values;
    for (std::size_t i = columns; i < values.size(); i += 100) values[i] = before[i - columns];
  });
}

void shifted_columns(const EditContext&, Tensor& stored) {
  change_bytes(stored, [&](auto begin, auto element, auto row) {
    for (auto at = begin; at != stored.data.end(); at += row) std::rotate(at, at + row - element, at + row);
  });
}

void slightly_scaled(const EditContext&, Tensor& stored) {
  change_values(stored, [](std::vector<double>& values) {
    for (double& value : values) value *= 1 + 0x1p-7;
  });
}

void one_code(const EditContext&, Tensor& stored) {
  CHECK(size_of(stored.dtype) == 1, "a code is a byte");
  const std::vector<double> values = to_doubles(stored);
  const double most = *std::max_element(values.begin(), values.end());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] <= most / 8 || values[i] >= most) continue;
    stored.data[i] = static_cast<std::byte>(std::to_integer<int>(stored.data[i]) + 1);
    return;
  }
}

void truncated(const EditContext& context, Tensor& stored) {
  const DType dtype = stored.dtype;
  recompute_gemm1(context, stored, [dtype](const double* a, const double* b, std::size_t k, double) {
    return towards_zero(dtype, dot(a, b, k));
  });
}

void rounded_twice(const EditContext& context, Tensor& stored) {
  // f16 has 11 significant bits: as the intermediate of a kernel whose accumulator leaves through half precision.
  recompute_gemm1(context, stored, [](const double* a, const double* b, std::size_t k, double) {
    return round_to(DType::f16, dot(a, b, k));
  });
}

void accumulated_in_bf16(const EditContext& context, Tensor& stored) {
  recompute_gemm1(context, stored, narrow_sum<DType::bf16>);
}

void accumulated_in_f16(const EditContext& context, Tensor& stored) {
  recompute_gemm1(context, stored, narrow_sum<DType::f16>);
}

}  // namespace moediff::edits
