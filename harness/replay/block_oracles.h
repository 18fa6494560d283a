// What a file expects of a MoE block, oracle by oracle and precision by precision, read and checked.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/replay/block.h"
#include "harness/replay/routing.h"
#include "reference/api.h"

namespace moediff {

/// What can be expected of a block. Shapes: T tokens, E experts, k top_k, H hidden.
enum class BlockOutput : std::uint8_t {
  logits,   ///< router_logits [T, E]
  scores,   ///< router_scores [T, E]: weights of the experts taken, 0 elsewhere
  ids,      ///< topk_ids [T, k]
  raw_ids,  ///< topk_ids_raw [T, k]: in the oracle's own order
  weights,  ///< topk_weights [T, k], of topk_ids
  experts,  ///< expert_out_sorted [T, k, H]: of topk_ids, not weighted
  routed,   ///< routed_out [T, H]
  shared,   ///< shared_out [T, H]
  final     ///< final [T, H]
};

/// One expected tensor, read.
struct BlockWanted {
  ExpectedTensor expected;
  std::vector<double> values;
  std::vector<std::int32_t> ids;
  Rule rule = kLegitimate;
};
/// Those of one oracle in one precision.
struct BlockOracle {
  std::string precision;
  reference::RouterConfig config;
  std::map<BlockOutput, BlockWanted> wanted;

  bool wants(BlockOutput output) const { return wanted.count(output) > 0; }
};

/// By ORACLE.PRECISION. Throws UserError with all mistakes.
std::map<std::string, BlockOracle> read_oracles(ReplayFile& file, const BlockFamily& family, const Block& block);

/// The family of a file whose kind is a block.
const BlockFamily& family_of(const ReplayFile& file);

/// The logits in double, and which rows the file calls ties. Throws UserError with all mistakes.
RouterInputs router_inputs(ReplayFile& file, const Block& block);

/// The rule for what contains routing weights: behind a softmax, by kSoftmaxPerLogit.
Rule weighted_rule(Rule rule, const std::string& precision, const reference::RouterConfig& config,
                   const std::vector<double>& logits);

}  // namespace moediff
