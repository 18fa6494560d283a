// Granularities of scales (harness/model/quant.h), and largest magnitudes by granularity.
#include "reference/scales.h"

#include <algorithm>
#include <cmath>

#include "reference/require.h"

namespace moediff::reference {

WeightScaleMap::WeightScaleMap(const QuantSpec& spec, std::int64_t n, std::int64_t k, bool halves) {
  require(n >= 0 && k >= 0, "sizes must not be negative");
  const QuantRow& scheme = row(spec.scheme);
  const std::int64_t group = spec.scheme == QuantScheme::mxfp4 ? kMxGroup : spec.group;
  const bool by_block = scheme.weight_scales == WeightScales::block;
  const bool by_column = by_block || scheme.weight_scales == WeightScales::group;
  require(scheme.weight_scales != WeightScales::none, "the scheme has no weight scales");
  require(!by_column || group > 0, "a group must have elements");
  require(!by_block || !halves || n % 2 == 0, "halves need an even number of rows");
  const std::int64_t whole = std::max<std::int64_t>(n, 1);
  half_ = by_block && halves ? std::max<std::int64_t>(n / 2, 1) : whole;
  if (by_block) rows_ = group;
  if (scheme.weight_scales == WeightScales::tensor) rows_ = whole;
  columns_ = by_column ? group : std::max<std::int64_t>(k, 1);
  blocks_of_half_ = ceil_div(half_, rows_);
  sn_ = ceil_div(n, half_) * blocks_of_half_;
  sk_ = by_column ? ceil_div(k, group) : 1;
  if (scheme.weight_scales == WeightScales::tensor) sn_ = 1;
}

ActivationScaleMap::ActivationScaleMap(ScaleGroups groups, std::int64_t rows, std::int64_t columns)
    : whole_(groups.whole) {
  require(rows >= 0 && columns >= 0 && groups.group >= 0, "sizes must not be negative");
  const bool by_group = !groups.whole && groups.group > 0;
  group_ = by_group ? groups.group : std::max<std::int64_t>(columns, 1);
  of_rows_ = groups.whole ? 1 : rows;
  of_columns_ = by_group ? ceil_div(columns, groups.group) : 1;
}

ScaleGroups scale_groups(const QuantSpec& spec) {
  switch (row(spec.scheme).activation) {
    case ActivationScales::token_group:
      return {spec.group, false};
    case ActivationScales::token:
      return {0, false};
    case ActivationScales::tensor:
      return {0, true};
    case ActivationScales::none:
      break;
  }
  require(false, "the scheme has no activation scales");
  return {};
}

std::vector<double> largest_magnitudes(std::span<const double> x, std::int64_t rows, std::int64_t columns,
                                       ScaleGroups groups) {
  const ActivationScaleMap map(groups, rows, columns);
  require(static_cast<std::int64_t>(x.size()) == rows * columns, "x must be [rows, columns]");
  std::vector<double> largest(static_cast<std::size_t>(map.size()));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      double& so_far = largest[static_cast<std::size_t>(map(r, c))];
      const double magnitude = std::fabs(x[static_cast<std::size_t>(r * columns + c)]);
      if (magnitude > so_far || std::isnan(magnitude)) so_far = magnitude;  // nothing is larger than NaN
    }
  }
  return largest;
}

std::vector<double> spread_scales(std::span<const double> scales, std::int64_t rows, std::int64_t columns,
                                  ScaleGroups groups) {
  const ActivationScaleMap map(groups, rows, columns);
  require(static_cast<std::int64_t>(scales.size()) == map.size(), "scales must be [rows, groups]");
  std::vector<double> out;
  out.reserve(static_cast<std::size_t>(rows * columns));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) out.push_back(scales[static_cast<std::size_t>(map(r, c))]);
  }
  return out;
}

}  // namespace moediff::reference
