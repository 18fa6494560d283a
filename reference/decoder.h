// Whole decoders out of the stages: feed-forward blocks (dense or mixture of experts), the decoder layer, the causal
// language model with greedy decoding, and DeepSeek-V3's multi-token-prediction (MTP) module. Everything in double;
// weights are [out, in]. Rows are the tokens of one sequence unless said otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <variant>
#include <vector>

#include "reference/api.h"
#include "reference/attention.h"

namespace moediff::reference {

/// down(f(gate x) * up x).
struct Mlp {
  Matrix gate_up;  ///< [2 inter, hidden]: gate rows, then up rows
  Matrix down;     ///< [hidden, inter]
  ActivationKind activation = ActivationKind::silu;
};
/// [rows, hidden].
std::vector<double> mlp(const Mlp& weights, std::span<const double> x, std::int64_t rows);

/// Routed experts, and a shared one beside them that every token passes.
struct Moe {
  RouterConfig router;                ///< its factor is multiplied into the weights
  Matrix gate;                        ///< [experts, hidden]
  std::vector<double> bias;           ///< [experts], or empty
  std::vector<Matrix> gate_up, down;  ///< of each expert, as Mlp
  ActivationKind activation = ActivationKind::silu;
  std::vector<Mlp> shared;  ///< none or one
};

/// The choice of experts, asked for once a layer and call: logits [rows, experts] of tokens at positions first_position
/// and up. Returns ids [rows, top_k]. Without a function the reference's own ids are taken.
struct ExpertQuestion {
  std::int64_t layer, first_position;
  const Moe& moe;
  const std::vector<double>& logits;
  const Routing& routing;
};
using ChooseExperts = std::function<std::vector<std::int32_t>(const ExpertQuestion&)>;

struct MoeTrace {
  std::vector<double> logits;     ///< [rows, experts]
  std::vector<std::int32_t> ids;  ///< [rows, top_k]
  std::vector<double> weights;    ///< [rows, top_k], of ids
  std::vector<double> routed;     ///< [rows, hidden]
  std::vector<double> shared;     ///< [rows, hidden], empty without shared expert
  std::vector<double> out;        ///< the sum of both
};
MoeTrace moe(const Moe& weights, std::span<const double> x, std::int64_t rows, std::int64_t layer = 0,
             std::int64_t first_position = 0, const ChooseExperts& choose = {});

/// h = x + attention(norm(x)); out = h + block(norm(h)).
struct DecoderLayer {
  std::int64_t index = 0;  ///< for ChooseExperts
  std::vector<double> input_norm, post_norm;
  double epsilon = 1e-6;
  Attention attention;
  std::variant<Mlp, Moe> block;
};
struct LayerTrace {
  std::vector<double> input_norm;         ///< [rows, hidden]
  std::vector<AttentionTrace> attention;  ///< one a sequence
  std::vector<double> attention_out;      ///< of all sequences [rows, hidden]
  std::vector<double> post_norm;          ///< [rows, hidden]
  MoeTrace moe;                           ///< `out` also of a dense block
  std::vector<double> out;                ///< [rows, hidden]
};
/// `x` [rows, hidden] are the next tokens of one sequence a cache, equally many of each, at positions first and up.
LayerTrace decoder_layer(const DecoderLayer& layer, std::span<const double> x, std::int64_t rows, std::int64_t first,
                         std::span<KvCache> caches, const ChooseExperts& choose = {});

struct LanguageModel {
  std::vector<double> embedding;  ///< [vocabulary, hidden]
  std::vector<DecoderLayer> layers;
  std::vector<double> final_norm;  ///< [hidden]
  double epsilon = 1e-6;
  Matrix head;  ///< [vocabulary, hidden]
};
/// What a model has seen of a sequence: a cache a layer. Fresh: an empty one.
struct ModelState {
  std::vector<KvCache> caches;
  std::int64_t length = 0;
};
struct ModelTrace {
  std::vector<std::vector<double>> hidden;  ///< embedding, then the output of each layer [layers + 1][rows, hidden]
  std::vector<double> normed;               ///< the last of these after the final norm
  std::vector<double> logits;               ///< [rows, vocabulary]
};
/// The next tokens of a sequence.
ModelTrace forward(const LanguageModel& model, std::span<const std::int32_t> tokens, ModelState& state,
                   const ChooseExperts& choose = {});

/// The largest, the lowest index on ties.
std::int32_t argmax(std::span<const double> values);

struct Generation {
  std::vector<std::int32_t> tokens;
  std::vector<double> logits;  ///< that each token was chosen from [steps, vocabulary]
};
/// `steps` tokens after the prompt, each the most probable. Cached: every token passes the model once; otherwise the
/// whole sequence does, for each new token.
enum class Decoding : std::uint8_t { whole, cached };
Generation decode_greedily(const LanguageModel& model, std::span<const std::int32_t> prompt, std::int64_t steps,
                           Decoding decoding, const ChooseExperts& choose = {});

/// DeepSeek-V3 report, section 2.2, with vLLM's reading of the concatenation (deepseek_mtp.py): input = W [norm(e);
/// norm(h)] of the next token's embedding e and the target model's hidden state h; a decoder layer; a head of its own.
struct MtpModule {
  std::vector<double> embedding;                    ///< [vocabulary, hidden]
  std::vector<double> embedding_norm, hidden_norm;  ///< [hidden]
  Matrix projection;                                ///< [hidden, 2 hidden]: columns of e, then of h
  DecoderLayer layer;
  std::vector<double> head_norm;  ///< [hidden]
  Matrix head;                    ///< [vocabulary, hidden]
  double epsilon = 1e-6;
  bool mask_first = true;  ///< the embedding counts as 0 at position 0 (vLLM; SGLang does not)
};
struct MtpTrace {
  std::vector<double> input;   ///< [rows, hidden]
  std::vector<double> hidden;  ///< after the layer, before the norm
  std::vector<double> normed;
  std::vector<double> logits;  ///< [rows, vocabulary]
};
/// `tokens` are the already shifted ones; `hidden` [rows, hidden] those of the target model; positions first and up.
MtpTrace mtp(const MtpModule& module, std::span<const std::int32_t> tokens, std::span<const double> hidden,
             std::int64_t first, KvCache& cache, const ChooseExperts& choose = {});

}  // namespace moediff::reference
