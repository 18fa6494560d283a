// One DeepSeek-V3 MoE layer composed of the reference's stages, from weights in a safetensors file; and the comparison
// with another implementation's arrays. Only tests need the layer as a whole: the harness compares stage by stage.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/safetensors.h"
#include "reference/api.h"

namespace moediff {

struct LayerConfig {
  std::int64_t hidden, inter, experts, top_k, n_group, topk_group, n_shared;
  bool norm_topk_prob;
  double factor;
};

/// From the keys `cfg.*` of a file's metadata.
LayerConfig config_of(const SafetensorsFile& file);
reference::RouterConfig router_config(const LayerConfig& config);

struct LayerWeights {
  reference::Matrix gate;
  std::vector<double> bias;
  std::vector<reference::Matrix> w13, w2;  ///< of each routed expert; w13 = gate rows, then up rows
  reference::Matrix shared_w13, shared_w2;
};

std::vector<double> doubles(const SafetensorsFile& file, const std::string& name, const Shape& shape);
std::vector<std::int32_t> integers(const SafetensorsFile& file, const std::string& name, const Shape& shape);
/// `prefix` ends in "mlp.".
reference::Matrix load_gate(const SafetensorsFile& file, const std::string& prefix, const LayerConfig& config);
LayerWeights load_layer(const SafetensorsFile& file, const std::string& prefix, const LayerConfig& config);

struct LayerOutput {
  std::vector<double> router_logits;
  std::vector<std::int32_t> topk_ids;  ///< [T, k], ascending in each row, as the files have them
  std::vector<double> topk_weights;    ///< [T, k], of topk_ids, times the factor
  std::vector<double> expert_out;      ///< [T, k, H], unweighted
  std::vector<double> routed_out;      ///< [T, H], scaled
};

LayerOutput run_routed(const LayerWeights& weights, const std::vector<double>& x, std::int64_t tokens,
                       const LayerConfig& config);
/// Output of the shared experts for the rows `x`, [T, H].
std::vector<double> run_shared(const LayerWeights& weights, const std::vector<double>& x, std::int64_t tokens,
                               const LayerConfig& config);
std::vector<double> sum(const std::vector<double>& a, const std::vector<double>& b);

/// Largest difference at most `tolerance` times the largest |expected|; never true of arrays that are empty or all
/// zero.
testing::AssertionResult agree(const std::vector<double>& actual, const std::vector<double>& expected,
                               double tolerance);

}  // namespace moediff
