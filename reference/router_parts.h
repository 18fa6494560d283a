// The parts of the router: scores, selection, weights. One token a row in all arrays.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/api.h"

namespace moediff::reference {

/// Row `index` of an array of rows of `width` elements.
template <typename T>
std::span<T> row_of(std::vector<T>& values, std::int64_t index, std::int64_t width) {
  return std::span(values).subspan(static_cast<std::size_t>(index * width), static_cast<std::size_t>(width));
}
template <typename T>
std::span<const T> row_of(std::span<const T> values, std::int64_t index, std::int64_t width) {
  return values.subspan(static_cast<std::size_t>(index * width), static_cast<std::size_t>(width));
}

/// `value` as it is kept: rounded to `model` where the policy says so. fp32 arithmetic is not emulated.
double keep(double value, KeptIn kept, DType model);
/// The bias as it is added: rounded where the policy says so; zeros where there is none.
std::vector<double> kept_bias(std::span<const double> bias, const RouterConfig& config);

/// Fills exact_score, score and choice.
void score(std::span<const double> logits, std::span<const double> bias, const RouterConfig& config, Routing& routing);
/// Fills group_score and ids from choice.
void select(std::int64_t tokens, const RouterConfig& config, Routing& routing);

/// Does NotFinite::uniform decide a token with these choices?
bool falls_back(std::span<const double> choice, const RouterConfig& config);

void check(const RouterConfig& config);

}  // namespace moediff::reference
