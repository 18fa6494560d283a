// DeepSeek-V3 decoder layers: input [sequences, T, H] at positions position_ids_start and up, every intermediate.
#include <algorithm>
#include <array>

#include "harness/replay/decoder_weights.h"
#include "harness/replay/kinds.h"
#include "harness/replay/layer_outputs.h"
#include "harness/replay/oracle_group.h"

namespace moediff {
namespace {

constexpr std::array<std::string_view, 2> kIds{"topk_ids", "topk_ids_raw"};

const LayerOutput* find_output(const ExpectedTensor& expected, const LayerCase& c) {
  const std::string_view name = without_form(expected.name);
  for (const LayerOutput& output : layer_outputs()) {
    if (output.name == name) return output.exists(c) ? &output : nullptr;
  }
  return nullptr;
}

bool is_ids(const ExpectedTensor& expected, const LayerCase& c) {
  return std::find(kIds.begin(), kIds.end(), expected.name) != kIds.end() && c.shape.has_moe(c.layer.index);
}

LayerCase load_case(ReplayFile& file) {
  LayerCase c;
  c.shape = read_decoder_shape(file, DecoderFamily::deepseek_v3, false);
  const std::int64_t index = metadata_integer(file, "layer_idx", 0, 255, c.shape.first_moe_layer);
  c.first = metadata_integer(file, "position_ids_start", 0, 1 << 24, 0);
  const Shape input = file.shape("in.hidden_states", 3);
  c.sequences = input[0], c.positions = input[1];
  limit_attention(file, c.shape, c.sequences, c.positions);
  file.throw_if_mistaken();
  c.x = file.reals("in.hidden_states", {c.sequences, c.positions, c.shape.hidden});
  c.layer = load_layer(file, c.shape, "", index);
  if (file.has("diag.tie_rows")) {
    for (const std::int32_t tie : file.integers("diag.tie_rows", {c.rows()}, 0, 1)) c.stated_ties.push_back(tie != 0);
  }
  return c;
}

/// The tensors of one oracle in one precision.
struct GroupWanted {
  std::vector<Wanted> ids;
  std::vector<std::pair<const LayerOutput*, Wanted>> outputs;
};

GroupWanted read_wanted(ReplayFile& file, const OracleGroup& group, const LayerCase& c) {
  GroupWanted wanted;
  const Shape ids{c.rows(), c.shape.moe.top_k};
  for (const ExpectedTensor& expected : group.expected) {
    if (is_ids(expected, c)) {
      wanted.ids.push_back(wanted_integers(file, expected, ids, c.shape.moe.experts - 1));
    } else {
      const LayerOutput* const output = find_output(expected, c);
      wanted.outputs.emplace_back(output, wanted_values(file, expected, output->shape(c)));
    }
  }
  return wanted;
}

LayerRun run_layer(const LayerCase& c, const OracleGroup& group, const GroupWanted& wanted,
                   std::vector<Check>& checks) {
  reference::DecoderLayer layer = c.layer;
  adopt(layer, group.policy);
  LayerRun run{c, std::get<reference::MlaAttention>(layer.attention).rope, {}, {}};
  const auto choose = [&](const reference::ExpertQuestion& question) {
    const RouterInputs inputs{question.logits, question.moe.bias, c.rows(), c.stated_ties};
    const auto route = [&](const ExpectedTensor& expected, std::span<const std::int32_t> ids) {
      return route_as(inputs, question.moe.router, expected, ids);
    };
    run.router = route({"", group.oracle, group.precision, ""}, {});
    for (std::size_t i = wanted.ids.size(); i-- > 0;) {  // topk_ids, to which the weights belong, comes last
      run.router = route(wanted.ids[i].expected, wanted.ids[i].integers);
      checks.push_back(*run.router.check);
    }
    return run.router.ids;
  };
  std::vector<reference::KvCache> caches(static_cast<std::size_t>(c.sequences));
  run.trace = reference::decoder_layer(layer, c.x, c.rows(), c.first, caches, choose);
  return run;
}

Check compare(const LayerRun& run, const LayerOutput& output, const Wanted& wanted) {
  const std::vector<double> values = output.values(run);
  if (output.of != OutputClass::per_token || run.router.decided.empty()) {
    return compare_values(wanted.expected, wanted.values,
                          {values, output.of == OutputClass::constant ? 1 : run.layer_case.rows()}, wanted.rule);
  }
  const auto left_out = std::count(run.router.decided.begin(), run.router.decided.end(), false);
  const std::string note =
      left_out == 0 ? "" : std::to_string(left_out) + " rows left out: another choice of experts is as right";
  return compare_values(wanted.expected, wanted.values, {values, run.layer_case.rows(), run.router.decided, note},
                        wanted.rule);
}

}  // namespace

std::vector<Check> replay_decoder_layer(ReplayFile& file) {
  const LayerCase c = load_case(file);
  const std::vector<OracleGroup> groups =
      oracle_groups(file, family_policy(c.shape.family),
                    [&](const ExpectedTensor& expected) { return is_ids(expected, c) || find_output(expected, c); });
  std::vector<GroupWanted> wanted;
  for (const OracleGroup& group : groups) wanted.push_back(read_wanted(file, group, c));
  file.throw_if_mistaken();
  std::vector<Check> checks;
  if (c.rows() == 0) return checks;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const LayerRun run = run_layer(c, groups[i], wanted[i], checks);
    for (const auto& [output, values] : wanted[i].outputs) checks.push_back(compare(run, *output, values));
  }
  return checks;
}

}  // namespace moediff
