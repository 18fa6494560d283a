#include "harness/replay/layer_outputs.h"

#include <array>

namespace moediff {
namespace {

Shape by_position(const LayerCase& c, std::int64_t width) { return {c.sequences, c.positions, width}; }

/// One intermediate of the attention, of all sequences.
std::vector<double> all_sequences(const LayerRun& run, std::vector<double> reference::AttentionTrace::*which) {
  std::vector<double> all;
  for (const reference::AttentionTrace& one : run.trace.attention) {
    all.insert(all.end(), (one.*which).begin(), (one.*which).end());
  }
  return all;
}

reference::RopeTable table_of(const LayerRun& run) {
  return reference::rope_table(run.rope, run.layer_case.first, run.layer_case.positions);
}

/// Hugging Face keeps cosine and sine of all pairs twice over [T, dim].
std::vector<double> twice(const std::vector<double>& half, std::int64_t pairs) {
  std::vector<double> out;
  for (auto row = half.begin(); row != half.end(); row += pairs) {
    out.insert(out.end(), row, row + pairs);
    out.insert(out.end(), row, row + pairs);
  }
  return out;
}

bool always(const LayerCase&) { return true; }
bool low_rank_query(const LayerCase& c) { return c.shape.q_rank > 0; }
bool plain_query(const LayerCase& c) { return c.shape.q_rank == 0; }
bool has_experts(const LayerCase& c) { return c.shape.has_moe(c.layer.index); }
bool has_shared_experts(const LayerCase& c) { return has_experts(c) && c.shape.moe.n_shared > 0; }

using C = const LayerCase&;
using R = const LayerRun&;
using Trace = reference::AttentionTrace;
constexpr OutputClass kConstant = OutputClass::constant, kPosition = OutputClass::per_position,
                      kToken = OutputClass::per_token;
constexpr std::array kOutputs{
    LayerOutput{"cos", kConstant, always,
                [](C c) {
                  return Shape{1, c.positions, c.shape.rope_dim};
                },
                [](R r) { return twice(table_of(r).cos, r.rope.dim / 2); }},
    LayerOutput{"sin", kConstant, always,
                [](C c) {
                  return Shape{1, c.positions, c.shape.rope_dim};
                },
                [](R r) { return twice(table_of(r).sin, r.rope.dim / 2); }},
    LayerOutput{"freqs_cos", kConstant, always,
                [](C c) {
                  return Shape{c.positions, c.shape.rope_dim / 2};
                },
                [](R r) { return table_of(r).cos; }},
    LayerOutput{"freqs_sin", kConstant, always,
                [](C c) {
                  return Shape{c.positions, c.shape.rope_dim / 2};
                },
                [](R r) { return table_of(r).sin; }},
    LayerOutput{"inv_freq", kConstant, always, [](C c) { return Shape{c.shape.rope_dim / 2}; },
                [](R r) { return reference::rope_frequencies(r.rope); }},
    LayerOutput{"attention_scaling", kConstant, always, [](C) { return Shape{1}; },
                [](R r) { return std::vector<double>{reference::rope_magnitude(r.rope)}; }},
    LayerOutput{"softmax_scale", kConstant, always, [](C) { return Shape{1}; },
                [](R r) {
                  const DecoderShape& s = r.layer_case.shape;
                  return std::vector<double>{reference::softmax_scale(s.nope_dim + s.rope_dim, r.rope)};
                }},
    LayerOutput{"input_layernorm", kPosition, always, [](C c) { return by_position(c, c.shape.hidden); },
                [](R r) { return r.trace.input_norm; }},
    LayerOutput{"attn.q_a_proj", kPosition, low_rank_query, [](C c) { return by_position(c, c.shape.q_rank); },
                [](R r) { return all_sequences(r, &Trace::q_a); }},
    LayerOutput{"attn.q_a_layernorm", kPosition, low_rank_query, [](C c) { return by_position(c, c.shape.q_rank); },
                [](R r) { return all_sequences(r, &Trace::q_a_norm); }},
    LayerOutput{"attn.q_b_proj", kPosition, low_rank_query,
                [](C c) { return by_position(c, c.shape.heads * (c.shape.nope_dim + c.shape.rope_dim)); },
                [](R r) { return all_sequences(r, &Trace::q); }},
    LayerOutput{"attn.q_proj", kPosition, plain_query,
                [](C c) { return by_position(c, c.shape.heads * (c.shape.nope_dim + c.shape.rope_dim)); },
                [](R r) { return all_sequences(r, &Trace::q); }},
    LayerOutput{"attn.kv_a_proj_with_mqa", kPosition, always,
                [](C c) { return by_position(c, c.shape.kv_rank + c.shape.rope_dim); },
                [](R r) { return all_sequences(r, &Trace::kv_a); }},
    LayerOutput{"attn.kv_a_layernorm", kPosition, always, [](C c) { return by_position(c, c.shape.kv_rank); },
                [](R r) { return all_sequences(r, &Trace::kv_a_norm); }},
    LayerOutput{"attn.kv_b_proj", kPosition, always,
                [](C c) { return by_position(c, c.shape.heads * (c.shape.nope_dim + c.shape.value_dim)); },
                [](R r) { return all_sequences(r, &Trace::kv); }},
    LayerOutput{"attn_probs", kPosition, always,
                [](C c) {
                  return Shape{c.sequences, c.shape.heads, c.positions, c.positions};
                },
                [](R r) { return all_sequences(r, &Trace::probs); }},
    LayerOutput{"attn_out", kPosition, always, [](C c) { return by_position(c, c.shape.hidden); },
                [](R r) { return r.trace.attention_out; }},
    LayerOutput{"post_attention_layernorm", kPosition, always, [](C c) { return by_position(c, c.shape.hidden); },
                [](R r) { return r.trace.post_norm; }},
    LayerOutput{"router_logits", kPosition, has_experts,
                [](C c) {
                  return Shape{c.rows(), c.shape.moe.experts};
                },
                [](R r) { return r.trace.moe.logits; }},
    LayerOutput{"topk_weights", kToken, has_experts,
                [](C c) {
                  return Shape{c.rows(), c.shape.moe.top_k};
                },
                [](R r) { return r.trace.moe.weights; }},
    LayerOutput{"mlp.shared_experts", kPosition, has_shared_experts, [](C c) { return by_position(c, c.shape.hidden); },
                [](R r) { return r.trace.moe.shared; }},
    LayerOutput{"mlp", kToken, always, [](C c) { return by_position(c, c.shape.hidden); },
                [](R r) { return r.trace.moe.out; }},
    LayerOutput{"final", kToken, always, [](C c) { return by_position(c, c.shape.hidden); },
                [](R r) { return r.trace.out; }},
};

}  // namespace

std::span<const LayerOutput> layer_outputs() { return kOutputs; }

}  // namespace moediff
