// out[r, n] = sum_k x[r, k] weight[n, k], with the magnitudes that the error bounds need.
//
// The sum runs strictly over k = 0, 1, 2, … for every element by itself; only the columns n are vectorised. So an
// element's bits depend on nothing but its row of x and its row of the weight: not on the other rows of the batch, not
// on the number of threads, not on how the work is cut into units.
#include <Eigen/Core>
#include <algorithm>

#include "reference/api.h"
#include "reference/parallel.h"
#include "reference/require.h"
#include "reference/scales.h"

namespace moediff::reference {
namespace {

// A unit's running sums (3 arrays of rows x columns) stay in the first-level cache while the weight streams by, once
// for all rows of the unit.
constexpr std::int64_t kRows = 4;
constexpr std::int64_t kColumns = 256;

using Column = Eigen::Array<double, Eigen::Dynamic, 1>;
using Segment = Eigen::Array<double, Eigen::Dynamic, 1, 0, kColumns, 1>;  // no allocation

struct Unit {
  const Matrix* weight;
  std::int64_t row_begin, row_end, column_begin, column_end;
};

struct Sums {
  Segment block, range, value, sum_abs, sum_sq_partial;
  explicit Sums(std::int64_t columns)
      : block(Segment::Zero(columns)),
        range(Segment::Zero(columns)),
        value(Segment::Zero(columns)),
        sum_abs(Segment::Zero(columns)),
        sum_sq_partial(Segment::Zero(columns)) {}
};

/// One step of the accumulation: adds the products of weight column k to the block's sum of one row.
void add_products(double x, const Eigen::Map<const Column>& weights, bool exact, Sums& sums) {
  const Segment term = x * weights;
  sums.block += term;
  sums.sum_abs += term.abs();
  if (!exact) sums.sum_sq_partial += sums.block.square();
}

/// `count` roundings of results as large as `sum`. None must stay none where the square overflows.
void add_roundings(int count, const Segment& sum, Sums& sums) {
  if (count > 0) sums.sum_sq_partial += static_cast<double>(count) * sum.square();
}

/// Adds a finished block to its range, and starts the next one. The first block is added to 0: no rounding.
void finish_block(bool first, int roundings, Sums& sums) {
  add_roundings(roundings, sums.block, sums);
  sums.range += sums.block;
  if (!first) add_roundings(1, sums.range, sums);
  sums.block.setZero();
}

/// Adds a finished range to the result, and starts the next one. The first range is the result so far: no addition.
void finish_range(bool first, const Accumulation& how, Sums& sums) {
  add_roundings(how.range_roundings + (how.integer ? 1 : 0), sums.range, sums);
  sums.value += sums.range;
  if (!first) add_roundings(1, sums.value, sums);
  sums.range.setZero();
}

void store(const Sums& sums, std::int64_t offset, Terms& out) {
  const auto put = [&](const Segment& from, std::vector<double>& to) {
    std::copy_n(from.data(), from.size(), to.data() + offset);
  };
  put(sums.value, out.value);
  put(sums.sum_abs, out.sum_abs);
  put(sums.sum_sq_partial, out.sum_sq_partial);
}

/// Lengths of the ranges and of the blocks in them. Without blocks a range is one block.
struct Cut {
  std::int64_t range, block;
};
Cut cut(std::int64_t k, const Accumulation& how) {
  const std::int64_t range = ceil_div(k, how.splits);
  if (how.block == 0) return {range, range};
  return {ceil_div(range, how.block) * how.block, how.block};
}

/// `row_of(r)` is the row of x that row r multiplies.
template <typename RowOf>
void compute(const Unit& unit, const RowOf& row_of, const Accumulation& how, Terms& out) {
  const Matrix& weight = *unit.weight;
  const std::int64_t columns = unit.column_end - unit.column_begin;
  const Cut lengths = cut(weight.k(), how);
  std::vector<Sums> sums(static_cast<std::size_t>(unit.row_end - unit.row_begin), Sums(columns));
  for (std::int64_t begin = 0, end = 0; begin < weight.k(); begin = end) {  // blocks
    const std::int64_t range_begin = begin / lengths.range * lengths.range;
    const std::int64_t range_end = std::min(range_begin + lengths.range, weight.k());
    end = std::min(begin + lengths.block, range_end);
    for (std::int64_t k = begin; k < end; ++k) {
      const Eigen::Map<const Column> weights(weight.column(k) + unit.column_begin, columns);
      for (std::size_t r = 0; r < sums.size(); ++r) {
        add_products(row_of(unit.row_begin + static_cast<std::int64_t>(r))[k], weights, how.integer, sums[r]);
      }
    }
    for (Sums& row : sums) {
      finish_block(begin == range_begin, how.block_roundings, row);
      if (end == range_end) finish_range(range_begin == 0, how, row);
    }
  }
  for (std::size_t r = 0; r < sums.size(); ++r) {
    store(sums[r], (unit.row_begin + static_cast<std::int64_t>(r)) * weight.n() + unit.column_begin, out);
  }
}

/// Cuts rows [begin, end), which all multiply `weight`, into units of fixed size.
void append_units(const Matrix& weight, std::int64_t begin, std::int64_t end, std::vector<Unit>& units) {
  for (std::int64_t column = 0; column < weight.n(); column += kColumns) {
    for (std::int64_t row = begin; row < end; row += kRows) {
      units.push_back({&weight, row, std::min(row + kRows, end), column, std::min(column + kColumns, weight.n())});
    }
  }
}

/// The longest chain of roundings, that of the first product: the rest of its block, the scales, the other blocks of
/// its range, the scales of the range, the other ranges.
std::int64_t chain_length(std::int64_t k, const Accumulation& how) {
  if (k == 0) return 0;
  const Cut lengths = cut(k, how);
  const std::int64_t longest_range = std::min(lengths.range, k);
  const std::int64_t in_block = how.integer ? 1 : std::min(lengths.block, k);
  const std::int64_t other_blocks = ceil_div(longest_range, lengths.block) - 1;
  const std::int64_t other_ranges = ceil_div(k, lengths.range) - 1;
  return in_block + how.block_roundings + other_blocks + how.range_roundings + other_ranges;
}

void check(const Accumulation& how) {
  require(how.splits >= 1, "there must be at least one split");
  require(how.block >= 0 && how.block_roundings >= 0 && how.range_roundings >= 0, "counts must not be negative");
  require(how.block > 0 || how.block_roundings == 0, "only blocks have block roundings");
  require(how.block == 0 || !how.integer, "an exact sum has no blocks");
}

}  // namespace

Terms grouped_linear(std::span<const double> x, std::span<const std::int32_t> source,
                     std::span<const std::int32_t> offsets, std::span<const Matrix> weights,
                     Accumulation accumulation) {
  require(!weights.empty() && offsets.size() == weights.size() + 1, "offsets must be [experts + 1]");
  require(offsets[0] == 0 && std::is_sorted(offsets.begin(), offsets.end()), "offsets must ascend from 0");
  check(accumulation);
  const std::int64_t n = weights[0].n(), k = weights[0].k(), rows = offsets.back();
  const bool same_shape =
      std::all_of(weights.begin(), weights.end(), [&](const Matrix& w) { return w.n() == n && w.k() == k; });
  require(same_shape, "all experts must have weights of one shape");
  const std::int64_t rows_of_x = k == 0 ? 0 : static_cast<std::int64_t>(x.size()) / k;
  require(rows_of_x * k == static_cast<std::int64_t>(x.size()), "x must be [rows, k]");
  const auto exists = [&](std::int32_t row) { return 0 <= row && row < rows_of_x; };
  require(source.empty() ? k == 0 || rows <= rows_of_x : static_cast<std::int64_t>(source.size()) == rows,
          "each row needs a row of x");
  require(std::all_of(source.begin(), source.end(), exists), "source must name rows of x");

  const auto row_of = [&](std::int64_t r) {
    return x.data() + (source.empty() ? r : source[static_cast<std::size_t>(r)]) * k;
  };
  std::vector<Unit> units;
  for (std::size_t e = 0; e < weights.size(); ++e) append_units(weights[e], offsets[e], offsets[e + 1], units);
  Terms out;
  for (std::vector<double>* array : {&out.value, &out.sum_abs, &out.sum_sq_partial})
    array->resize(static_cast<std::size_t>(rows * n));
  out.steps = chain_length(k, accumulation);
#pragma omp parallel for schedule(dynamic) if (worth_threads(rows * n * k))
  for (std::size_t i = 0; i < units.size(); ++i) compute(units[i], row_of, accumulation, out);
  return out;
}

Terms linear(std::span<const double> x, std::int64_t rows, const Matrix& weight, Accumulation accumulation) {
  require(rows >= 0 && static_cast<std::int64_t>(x.size()) == rows * weight.k(), "x must be [rows, k]");
  const std::int32_t offsets[] = {0, static_cast<std::int32_t>(rows)};
  return grouped_linear(x, {}, offsets, {&weight, 1}, accumulation);
}

}  // namespace moediff::reference
