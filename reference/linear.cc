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
  Segment partial, value, sum_abs, sum_sq_partial;
  explicit Sums(std::int64_t columns)
      : partial(Segment::Zero(columns)),
        value(Segment::Zero(columns)),
        sum_abs(Segment::Zero(columns)),
        sum_sq_partial(Segment::Zero(columns)) {}
};

/// One step of the accumulation: adds the products of weight column k to the partial sums of one row.
void add_products(double x, const Eigen::Map<const Column>& weights, Sums& sums) {
  const Segment term = x * weights;
  sums.partial += term;
  sums.sum_abs += term.abs();
  sums.sum_sq_partial += sums.partial.square();
}

/// Adds a finished split to the result, and starts the next one. The first split is the result so far: no addition.
void finish_split(bool first, Sums& sums) {
  sums.value += sums.partial;
  if (!first) sums.sum_sq_partial += sums.value.square();
  sums.partial.setZero();
}

void store(const Sums& sums, std::int64_t offset, Terms& out) {
  const auto put = [&](const Segment& from, std::vector<double>& to) {
    std::copy_n(from.data(), from.size(), to.data() + offset);
  };
  put(sums.value, out.value);
  put(sums.sum_abs, out.sum_abs);
  put(sums.sum_sq_partial, out.sum_sq_partial);
}

/// `row_of(r)` is the row of x that row r multiplies.
template <typename RowOf>
void compute(const Unit& unit, const RowOf& row_of, std::int64_t splits, Terms& out) {
  const Matrix& weight = *unit.weight;
  const std::int64_t columns = unit.column_end - unit.column_begin;
  const std::int64_t split_length = (weight.k() + splits - 1) / splits;
  std::vector<Sums> sums(static_cast<std::size_t>(unit.row_end - unit.row_begin), Sums(columns));
  for (std::int64_t begin = 0; begin < weight.k(); begin += split_length) {
    const std::int64_t end = std::min(begin + split_length, weight.k());
    for (std::int64_t k = begin; k < end; ++k) {
      const Eigen::Map<const Column> weights(weight.column(k) + unit.column_begin, columns);
      for (std::size_t r = 0; r < sums.size(); ++r) {
        add_products(row_of(unit.row_begin + static_cast<std::int64_t>(r))[k], weights, sums[r]);
      }
    }
    for (Sums& row : sums) finish_split(begin == 0, row);
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

/// The longest chain of roundings: the products of one split, then the additions of the other splits.
std::int64_t chain_length(std::int64_t k, std::int64_t splits) {
  if (k == 0) return 0;
  const std::int64_t split_length = (k + splits - 1) / splits;
  const std::int64_t used_splits = (k + split_length - 1) / split_length;
  return split_length + used_splits - 1;
}

}  // namespace

Terms grouped_linear(std::span<const double> x, std::span<const std::int32_t> source,
                     std::span<const std::int32_t> offsets, std::span<const Matrix> weights,
                     Accumulation accumulation) {
  require(!weights.empty() && offsets.size() == weights.size() + 1, "offsets must be [experts + 1]");
  require(offsets[0] == 0 && std::is_sorted(offsets.begin(), offsets.end()), "offsets must ascend from 0");
  require(accumulation.splits >= 1, "there must be at least one split");
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
  out.steps = chain_length(k, accumulation.splits);
#pragma omp parallel for schedule(dynamic) if (worth_threads(rows * n * k))
  for (std::size_t i = 0; i < units.size(); ++i) compute(units[i], row_of, accumulation.splits, out);
  return out;
}

Terms linear(std::span<const double> x, std::int64_t rows, const Matrix& weight, Accumulation accumulation) {
  require(rows >= 0 && static_cast<std::int64_t>(x.size()) == rows * weight.k(), "x must be [rows, k]");
  const std::int32_t offsets[] = {0, static_cast<std::int32_t>(rows)};
  return grouped_linear(x, {}, offsets, {&weight, 1}, accumulation);
}

}  // namespace moediff::reference
