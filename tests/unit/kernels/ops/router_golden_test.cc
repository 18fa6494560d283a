// Gates whose choice other people's code computed (tests/golden/data/README.md): in fp32 the kernel must choose the
// same experts in every row that has no tie, with their weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/kernels/ops/naive_router.h"
#include "tests/unit/reference/golden_file.h"

namespace moediff::test {
namespace {

using reference::GoldenFile;

struct Gate {
  const char* file;
  const char* oracle;       ///< whose tensors are expected
  void (*set)(md_params&);  ///< the oracle's policy
  std::int64_t decided;     ///< rows that are compared: those without a tie
};

void deepseek_v3(md_params&) {}
void hugging_face(md_params& p) { p.mask = MD_MASK_ZERO, p.norm_epsilon = 1e-20f; }
void deepseek_v2(md_params& p) { p.scoring = MD_SCORING_SOFTMAX, p.group_score = MD_GROUP_MAX; }
void softmax(md_params& p) { p.scoring = MD_SCORING_SOFTMAX; }

constexpr Gate kGates[] = {
    {"dsv3_gate_19_v3_real_shape", "hf.f64", hugging_face, 33},
    {"dsv3_gate_19_v3_real_shape", "ds.f64", deepseek_v3, 33},
    {"dsv3_gate_21_v3_shape_ties", "ds.f64", deepseek_v3, 3},
    {"dsv3_moe_06_large_bias", "vllm.f64", deepseek_v3, 12},
    {"dsv3_moe_07_neg_bias_mask", "ds.f64", deepseek_v3, 10},
    {"dsv3_moe_10_kimi_like", "ds.f64", deepseek_v3, 12},
    {"dsv3_moe_11_saturated_sigmoid", "hf.f64", hugging_face, 3},
    {"dsv3_moe_14_nonorm_scale_t33", "vllm.f64", deepseek_v3, 33},
    {"dsv2_gate_01_g8k6", "hf.f64", deepseek_v2, 17},
    {"dsv2_gate_02_greedy", "hf.f64", deepseek_v2, 9},
    {"qwen3_moe_03_nonorm", "hf.f64", softmax, 13},
    {"mixtral_moe_01", "hf.f64", softmax, 11},
};

class RouterGolden : public ::testing::TestWithParam<Gate> {};
INSTANTIATE_TEST_SUITE_P(Gates, RouterGolden, ::testing::ValuesIn(kGates));

/// The gate of a file, which blocks name by their place in the model.
std::string gate_of(const GoldenFile& file) {
  for (const char* prefix : {"mlp.gate", "block_sparse_moe.gate", "feed_forward.router"}) {
    if (file.contains(std::string(prefix) + ".weight")) return prefix;
  }
  ADD_FAILURE() << "no gate";
  return "";
}

Array array_of(const GoldenFile& file, const std::string& tensor) { return {file.shape(tensor), file.doubles(tensor)}; }

md_params params_of(const GoldenFile& file) {
  const std::int64_t top_k = file.number("num_experts_per_tok", 0);
  const auto factor = std::stof(file.text("routed_scaling_factor", "1"));
  md_params params =
      routing(static_cast<int>(top_k), static_cast<int>(file.number("n_group", 1)),
              static_cast<int>(file.number("topk_group", 1)), file.text("norm_topk_prob", "true") == "true", factor);
  return params;
}

Routed run_gate(Device& device, const GoldenFile& file, const md_params& params) {
  const std::string gate = gate_of(file), bias = gate + ".e_score_correction_bias";
  const Array x = array_of(file, "in.hidden_states"), weight = array_of(file, gate + ".weight");
  const md_tensor logits = device.blank({x.shape[0], weight.shape[0]}, MD_F32),
                  ids = device.blank({x.shape[0], params.top_k}, MD_I32),
                  weights = device.blank({x.shape[0], params.top_k}, MD_F32);
  device.run(MD_OP_ROUTER,
             {device.upload(x, MD_F32), device.upload(weight, MD_F32),
              file.contains(bias) ? device.upload(array_of(file, bias), MD_F32) : absent(), logits, ids, weights},
             params);
  return {device.read(logits), device.read(ids), device.read(weights)};
}

/// (id, weight) of a row by ascending id, as the files have them.
std::vector<std::pair<double, double>> row_of(const Routed& routed, std::int64_t t) {
  std::vector<std::pair<double, double>> row;
  const auto k = routed.ids.columns();
  for (auto i = static_cast<std::size_t>(t * k); i < static_cast<std::size_t>((t + 1) * k); ++i) {
    row.emplace_back(routed.ids.values[i], routed.weights.values[i]);
  }
  std::sort(row.begin(), row.end());
  return row;
}

/// 4e-6 is what the files' index expects of an f32 implementation.
std::int64_t expect_rows_without_ties(const GoldenFile& file, const Routed& actual, const std::string& oracle,
                                      bool hugging_face_differs) {
  const Array ties = {file.shape("diag.tie_rows"), file.doubles("diag.tie_rows")},
              differ = {file.shape("diag.oracles_disagree_rows"), file.doubles("diag.oracles_disagree_rows")};
  const std::vector<std::int32_t> ids = file.integers(oracle + ".topk_ids");
  const std::vector<double> weights = file.doubles(oracle + ".topk_weights");
  const double largest = *std::max_element(weights.begin(), weights.end());
  std::int64_t decided = 0;
  for (std::int64_t t = 0; t < actual.ids.shape[0]; ++t) {
    const auto row = static_cast<std::size_t>(t);
    if (ties.values[row] != 0 || (hugging_face_differs && differ.values[row] != 0)) continue;
    ++decided;
    const auto found = row_of(actual, t);
    for (std::size_t j = 0; j < found.size(); ++j) {
      const std::size_t i = row * found.size() + j;
      EXPECT_EQ(found[j].first, ids[i]) << "token " << t;
      EXPECT_NEAR(found[j].second, weights[i], 4e-6 * largest) << "token " << t;
    }
  }
  return decided;
}

TEST_P(RouterGolden, ChoosesTheExpertsOfTheOracleWithItsWeights) {
  Device device;
  const GoldenFile file(GetParam().file);
  md_params params = params_of(file);
  GetParam().set(params);
  const bool hugging_face_differs = std::string(GetParam().oracle).starts_with("hf");
  const std::int64_t decided =
      expect_rows_without_ties(file, run_gate(device, file, params), GetParam().oracle, hugging_face_differs);
  EXPECT_EQ(decided, GetParam().decided);
}

/// Hugging Face masks with 0 (dsv3_moe_07): where fewer than top_k choices of the groups that are in are positive, it
/// takes experts of other groups. Which of them is an arbitrary tie among zeros; ours are the lowest.
TEST(RouterGoldenMask, WithZeroTheExpertsThatAreInAreHuggingFacesAndTheOthersAreOut) {
  Device device;
  const GoldenFile file("dsv3_moe_07_neg_bias_mask");
  md_params params = params_of(file);
  const Routed inside = run_gate(device, file, params);
  hugging_face(params);
  const Routed actual = run_gate(device, file, params);
  const std::vector<std::int32_t> expected = file.integers("hf.f64.topk_ids");
  std::int64_t rows_with_others = 0;
  for (std::int64_t t = 0; t < actual.ids.shape[0]; ++t) {
    const auto begin = static_cast<std::ptrdiff_t>(t * params.top_k), end = begin + params.top_k;
    const std::vector<double> ours(actual.ids.values.begin() + begin, actual.ids.values.begin() + end),
        groups(inside.ids.values.begin() + begin, inside.ids.values.begin() + end);
    const auto outside = std::count_if(ours.begin(), ours.end(), [&](double id) {
      return std::find(groups.begin(), groups.end(), id) == groups.end();
    });
    rows_with_others += outside > 0 ? 1 : 0;
    // Those that both masks take are choices above 0, which Hugging Face takes as well.
    for (const double id : ours) {
      if (std::find(groups.begin(), groups.end(), id) == groups.end()) continue;
      EXPECT_NE(std::find(expected.begin() + begin, expected.begin() + end, id), expected.begin() + end)
          << "token " << t << " expert " << id;
    }
  }
  EXPECT_GT(rows_with_others, 0) << "the file must be able to tell the masks apart";
}

}  // namespace
}  // namespace moediff::test
