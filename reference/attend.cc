// The attention proper, one query and head at a time: scores, softmax with its maximum taken out, weighted values.
#include <algorithm>
#include <cmath>

#include "reference/attention.h"
#include "reference/require.h"

namespace moediff::reference {
namespace {

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void softmax(std::span<double> scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - largest);
  for (double& score : scores) score /= sum;
}

/// Vector `index` of an array of vectors of `dim` elements.
template <typename T>
std::span<T> vector_of(std::span<T> all, std::int64_t index, std::int64_t dim) {
  return all.subspan(static_cast<std::size_t>(index * dim), static_cast<std::size_t>(dim));
}

}  // namespace

Attended attend(std::span<const double> queries, std::int64_t rows, const KvCache& cache, const AttentionShape& shape) {
  require(shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0, "heads must be a multiple of kv_heads");
  require(rows <= cache.length, "the cache must hold the rows that attend");
  const std::span<const double> keys(cache.keys), values(cache.values);
  const std::int64_t per_kv = shape.heads / shape.kv_heads, before = cache.length - rows;
  Attended result;
  result.probs.resize(static_cast<std::size_t>(shape.heads * rows * cache.length));
  result.out.resize(static_cast<std::size_t>(rows * shape.heads * shape.value_dim));
  for (std::int64_t head = 0; head < shape.heads; ++head) {
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto query = vector_of(queries, row * shape.heads + head, shape.key_dim);
      const auto all = vector_of(std::span(result.probs), head * rows + row, cache.length);
      const auto probs = all.first(static_cast<std::size_t>(before + row + 1));  // the past and itself
      const auto out = vector_of(std::span(result.out), row * shape.heads + head, shape.value_dim);
      const auto entry = [&](std::size_t i) { return static_cast<std::int64_t>(i) * shape.kv_heads + head / per_kv; };
      for (std::size_t i = 0; i < probs.size(); ++i) {
        probs[i] = dot(query, vector_of(keys, entry(i), shape.key_dim)) * shape.scale;
      }
      softmax(probs);
      for (std::size_t i = 0; i < probs.size(); ++i) {
        const auto value = vector_of(values, entry(i), shape.value_dim);
        for (std::size_t d = 0; d < out.size(); ++d) out[d] += probs[i] * value[d];
      }
    }
  }
  return result;
}

}  // namespace moediff::reference
