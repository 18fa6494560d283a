// MTP modules: their input, hidden states and logits, at positions 0 and up or (names that begin with "pos1.") later.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>

#include "harness/replay/decoder_weights.h"
#include "harness/replay/kinds.h"
#include "harness/replay/oracle_group.h"
#include "harness/replay/routing.h"

namespace moediff {
namespace {

struct MtpOutput {
  std::string_view name;
  std::vector<double> reference::MtpTrace::*values;
  bool logits;         ///< [T, vocabulary], otherwise [T, hidden]
  bool after_experts;  ///< follows from the choice of experts
};
constexpr std::array<MtpOutput, 4> kOutputs{{{"mtp_in", &reference::MtpTrace::input, false, false},
                                             {"mtp_hidden", &reference::MtpTrace::hidden, false, true},
                                             {"mtp_hidden_normed", &reference::MtpTrace::normed, false, true},
                                             {"logits", &reference::MtpTrace::logits, true, true}}};

/// An output at positions first and up.
struct Named {
  const MtpOutput* output;
  std::int64_t first = 0;
};

std::optional<Named> find_output(std::string_view name) {
  std::int64_t first = 0;
  if (name.substr(0, 3) == "pos") {
    const auto [end, problem] = std::from_chars(name.data() + 3, name.data() + name.size(), first);
    if (problem != std::errc() || end == name.data() + name.size() || *end != '.') return std::nullopt;
    if (first < 0 || first > 1 << 24) return std::nullopt;
    name.remove_prefix(static_cast<std::size_t>(end - name.data()) + 1);
  }
  for (const MtpOutput& output : kOutputs) {
    if (output.name == name) return Named{&output, first};
  }
  return std::nullopt;
}

struct MtpCase {
  DecoderShape shape;
  reference::MtpModule module;
  std::vector<std::int32_t> tokens;
  std::vector<double> hidden;
  std::int64_t rows() const { return static_cast<std::int64_t>(tokens.size()); }
};

MtpCase load_case(ReplayFile& file) {
  MtpCase c;
  c.shape = read_decoder_shape(file, DecoderFamily::deepseek_v3, true);
  const Shape ids = file.shape("in.input_ids", 2);
  limit_attention(file, c.shape, 1, ids[1]);
  file.throw_if_mistaken();
  c.tokens = file.integers("in.input_ids", {1, ids[1]}, 0, c.shape.vocabulary - 1);
  c.hidden = file.reals("in.previous_hidden_states", {1, ids[1], c.shape.hidden});
  c.module = load_mtp(file, c.shape);
  return c;
}

/// The module at one position, with the rows in which the choice of experts is no tie.
struct MtpRun {
  reference::MtpTrace trace;
  Rows decided;
};

MtpRun run(const MtpCase& c, std::int64_t first, const OracleGroup& group) {
  MtpRun out;
  const auto choose = [&](const reference::ExpertQuestion& question) {
    const RouterInputs inputs{question.logits, question.moe.bias, c.rows(), {}};
    out.decided = route_as(inputs, question.moe.router, {"", group.oracle, group.precision, ""}, {}).decided;
    return question.routing.ids;
  };
  reference::KvCache cache;
  out.trace = reference::mtp(c.module, c.tokens, c.hidden, first, cache, choose);
  return out;
}

Check compare(const Wanted& wanted, const MtpOutput& output, const MtpRun& run, std::int64_t rows) {
  if (!output.after_experts || run.decided.empty()) {
    return compare_values(wanted.expected, wanted.values, {run.trace.*output.values, rows}, wanted.rule);
  }
  const auto left_out = std::count(run.decided.begin(), run.decided.end(), false);
  const std::string note =
      left_out == 0 ? "" : std::to_string(left_out) + " rows left out: another choice of experts is as right";
  return compare_values(wanted.expected, wanted.values, {run.trace.*output.values, rows, run.decided, note},
                        wanted.rule);
}

}  // namespace

std::vector<Check> replay_dsv3_mtp(ReplayFile& file) {
  MtpCase c = load_case(file);
  const std::vector<OracleGroup> groups =
      oracle_groups(file, family_policy(c.shape.family),
                    [](const ExpectedTensor& expected) { return find_output(expected.name).has_value(); });
  std::vector<std::vector<Wanted>> wanted;
  for (const OracleGroup& group : groups) {
    wanted.emplace_back();
    for (const ExpectedTensor& expected : group.expected) {
      const bool logits = find_output(expected.name)->output->logits;
      wanted.back().push_back(wanted_values(file, expected, {c.rows(), logits ? c.shape.vocabulary : c.shape.hidden}));
    }
  }
  file.throw_if_mistaken();
  std::vector<Check> checks;
  if (c.tokens.empty()) return checks;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    adopt(c.module.layer, groups[i].policy);
    c.module.mask_first = groups[i].policy.mtp_mask_first;
    std::map<std::int64_t, MtpRun> runs;  // by first position
    for (const Wanted& one : wanted[i]) {
      const Named named = *find_output(one.expected.name);
      if (runs.count(named.first) == 0) runs[named.first] = run(c, named.first, groups[i]);
      checks.push_back(compare(one, *named.output, runs.at(named.first), c.rows()));
    }
  }
  return checks;
}

}  // namespace moediff
