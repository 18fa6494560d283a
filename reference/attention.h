// Causal attention of a decoder layer: DeepSeek's multi-head latent attention (MLA; DeepSeek-V2, arXiv:2405.04434,
// section 2.1, in its plain form) and grouped-query attention with normalised queries and keys (Qwen3). One sequence at
// a time; a cache holds what earlier calls have seen of it. Everything in double. Weights are [out, in].
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "reference/api.h"
#include "reference/rope.h"

namespace moediff::reference {

/// x [rows, n], n the number of weights, to x / sqrt(mean(x^2) + epsilon) * weight (Zhang and Sennrich,
/// arXiv:1910.07467).
std::vector<double> rms_norm(std::span<const double> x, std::span<const double> weight, double epsilon);

/// Keys and values of a sequence so far, after rotation: [length, heads of keys, dim].
struct KvCache {
  std::vector<double> keys, values;
  std::int64_t length = 0;
};

/// Sizes of the attention proper. Head h of the queries reads head h / (heads / kv_heads) of keys and values.
struct AttentionShape {
  std::int64_t heads, kv_heads, key_dim, value_dim;
  double scale;  ///< of q·k
};
struct Attended {
  std::vector<double> probs;  ///< [heads, rows, length], 0 for what comes later
  std::vector<double> out;    ///< [rows, heads, value_dim]
};
/// softmax(scale q k^T) v for queries [rows, heads, key_dim], which belong to the last `rows` entries of the cache.
Attended attend(std::span<const double> queries, std::int64_t rows, const KvCache& cache, const AttentionShape& shape);

struct MlaAttention {
  std::int64_t heads, nope_dim, rope_dim, value_dim, kv_rank;
  std::int64_t q_rank = 0;        ///< 0: q is one product
  Matrix q_a;                     ///< [q_rank, hidden]
  std::vector<double> q_a_norm;   ///< [q_rank]
  Matrix q;                       ///< [heads * (nope_dim + rope_dim), q_rank or hidden]
  Matrix kv_a;                    ///< [kv_rank + rope_dim, hidden]: the latent, then the key part all heads share
  std::vector<double> kv_a_norm;  ///< [kv_rank]
  Matrix kv_b;                    ///< [heads * (nope_dim + value_dim), kv_rank]: of each head key, then value
  Matrix o;                       ///< [hidden, heads * value_dim]
  Rope rope;
  double epsilon = 1e-6;
};

struct GqaAttention {
  std::int64_t heads, kv_heads, head_dim;
  Matrix q, k, v, o;                   ///< [heads * head_dim, hidden] and so on
  std::vector<double> q_norm, k_norm;  ///< [head_dim], over each head; empty: none
  Rope rope;
  double epsilon = 1e-6;
};

/// What attention computes on its way, [rows, ...]; q_a to kv are MLA's.
struct AttentionTrace {
  std::vector<double> q_a, q_a_norm;    ///< before and after the norm; empty without q_rank
  std::vector<double> q;                ///< before rotation
  std::vector<double> kv_a, kv_a_norm;  ///< kv_a before rotation; kv_a_norm of the latent part
  std::vector<double> kv;
  std::vector<double> probs;  ///< [heads, rows, cache length]
  std::vector<double> out;    ///< after o [rows, hidden]
};

/// `x` [rows, hidden] at positions first, first + 1, ...; their keys and values are appended to the cache.
using Attention = std::variant<MlaAttention, GqaAttention>;
AttentionTrace attention(const Attention& weights, std::span<const double> x, std::int64_t rows, std::int64_t first,
                         KvCache& cache);

}  // namespace moediff::reference
