// Whole language models: logits and hidden states of a prompt, and greedy decoding with and without a cache.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "harness/replay/decoder_weights.h"
#include "harness/replay/decoding.h"
#include "harness/replay/kinds.h"
#include "harness/replay/oracle_group.h"
#include "harness/replay/routing.h"

namespace moediff {
namespace {

constexpr std::int64_t kMaxSteps = 4096, kMaxLogits = std::int64_t{1} << 26;
constexpr double kMaxScores = 0x1p33;  // of attention, in all steps and layers

enum class ModelOutput : std::uint8_t { logits, hidden, tokens, cached_tokens, greedy_logits, margin };
struct ModelOutputRow {
  ModelOutput output;
  std::string_view name;
  bool by_step;  ///< [steps, ...], otherwise [T, ...]
};
/// "hidden_states." is followed by a number.
constexpr std::array<ModelOutputRow, 6> kOutputs{{{ModelOutput::logits, "logits", false},
                                                  {ModelOutput::hidden, "hidden_states.", false},
                                                  {ModelOutput::tokens, "greedy_tokens", true},
                                                  {ModelOutput::cached_tokens, "kv_cache_tokens", true},
                                                  {ModelOutput::greedy_logits, "greedy_logits", true},
                                                  {ModelOutput::margin, "greedy_margin", true}}};
/// The oracle's own measure of how much caching changes its logits: information.
constexpr std::string_view kInformation = "kv_cache_maxdiff";

struct ModelCase {
  DecoderShape shape;
  reference::LanguageModel model;
  std::vector<std::int32_t> prompt;
  std::int64_t steps = 0;

  std::int64_t tokens() const { return static_cast<std::int64_t>(prompt.size()); }
};

/// An output, and of hidden states the layer.
struct Named {
  ModelOutputRow row;
  std::int64_t layer = 0;
  bool cached = false;  ///< of one form of attention: DeepSeek's code, which decodes with its cache
};

/// The number that `text` is; -1 where it is none.
std::int64_t whole_number(std::string_view text) {
  std::int64_t value = -1;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc() && end == text.data() + text.size() ? value : -1;
}

std::optional<Named> find_output(std::string_view full_name, const DecoderShape& shape) {
  const std::string_view name = without_form(full_name);
  for (const ModelOutputRow& row : kOutputs) {
    Named named{row, 0, name != full_name};
    if (row.output != ModelOutput::hidden && name == row.name) return named;
    if (row.output != ModelOutput::hidden || name.substr(0, row.name.size()) != row.name) continue;
    named.layer = whole_number(name.substr(row.name.size()));
    if (named.layer >= 0 && named.layer <= shape.layers) return named;
  }
  return std::nullopt;
}

struct WantedOutput {
  Named named;
  Wanted wanted;
};

WantedOutput read_wanted(ReplayFile& file, const ExpectedTensor& expected, const ModelCase& c) {
  const Named named = *find_output(expected.name, c.shape);
  switch (named.row.output) {
    case ModelOutput::tokens:
    case ModelOutput::cached_tokens:
      return {named, wanted_integers(file, expected, {c.steps}, c.shape.vocabulary - 1)};
    case ModelOutput::margin:
      return {named, wanted_values(file, expected, {c.steps})};
    case ModelOutput::greedy_logits:
      return {named, wanted_values(file, expected, {c.steps, c.shape.vocabulary})};
    case ModelOutput::logits:
      return {named, wanted_values(file, expected, {c.tokens(), c.shape.vocabulary})};
    case ModelOutput::hidden:
      break;
  }
  return {named, wanted_values(file, expected, {c.tokens(), c.shape.hidden})};
}

/// Tokens to generate: as many as the expected tensors have; they are read with one number, so that others show.
std::int64_t read_steps(ReplayFile& file, const DecoderShape& shape) {
  for (const ExpectedTensor& expected : expected_tensors(file, {"in.", "diag."})) {
    const std::optional<Named> named = find_output(expected.name, shape);
    if (!named || !named->row.by_step || !has_rule(file.kind(), expected)) continue;
    const std::int64_t steps = file.shape(expected.tensor, named->row.output == ModelOutput::greedy_logits ? 2 : 1)[0];
    if (steps <= kMaxSteps) return steps;
    file.mistakes().add(std::to_string(steps), "at most 4096 tokens can be generated", "replay a smaller case");
  }
  return 0;
}

/// Decoding without a cache attends to everything again for every token.
void limit_decoding(ReplayFile& file, const DecoderShape& shape, std::int64_t positions, std::int64_t steps) {
  const double scores = static_cast<double>(positions) * static_cast<double>(positions * shape.heads * shape.layers);
  if (scores * static_cast<double>(steps) <= kMaxScores) return;
  file.mistakes().add(std::to_string(steps) + " tokens", "generation must be of a size that can be replayed",
                      "generate fewer tokens");
}

ModelCase load_case(ReplayFile& file, DecoderFamily family) {
  ModelCase c;
  c.shape = read_decoder_shape(file, family, true);
  const Shape ids = file.shape("in.input_ids", 2);
  c.steps = read_steps(file, c.shape);
  limit_attention(file, c.shape, 1, ids[1] + c.steps);
  limit_decoding(file, c.shape, ids[1] + c.steps, c.steps);
  if ((ids[1] + c.steps) * c.shape.vocabulary > kMaxLogits) {
    file.mistakes().add(to_string(Shape{ids[1] + c.steps, c.shape.vocabulary}),
                        "the logits must be of a size that can be replayed", "use fewer tokens");
  }
  file.throw_if_mistaken();
  c.prompt = file.integers("in.input_ids", {1, ids[1]}, 0, c.shape.vocabulary - 1);
  c.model = load_model(file, c.shape);
  return c;
}

/// Logits after each position that the oracle states: of the prompt, then of the generated tokens.
StatedLogits stated_logits(const std::vector<WantedOutput>& all, const ModelCase& c) {
  StatedLogits stated;
  stated.rows.resize(static_cast<std::size_t>(std::max<std::int64_t>(0, c.tokens() + c.steps - 1)));
  const auto width = static_cast<std::size_t>(c.shape.vocabulary);
  for (const WantedOutput& one : all) {
    const bool greedy = one.named.row.output == ModelOutput::greedy_logits;
    if (!greedy && one.named.row.output != ModelOutput::logits) continue;
    std::size_t position = greedy ? c.prompt.size() - 1 : 0;
    for (std::size_t begin = 0; begin < one.wanted.values.size(); begin += width, ++position) {
      stated.rows[position] = std::span(one.wanted.values).subspan(begin, width);
    }
  }
  return stated;
}

/// Distance from the largest logit to the next.
std::vector<double> margins(const reference::Generation& generation, std::int64_t vocabulary) {
  std::vector<double> out;
  for (std::size_t step = 0; step < generation.tokens.size(); ++step) {
    const auto begin = generation.logits.begin() + static_cast<std::ptrdiff_t>(step) * vocabulary;
    std::vector<double> sorted(begin, begin + vocabulary);
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    out.push_back(sorted.front() - sorted[std::min<std::size_t>(1, sorted.size() - 1)]);
  }
  return out;
}

Check compare_tokens(const Wanted& wanted, const std::vector<std::int32_t>& tokens) {
  const std::vector<double> expected(wanted.integers.begin(), wanted.integers.end());
  return compare_exactly(wanted.expected, expected, std::vector<double>(tokens.begin(), tokens.end()));
}

std::vector<double> values_of(const Named& named, const Decoded& decoded, const ModelCase& c) {
  switch (named.row.output) {
    case ModelOutput::logits:
      return decoded.prompt.logits;
    case ModelOutput::greedy_logits:
      return named.cached ? decoded.cached.logits : decoded.whole.logits;
    case ModelOutput::margin:
      return margins(decoded.whole, c.shape.vocabulary);
    default:
      break;
  }
  // Hugging Face gives the last layer's output after the final norm.
  return named.layer == c.shape.layers ? decoded.prompt.normed
                                       : decoded.prompt.hidden[static_cast<std::size_t>(named.layer)];
}

Check compare(const WantedOutput& one, const Decoded& decoded, const ModelCase& c) {
  if (one.named.row.output == ModelOutput::tokens) return compare_tokens(one.wanted, decoded.whole.tokens);
  if (one.named.row.output == ModelOutput::cached_tokens) return compare_tokens(one.wanted, decoded.cached.tokens);
  const std::vector<double> values = values_of(one.named, decoded, c);
  const std::string note =
      decoded.ties == 0 ? "" : std::to_string(decoded.ties) + " choices of experts are ties, taken as the logits say";
  return compare_values(one.wanted.expected, one.wanted.values,
                        {values, one.named.row.by_step ? c.steps : c.tokens(), {}, note}, one.wanted.rule);
}

void read_information(ReplayFile& file) {
  for (const ExpectedTensor& expected : expected_tensors(file, {"in.", "diag."})) {
    if (expected.name == kInformation) file.reals(expected.tensor, {1});
  }
}

std::vector<Check> replay_model(ReplayFile& file, DecoderFamily family) {
  ModelCase c = load_case(file, family);
  read_information(file);
  const std::vector<OracleGroup> groups =
      oracle_groups(file, family_policy(family),
                    [&](const ExpectedTensor& expected) { return find_output(expected.name, c.shape).has_value(); });
  std::vector<std::vector<WantedOutput>> wanted;
  for (const OracleGroup& group : groups) {
    wanted.emplace_back();
    for (const ExpectedTensor& expected : group.expected) wanted.back().push_back(read_wanted(file, expected, c));
  }
  file.throw_if_mistaken();
  std::vector<Check> checks;
  if (c.prompt.empty()) return checks;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (reference::DecoderLayer& layer : c.model.layers) adopt(layer, groups[i].policy);
    const Decoded decoded =
        decode(c.model, c.prompt, c.steps, stated_logits(wanted[i], c), tie_tolerance(groups[i].precision));
    for (const WantedOutput& one : wanted[i]) checks.push_back(compare(one, decoded, c));
  }
  return checks;
}

}  // namespace

std::vector<Check> replay_dsv3_lm(ReplayFile& file) { return replay_model(file, DecoderFamily::deepseek_v3); }
std::vector<Check> replay_qwen3_lm(ReplayFile& file) { return replay_model(file, DecoderFamily::qwen3_moe); }

}  // namespace moediff
