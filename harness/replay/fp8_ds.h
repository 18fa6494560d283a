// DeepSeek's MoE block with fp8 weights, as a file has it: three ways to compute, each expected in several precisions.
#pragma once

#include <string>
#include <vector>

#include "harness/replay/fp8_block.h"
#include "harness/replay/policy.h"
#include "harness/replay/routing.h"

namespace moediff {

/// The ways DeepSeek's code computes with fp8 weights, by the end of the oracle's name. In its ue8m0 runs only the
/// routed experts' activations get power-of-two scales.
struct Fp8Variant {
  std::string_view name;
  bool quantised;
  ScaleKind routed_scales;
};
inline constexpr std::array<Fp8Variant, 3> kFp8Variants{
    {{"w8a8", true, ScaleKind::fp32}, {"w8a8_ue8m0", true, ScaleKind::ue8m0}, {"w8a16", false, ScaleKind::fp32}}};

/// One expected tensor, `final` or `shared_out`.
struct VariantWanted {
  ExpectedTensor expected;
  const Fp8Variant* variant;
  OraclePolicy policy;
  Rule rule;
  std::vector<double> values;
};

struct RoutedWanted {
  std::vector<std::int32_t> ids;  ///< [T, k], empty when not expected
  std::vector<double> weights;
  Rule rule = kLegitimate;  ///< of weights
  std::vector<VariantWanted> outputs;
  RouterPolicy router;  ///< of DeepSeek's code
};

/// Reads what is expected; throws UserError with all mistakes.
RoutedWanted read_routed(ReplayFile& file, const QuantisedBlock& block);

reference::RouterConfig router_config(const QuantisedBlock& block, const RouterPolicy& policy);
/// Logits in double, of gate and hidden states rounded to `model`.
RouterInputs router_inputs(const QuantisedBlock& block, DType model);

}  // namespace moediff
