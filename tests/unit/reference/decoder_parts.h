// Small attentions, layers and models of reproducible numbers, for tests of the decoder.
#pragma once

#include <cstdint>
#include <utility>

#include "reference/decoder.h"
#include "tests/unit/reference/numbers.h"

namespace moediff::reference {

inline constexpr std::int64_t kHidden = 8, kVocabulary = 11;

inline Matrix matrix_of_numbers(std::int64_t n, std::int64_t k, std::uint32_t seed) {
  return {numbers(n * k, seed), n, k};
}

/// Two heads; with a low-rank query where `q_rank` is not 0.
inline MlaAttention mla_of_numbers(std::int64_t q_rank, std::uint32_t seed = 1) {
  MlaAttention w;
  w.heads = 2, w.nope_dim = 3, w.rope_dim = 4, w.value_dim = 5, w.kv_rank = 3, w.q_rank = q_rank;
  if (q_rank > 0) {
    w.q_a = matrix_of_numbers(q_rank, kHidden, seed);
    w.q_a_norm = numbers(q_rank, seed + 1);
  }
  w.q = matrix_of_numbers(w.heads * 7, q_rank > 0 ? q_rank : kHidden, seed + 2);
  w.kv_a = matrix_of_numbers(w.kv_rank + w.rope_dim, kHidden, seed + 3);
  w.kv_a_norm = numbers(w.kv_rank, seed + 4);
  w.kv_b = matrix_of_numbers(w.heads * 8, w.kv_rank, seed + 5);
  w.o = matrix_of_numbers(kHidden, w.heads * w.value_dim, seed + 6);
  w.rope.dim = w.rope_dim;
  return w;
}

/// Four heads on two of keys and values.
inline GqaAttention gqa_of_numbers(std::uint32_t seed = 1) {
  GqaAttention w;
  w.heads = 4, w.kv_heads = 2, w.head_dim = 4;
  w.q = matrix_of_numbers(16, kHidden, seed);
  w.k = matrix_of_numbers(8, kHidden, seed + 1);
  w.v = matrix_of_numbers(8, kHidden, seed + 2);
  w.o = matrix_of_numbers(kHidden, 16, seed + 3);
  w.q_norm = w.k_norm = numbers(4, seed + 4);
  w.rope = {4, 10000, RopeLayout::halves, std::nullopt};
  return w;
}

/// Six experts of 4, two a token, and a shared one.
inline Moe moe_of_numbers(std::uint32_t seed = 1) {
  Moe w;
  w.router = {6, 2, 1, 1, true, 2.5};
  w.gate = matrix_of_numbers(6, kHidden, seed);
  w.bias = numbers(6, seed + 1);
  for (std::uint32_t e = 0; e < 6; ++e) {
    w.gate_up.push_back(matrix_of_numbers(8, kHidden, seed + 10 + e));
    w.down.push_back(matrix_of_numbers(kHidden, 4, seed + 20 + e));
  }
  w.shared.push_back({matrix_of_numbers(8, kHidden, seed + 30), matrix_of_numbers(kHidden, 4, seed + 31)});
  return w;
}

inline DecoderLayer layer_of_numbers(std::int64_t index, Attention attention, std::uint32_t seed) {
  DecoderLayer layer;
  layer.index = index;
  layer.input_norm = numbers(kHidden, seed);
  layer.post_norm = numbers(kHidden, seed + 1);
  layer.attention = std::move(attention);
  layer.block = moe_of_numbers(seed + 2);
  return layer;
}

/// Three layers: latent attention, a dense block among experts, grouped queries.
inline LanguageModel model_of_numbers() {
  LanguageModel model;
  model.embedding = numbers(kVocabulary * kHidden, 90);
  model.layers.push_back(layer_of_numbers(0, mla_of_numbers(3, 100), 200));
  model.layers.push_back(layer_of_numbers(1, mla_of_numbers(0, 120), 300));
  model.layers.push_back(layer_of_numbers(2, gqa_of_numbers(140), 400));
  model.layers[1].block = Mlp{matrix_of_numbers(24, kHidden, 500), matrix_of_numbers(kHidden, 12, 501)};
  model.final_norm = numbers(kHidden, 600);
  model.head = matrix_of_numbers(kVocabulary, kHidden, 601);
  return model;
}

}  // namespace moediff::reference
