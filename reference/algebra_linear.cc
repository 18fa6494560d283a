// The linear stages modulo p, with the scales of quantised operands: codes and scales are multiplied first, so that the
// sum is one of plain products. Any order of summation gives the same.
#include <algorithm>

#include "reference/algebra.h"
#include "reference/parallel.h"
#include "reference/require.h"
#include "reference/scales.h"

namespace moediff::reference::algebra {
namespace {

std::int64_t size_of(std::span<const Element> values) { return static_cast<std::int64_t>(values.size()); }

/// x times its scales.
std::vector<Element> scaled_activations(const Linear& job) {
  std::vector<Element> out(job.x.begin(), job.x.end());
  if (job.x_scales.empty()) return out;
  const std::int64_t rows = job.k == 0 ? 0 : size_of(job.x) / job.k;
  const ActivationScaleMap map(scale_groups(job.quant), rows, job.k);
  require(size_of(job.x_scales) == map.size(), "x_scales must have the shape of the scheme");
  for (std::int64_t i = 0; i < rows * job.k; ++i) {
    Element& element = out[static_cast<std::size_t>(i)];
    element = multiply(element, job.x_scales[static_cast<std::size_t>(map(i / job.k, i % job.k))]);
  }
  return out;
}

/// All experts' weights times their scales.
std::vector<Element> scaled_weights(const Linear& job, std::int64_t experts) {
  std::vector<Element> out(job.weight.begin(), job.weight.end());
  if (job.weight_scales.empty()) return out;
  const WeightScaleMap map(job.quant, job.n, job.k, job.halves);
  require(job.sn == map.sn() && job.sk == map.sk() && size_of(job.weight_scales) == experts * job.sn * job.sk,
          "weight_scales must be [experts, sn, sk] of the scheme");
  for (std::int64_t i = 0; i < experts * job.n * job.k; ++i) {
    const std::int64_t row = i / job.k, expert = row / job.n;
    const std::int64_t scale = expert * job.sn * job.sk + map(row % job.n, i % job.k);
    out[static_cast<std::size_t>(i)] =
        multiply(out[static_cast<std::size_t>(i)], job.weight_scales[static_cast<std::size_t>(scale)]);
  }
  return out;
}

Element dot(const Element* a, const Element* b, std::int64_t k) {
  Element sum = 0;
  for (std::int64_t i = 0; i < k; ++i) sum = add(sum, multiply(a[i], b[i]));
  return sum;
}

void check(const Linear& job, std::int64_t experts, std::int64_t rows) {
  require(experts >= 0 && job.n >= 0 && job.k >= 0 && size_of(job.weight) == experts * job.n * job.k,
          "the weight must be [experts, n, k]");
  require(job.offsets.front() == 0 && std::is_sorted(job.offsets.begin(), job.offsets.end()),
          "offsets must ascend from 0");
  require(static_cast<std::int64_t>(job.source.size()) == rows, "each row needs a row of x");
  const auto exists = [&](std::int32_t r) { return r >= 0 && (r + std::int64_t{1}) * job.k <= size_of(job.x); };
  require(std::all_of(job.source.begin(), job.source.end(), exists), "source must name rows of x");
  require(job.row_weights.empty() || size_of(job.row_weights) == rows, "row weights must be [rows]");
}

}  // namespace

std::vector<Element> linear(const Linear& job) {
  require(!job.offsets.empty(), "offsets must be [experts + 1]");
  const auto experts = static_cast<std::int64_t>(job.offsets.size()) - 1;
  const std::int64_t rows = job.offsets.back();
  check(job, experts, rows);
  const std::vector<Element> x = scaled_activations(job), weight = scaled_weights(job, experts);
  std::vector<Element> out(static_cast<std::size_t>(rows * job.n));
#pragma omp parallel for schedule(dynamic) if (worth_threads(rows * job.n * job.k * 4))
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto above = std::upper_bound(job.offsets.begin(), job.offsets.end(), r);
    const std::int64_t expert = above - job.offsets.begin() - 1;
    const Element row_weight = job.row_weights.empty() ? 1 : job.row_weights[static_cast<std::size_t>(r)];
    const Element* const from = x.data() + job.source[static_cast<std::size_t>(r)] * job.k;
    for (std::int64_t n = 0; n < job.n; ++n) {
      const Element sum = dot(from, weight.data() + (expert * job.n + n) * job.k, job.k);
      out[static_cast<std::size_t>(r * job.n + n)] = multiply(row_weight, sum);
    }
  }
  return out;
}

}  // namespace moediff::reference::algebra
