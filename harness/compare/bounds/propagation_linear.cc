// Sums of products in the error propagation: squares with squared weights, hard errors with absolute ones.
#include <cmath>

#include "harness/compare/bounds/accumulation.h"
#include "harness/compare/bounds/constants.h"
#include "harness/compare/bounds/propagation.h"
#include "harness/core/check.h"

namespace moediff::bounds {
namespace {

/// Adds the errors that the inputs of one row bring along: squares += w^2 * squares(x), hard += |w| * hard(x).
void carry_errors(const double* squares, const double* hard, const reference::Matrix& weight, double* out_squares,
                  double* out_hard) {
  for (std::int64_t k = 0; k < weight.k(); ++k) {
    if (hard[k] == 0) continue;
    const double* column = weight.column(k);
    for (std::int64_t n = 0; n < weight.n(); ++n) {
      out_squares[n] += column[n] * column[n] * squares[k];
      out_hard[n] += std::fabs(column[n]) * hard[k];
    }
  }
}

/// Adds the accumulation's own error, unless it makes none.
void accumulate(Uncertain& out, std::size_t i, double sum_abs, double sum_sq_partial, std::int64_t steps) {
  out.squares[i] += kU32 * kU32 * sum_sq_partial;
  // The computed terms exceed the exact ones by what they carry: (1 + gamma) covers it.
  const double growth = gamma(steps, kU32);
  out.hard[i] += growth * (sum_abs + out.hard[i]) + static_cast<double>(steps) * kTiny32;
}

/// The rows of `x` that a part reads, one after another.
Uncertain gather(const Uncertain& x, std::span<const std::int32_t> source, std::int64_t columns) {
  Uncertain rows;
  const auto pick = [&](const std::vector<double>& from, std::vector<double>& to) {
    to.reserve(source.size() * static_cast<std::size_t>(columns));
    for (const std::int32_t row : source)
      to.insert(to.end(), from.begin() + row * columns, from.begin() + (row + 1) * columns);
  };
  pick(x.value, rows.value);
  pick(x.squares, rows.squares);
  pick(x.hard, rows.hard);
  return rows;
}

void append_part(const Uncertain& x, const LinearPart& part, reference::Accumulation accumulation, Uncertain& out) {
  const reference::Matrix& weight = *part.weight;
  const auto rows = static_cast<std::int64_t>(part.source.size());
  const Uncertain read = gather(x, part.source, weight.k());
  const reference::Terms terms = reference::linear(read.value, rows, weight, accumulation);
  const std::size_t begin = out.size();
  out.value.insert(out.value.end(), terms.value.begin(), terms.value.end());
  out.squares.resize(out.value.size());
  out.hard.resize(out.value.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t from = r * weight.k(), to = static_cast<std::int64_t>(begin) + r * weight.n();
    carry_errors(read.squares.data() + from, read.hard.data() + from, weight, out.squares.data() + to,
                 out.hard.data() + to);
  }
  const int grid = grid_exponent(read.value);
  for (std::size_t i = 0; i < terms.value.size(); ++i) {
    const bool exact = out.hard[begin + i] == 0 && accumulates_exactly(terms.sum_abs[i], grid, part.weight_grid);
    if (!exact) accumulate(out, begin + i, terms.sum_abs[i], terms.sum_sq_partial[i], terms.steps);
  }
}

}  // namespace

Uncertain linear(const Uncertain& x, std::span<const LinearPart> parts, reference::Accumulation accumulation) {
  Uncertain out;
  for (const LinearPart& part : parts) append_part(x, part, accumulation, out);
  return out;
}

Uncertain combine(const Uncertain& x, std::span<const std::int32_t> rows, const Uncertain& weights, std::int64_t tokens,
                  std::int64_t width, std::int64_t hidden) {
  const reference::Terms terms = reference::combine(x.value, rows, weights.value, tokens, width, hidden);
  Uncertain out = exact_values(terms.value);
  const int weight_grid = grid_exponent(weights.value), x_grid = grid_exponent(x.value);
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t h = 0; h < hidden; ++h) {
      const std::size_t i = t * hidden + h;
      double spread_of_weights = 0;
      for (std::int64_t j = 0; j < width; ++j) {
        const std::size_t slot = t * width + j, from = rows[slot] * hidden + h;
        const double w = weights.value[slot], y = x.value[from];
        out.squares[i] += w * w * x.squares[from];
        out.hard[i] += std::fabs(w) * x.hard[from] + (std::fabs(y) + x.hard[from]) * weights.hard[slot];
        spread_of_weights += std::fabs(y) * std::sqrt(weights.squares[slot]);
      }
      // The weights of a token share their normalisation: their errors are not independent, so they add linearly.
      out.squares[i] += spread_of_weights * spread_of_weights;
      if (out.hard[i] != 0 || !accumulates_exactly(terms.sum_abs[i], weight_grid, x_grid)) {
        accumulate(out, i, terms.sum_abs[i], terms.sum_sq_partial[i], terms.steps);
      }
    }
  }
  return out;
}

}  // namespace moediff::bounds
