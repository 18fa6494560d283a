// From hidden states to queries, keys and values, and back. Keys and values enter the cache as they are used: after
// rotation, one for each head that reads them.
#include "reference/attention.h"

#include "reference/require.h"

namespace moediff::reference {
namespace {

std::vector<double> product(std::span<const double> x, std::int64_t rows, const Matrix& weight) {
  return linear(x, rows, weight).value;
}

/// Columns [begin, begin + width) of rows of `columns`.
std::vector<double> columns_of(std::span<const double> x, std::int64_t columns, std::int64_t begin,
                               std::int64_t width) {
  std::vector<double> out;
  for (std::size_t row = 0; row < x.size(); row += static_cast<std::size_t>(columns)) {
    const auto from = x.begin() + static_cast<std::ptrdiff_t>(row) + begin;
    out.insert(out.end(), from, from + width);
  }
  return out;
}

/// Turns the last `rope.dim` elements of each of the vectors [rows, vectors, dim].
void rotate_ends(std::vector<double>& x, std::int64_t rows, std::int64_t vectors, const Rope& rope,
                 const RopeTable& table) {
  const std::int64_t dim = static_cast<std::int64_t>(x.size()) / (rows * vectors);
  for (std::int64_t i = 0; i < rows * vectors; ++i) {
    const auto begin = static_cast<std::size_t>((i + 1) * dim - rope.dim);
    rotate(std::span(x).subspan(begin, static_cast<std::size_t>(rope.dim)), table, i / vectors, rope.layout);
  }
}

void append(std::vector<double>& to, std::span<const double> from) { to.insert(to.end(), from.begin(), from.end()); }

std::span<const double> part(std::span<const double> x, std::int64_t begin, std::int64_t size) {
  return x.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(size));
}

void mla_queries(const MlaAttention& w, std::span<const double> x, std::int64_t rows, AttentionTrace& trace) {
  if (w.q_rank == 0) {
    trace.q = product(x, rows, w.q);
    return;
  }
  trace.q_a = product(x, rows, w.q_a);
  trace.q_a_norm = rms_norm(trace.q_a, w.q_a_norm, w.epsilon);
  trace.q = product(trace.q_a_norm, rows, w.q);
}

void mla_keys_and_values(const MlaAttention& w, std::span<const double> x, std::int64_t rows, const RopeTable& table,
                         AttentionTrace& trace, KvCache& cache) {
  trace.kv_a = product(x, rows, w.kv_a);
  trace.kv_a_norm = rms_norm(columns_of(trace.kv_a, w.kv_rank + w.rope_dim, 0, w.kv_rank), w.kv_a_norm, w.epsilon);
  trace.kv = product(trace.kv_a_norm, rows, w.kv_b);
  std::vector<double> shared = columns_of(trace.kv_a, w.kv_rank + w.rope_dim, w.kv_rank, w.rope_dim);
  rotate_ends(shared, rows, 1, w.rope, table);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t head = 0; head < w.heads; ++head) {
      const std::int64_t begin = (row * w.heads + head) * (w.nope_dim + w.value_dim);
      append(cache.keys, part(trace.kv, begin, w.nope_dim));
      append(cache.keys, part(shared, row * w.rope_dim, w.rope_dim));
      append(cache.values, part(trace.kv, begin + w.nope_dim, w.value_dim));
    }
  }
}

AttentionTrace run(const MlaAttention& w, std::span<const double> x, std::int64_t rows, std::int64_t first,
                   KvCache& cache) {
  const RopeTable table = rope_table(w.rope, first, rows);
  AttentionTrace trace;
  mla_queries(w, x, rows, trace);
  mla_keys_and_values(w, x, rows, table, trace, cache);
  cache.length += rows;
  std::vector<double> queries = trace.q;
  rotate_ends(queries, rows, w.heads, w.rope, table);
  const std::int64_t key_dim = w.nope_dim + w.rope_dim;
  Attended attended =
      attend(queries, rows, cache, {w.heads, w.heads, key_dim, w.value_dim, softmax_scale(key_dim, w.rope)});
  trace.probs = std::move(attended.probs);
  trace.out = product(attended.out, rows, w.o);
  return trace;
}

/// Normalised over each head, then rotated.
std::vector<double> gqa_heads(std::vector<double> x, std::int64_t rows, std::int64_t heads, const GqaAttention& w,
                              std::span<const double> norm, const RopeTable& table) {
  if (!norm.empty()) x = rms_norm(x, norm, w.epsilon);
  rotate_ends(x, rows, heads, w.rope, table);
  return x;
}

AttentionTrace run(const GqaAttention& w, std::span<const double> x, std::int64_t rows, std::int64_t first,
                   KvCache& cache) {
  const RopeTable table = rope_table(w.rope, first, rows);
  AttentionTrace trace;
  trace.q = product(x, rows, w.q);
  append(cache.keys, gqa_heads(product(x, rows, w.k), rows, w.kv_heads, w, w.k_norm, table));
  append(cache.values, product(x, rows, w.v));
  cache.length += rows;
  const std::vector<double> queries = gqa_heads(trace.q, rows, w.heads, w, w.q_norm, table);
  Attended attended =
      attend(queries, rows, cache, {w.heads, w.kv_heads, w.head_dim, w.head_dim, softmax_scale(w.head_dim, w.rope)});
  trace.probs = std::move(attended.probs);
  trace.out = product(attended.out, rows, w.o);
  return trace;
}

}  // namespace

AttentionTrace attention(const Attention& weights, std::span<const double> x, std::int64_t rows, std::int64_t first,
                         KvCache& cache) {
  require(rows > 0, "attention needs rows");
  return std::visit([&](const auto& one) { return run(one, x, rows, first, cache); }, weights);
}

}  // namespace moediff::reference
