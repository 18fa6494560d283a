// Sums of products in the error propagation: squares with squared weights, hard errors with absolute ones.
#include <algorithm>
#include <cmath>

#include "harness/compare/bounds/accumulation.h"
#include "harness/compare/bounds/constants.h"
#include "harness/compare/bounds/propagation.h"
#include "harness/compare/bounds/propagation_rounding.h"

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

/// Adds the errors of the scales of one row: a scale moves the whole partial sum of its group.
void carry_scales(const double* x, const double* relative_squares, std::int64_t group, const reference::Matrix& weight,
                  double* out_squares) {
  std::vector<double> partial(static_cast<std::size_t>(weight.n()));
  for (std::int64_t begin = 0; begin < weight.k(); begin += group) {
    if (relative_squares[begin] == 0) continue;
    std::fill(partial.begin(), partial.end(), 0.0);
    for (std::int64_t k = begin; k < std::min(begin + group, weight.k()); ++k) {
      const double* column = weight.column(k);
      for (std::int64_t n = 0; n < weight.n(); ++n) partial[n] += x[k] * column[n];
    }
    for (std::int64_t n = 0; n < weight.n(); ++n) out_squares[n] += square(partial[n]) * relative_squares[begin];
  }
}

/// Adds the accumulation's own error, unless it makes none.
void accumulate(Uncertain& out, std::size_t i, double sum_abs, double sum_sq_partial, std::int64_t steps,
                double absolute) {
  if (std::isfinite(out.value[i]) && may_overflow(std::sqrt(sum_sq_partial))) return make_no_claim(out, i);
  out.squares[i] += kU32 * kU32 * sum_sq_partial + square(absolute);
  // The computed terms exceed the exact ones by what they carry: (1 + gamma) covers it.
  const double growth = gamma(steps, kU32);
  out.hard[i] += growth * (sum_abs + out.hard[i]) + absolute;
}

/// Activations of a product: numbers with their errors, and the squares of the relative errors of their scales.
struct Activations {
  std::vector<double> value, squares, hard, scale_squares;
  std::int64_t group = 0;  ///< columns that share a scale; 0: there are none
};

Activations scaled_activations(const Uncertain& x, const Scales& scales, std::int64_t columns) {
  Activations a{x.value, x.squares, x.hard, {}, 0};
  if (scales.values == nullptr) return a;
  a.group = scales.groups.whole || scales.groups.group == 0 ? columns : scales.groups.group;
  const std::int64_t rows = columns == 0 ? 0 : static_cast<std::int64_t>(x.size()) / columns;
  const auto spread = [&](const std::vector<double>& values) {
    return reference::spread_scales(values, rows, columns, scales.groups);
  };
  const std::vector<double> scale = spread(scales.values->value), squares = spread(scales.values->squares),
                            hard = spread(scales.values->hard);
  a.scale_squares.resize(a.value.size());
  for (std::size_t i = 0; i < a.value.size(); ++i) {
    const double s = scale[i];
    a.hard[i] = std::fabs(s) * x.hard[i] + (std::fabs(x.value[i]) + x.hard[i]) * hard[i];
    a.squares[i] = s * s * x.squares[i];
    a.value[i] = s * x.value[i];
    a.scale_squares[i] = s == 0 ? 0 : squares[i] / (s * s);
  }
  return a;
}

/// The rows that a part reads, one after another.
Activations gather(const Activations& x, std::span<const std::int32_t> source, std::int64_t columns) {
  Activations rows;
  rows.group = x.group;
  const auto pick = [&](const std::vector<double>& from, std::vector<double>& to) {
    if (from.empty()) return;
    to.reserve(source.size() * static_cast<std::size_t>(columns));
    for (const std::int32_t row : source)
      to.insert(to.end(), from.begin() + row * columns, from.begin() + (row + 1) * columns);
  };
  pick(x.value, rows.value);
  pick(x.squares, rows.squares);
  pick(x.hard, rows.hard);
  pick(x.scale_squares, rows.scale_squares);
  return rows;
}

void append_part(const Activations& x, const LinearPart& part, const reference::Accumulation& accumulation,
                 double underflow, Uncertain& out) {
  const reference::Matrix& weight = *part.weight;
  const std::int64_t rows = std::ssize(part.source), n = weight.n();
  const Activations read = gather(x, part.source, weight.k());
  const reference::Terms terms = reference::linear(read.value, rows, weight, accumulation);
  const std::size_t begin = out.size();
  out.value.insert(out.value.end(), terms.value.begin(), terms.value.end());
  out.squares.resize(out.value.size());
  out.hard.resize(out.value.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t from = r * weight.k(), to = static_cast<std::int64_t>(begin) + r * n;
    carry_errors(read.squares.data() + from, read.hard.data() + from, weight, out.squares.data() + to,
                 out.hard.data() + to);
    if (read.group > 0)
      carry_scales(read.value.data() + from, read.scale_squares.data() + from, read.group, weight,
                   out.squares.data() + to);
    const int grid = grid_exponent(std::span(read.value).subspan(from, weight.k()));
    for (std::int64_t c = 0; c < n; ++c) {
      const std::size_t i = r * n + c;
      const std::int64_t product_grid = std::int64_t{grid} + part.weight_grid[c];
      const bool exact = out.hard[begin + i] == 0 && accumulates_exactly(terms.sum_abs[i], product_grid, underflow);
      const double absolute = underflow + reference_error(terms.sum_abs[i], weight.k());
      if (!exact) accumulate(out, begin + i, terms.sum_abs[i], terms.sum_sq_partial[i], terms.steps, absolute);
    }
  }
}

/// The slots of a token.
struct TokenSlots {
  const Uncertain& x;
  std::span<const std::int32_t> rows;
  const Uncertain* weights;
  std::int64_t width, hidden;
};

/// One element of the combination: errors of rows and weights. The weights of a token share their normalisation: their
/// errors are not independent, so they add linearly.
void combine_element(const TokenSlots& s, std::int64_t token, std::int64_t column, Uncertain& out, std::int64_t& grid) {
  const std::size_t i = token * s.hidden + column;
  double spread_of_weights = 0;
  for (std::int64_t j = 0; j < s.width; ++j) {
    const std::size_t slot = token * s.width + j, from = s.rows[slot] * s.hidden + column;
    const double w = s.weights == nullptr ? 1 : s.weights->value[slot], y = s.x.value[from];
    const double w_hard = s.weights == nullptr ? 0 : s.weights->hard[slot];
    out.squares[i] += w * w * s.x.squares[from];
    out.hard[i] += std::fabs(w) * s.x.hard[from] + (std::fabs(y) + s.x.hard[from]) * w_hard;
    if (s.weights != nullptr) spread_of_weights += std::fabs(y) * std::sqrt(s.weights->squares[slot]);
    if (w != 0 && y != 0) grid = std::min(grid, std::int64_t{grid_exponent(w)} + grid_exponent(y));
  }
  out.squares[i] += square(spread_of_weights);
}

/// Every product and every sum rounded to the dtype.
void round_each(const TokenSlots& s, std::int64_t token, std::int64_t column, DType dtype, Uncertain& out) {
  const std::size_t i = token * s.hidden + column;
  double so_far = 0;
  for (std::int64_t j = 0; j < s.width; ++j) {
    const std::size_t slot = token * s.width + j;
    const double w = s.weights == nullptr ? 1 : s.weights->value[slot];
    const double term = w * s.x.value[s.rows[slot] * s.hidden + column];
    so_far += term;
    add_rounding_unless_held(out, i, dtype, term);
    if (j > 0) add_rounding_unless_held(out, i, dtype, so_far);
  }
}

}  // namespace

Uncertain linear(const Uncertain& x, const Scales& scales, std::int64_t columns, std::span<const LinearPart> parts,
                 const reference::Accumulation& accumulation, double underflow) {
  const Activations activations = scaled_activations(x, scales, columns);
  Uncertain out;
  out.flippable = x.flippable;
  for (const LinearPart& part : parts) append_part(activations, part, accumulation, underflow, out);
  return out;
}

Uncertain combine(const Uncertain& x, std::span<const std::int32_t> rows, const Uncertain* weights, std::int64_t tokens,
                  std::int64_t hidden, bool rounds_each, DType dtype) {
  const std::int64_t width = tokens == 0 ? 1 : std::ssize(rows) / tokens;
  const TokenSlots slots{x, rows, weights, width, hidden};
  const reference::Terms terms = reference::combine(
      x.value, rows, weights == nullptr ? std::span<const double>{} : weights->value, tokens, width, hidden);
  const double underflow = static_cast<double>(width) * kTiny32;
  Uncertain out = exact_values(terms.value);
  out.flippable = x.flippable;
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t h = 0; h < hidden; ++h) {
      const std::size_t i = t * hidden + h;
      std::int64_t grid = 1 << 20;
      combine_element(slots, t, h, out, grid);
      if (rounds_each) {
        round_each(slots, t, h, dtype, out);
      } else if (out.hard[i] != 0 || !accumulates_exactly(terms.sum_abs[i], grid, underflow)) {
        accumulate(out, i, terms.sum_abs[i], terms.sum_sq_partial[i], terms.steps, underflow);
      }
    }
  }
  if (!rounds_each) store(out, dtype);
  return out;
}

}  // namespace moediff::bounds
