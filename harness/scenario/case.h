// A case: one fully specified experiment, every default filled in.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/dtype.h"
#include "harness/core/error.h"
#include "harness/model/expert_policy.h"
#include "harness/model/moe_shape.h"
#include "harness/model/quant.h"
#include "harness/model/router_policy.h"
#include "harness/model/verdict_words.h"
#include "harness/scenario/schedule.h"

namespace moediff {

enum class StreamMode : std::uint8_t { none, aux, fused };
inline constexpr std::array<std::string_view, 3> kStreamModeNames{"none", "aux", "fused"};
constexpr std::string_view to_string(StreamMode mode) { return kStreamModeNames[static_cast<std::size_t>(mode)]; }
enum class IssueOrder : std::uint8_t { shared_first, routed_first };
inline constexpr std::array<std::string_view, 2> kIssueOrderNames{"shared_first", "routed_first"};
constexpr std::string_view to_string(IssueOrder order) { return kIssueOrderNames[static_cast<std::size_t>(order)]; }

/// floating: the case's dtype. field: integers modulo 2^61 - 1 (algebra mode): every stage but the router exactly, with
/// fixed polynomials for what is no polynomial, so that programs equal in exact arithmetic agree bit for bit.
enum class Arithmetic : std::uint8_t { floating, field };
inline constexpr std::array<std::string_view, 2> kArithmeticNames{"floating", "field"};

/// A change of the batch under which the same tokens must give the same results: relations compare a group's
/// variations.
enum class Variation : std::uint8_t {
  none,
  permuted,       ///< the tokens in another order
  split,          ///< the first half of the tokens (rounded up) alone
  padded_zero,    ///< kPaddingRows further rows of zeros
  padded_large,   ///< … of 1e4
  padded_nan,     ///< … of NaN
  shifted,        ///< the same vector added to every expert's gate row: softmax scores stay
  poisoned_idle,  ///< NaN in the weights of the experts that input.idle_experts keeps idle
};
inline constexpr std::array<std::string_view, 8> kVariationNames{
    "none", "permuted", "split", "padded_zero", "padded_large", "padded_nan", "shifted", "poisoned_idle"};
constexpr std::string_view to_string(Variation variation) {
  return kVariationNames[static_cast<std::size_t>(variation)];
}
inline constexpr std::int64_t kPaddingRows = 3;

/// How generated activations and weights are spread.
enum class Distribution : std::uint8_t {
  normal,        ///< magnitudes of trained layers
  integers,      ///< small integers and power-of-two scales: linear stages are exact
  heavy_tailed,  ///< a few elements far out
  cancelling,    ///< products that nearly cancel in pairs
  near_tie,      ///< gate rows that differ by a few units of the last place
  subnormal,     ///< activations inside the experts below the smallest normal number
  huge_range,    ///< magnitudes over many powers of two
};
inline constexpr std::array<std::string_view, 7> kDistributionNames{
    "normal", "integers", "heavy_tailed", "cancelling", "near_tie", "subnormal", "huge_range"};
constexpr std::string_view to_string(Distribution distribution) {
  return kDistributionNames[static_cast<std::size_t>(distribution)];
}

/// Where a group's inputs come from.
struct InputSource {
  enum class Kind : std::uint8_t { generated, capture } kind = Kind::generated;
  // generated
  Distribution distribution = Distribution::normal;
  double bias_scale = 0.1;        ///< spread of e_score_correction_bias
  std::int64_t idle_experts = 0;  ///< the last ones, which no token chooses
  // capture: activations and expected values of a real run, weights from a checkpoint
  std::string capture, checkpoint;  ///< paths, resolved against the folder of the file that names them
  std::string hidden_states;        ///< tensor name in the capture
  std::string weights_prefix;       ///< "model.layers.1.mlp."
  std::string expected_prefix;      ///< "layers.1.expected."; "" = the capture holds no expected values
  std::optional<int> layer;
  Place place;                                      ///< of the `input` key, for errors found when the files are opened
  bool operator==(const InputSource& other) const;  ///< `place` does not count
};

/// What the scenario says must come out. Cause and blame are compared only where given.
struct Expectation {
  Status status = Status::pass;
  std::optional<Cause> cause;
  std::string blame_op, blame_value, blame_buffer, blame_writer;  ///< "" = not stated
  bool operator==(const Expectation&) const = default;
};

struct Case {
  std::string id;        ///< "streams/inplace/none-routed_first-inplace-bf16-t5": stable, unique, readable
  std::string scenario;  ///< path of the file as the user gave it
  std::string title;     ///< the scenario's title, one line
  MoeShape shape;
  InputSource input;
  std::uint64_t seed = 0;
  DType dtype = DType::bf16;  ///< model dtype: f32, bf16 or f16
  Arithmetic arithmetic = Arithmetic::floating;
  RouterPolicy router;
  ExpertPolicy expert;
  QuantSpec quant;
  std::int64_t tokens = 0;
  Variation variation = Variation::none;
  StreamMode stream = StreamMode::none;
  StreamMode effective_stream =
      StreamMode::none;  ///< aux falls back to none above `aux_threshold` rows or when chunked
  IssueOrder order = IssueOrder::routed_first;
  bool in_place = false;
  std::int64_t chunk = 0;            ///< tokens a chunk; 0: not chunked
  std::int64_t aux_threshold = 256;  ///< VLLM_SHARED_EXPERTS_STREAM_TOKEN_THRESHOLD
  int split_k = 1;
  bool residual = false;  ///< adds residual_add(moe_out, hidden_states) after the layer
  Schedule schedule;
  std::string fault;      ///< row of the fault table, "" = none
  std::string drop_wait;  ///< fault drop_wait: the wait to remove
  std::string provider = "builtin";
  double timeout_seconds = 60;
  Expectation expect;
  std::optional<std::string> skip_reason;  ///< combination means nothing
  /// Every axis of the scenario with its value, then effective_stream and n_shared: for reports. Canonical YAML has
  /// none of them, so they are provenance, not part of what a case is.
  std::vector<std::pair<std::string, std::string>> axes;
};

/// Rows of the batch as the ops see it: `tokens` changed by the variation.
std::int64_t batch_rows(const Case& spec);

}  // namespace moediff
