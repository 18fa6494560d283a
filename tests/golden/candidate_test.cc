// The candidate's kernels against other people's results: they meet them, and kernels that are wrong do not.
#include <gtest/gtest.h>

#include <cmath>

#include "harness/replay/kinds.h"
#include "tests/golden/replay_data.h"

namespace moediff {
namespace {

CandidateOptions in_process(const std::string& variants = "") {
  static const std::unique_ptr<Executor> executor =
      make_executor({.backend = "host", .module_dir = MOEDIFF_BUILD_DIR, .in_process = true, .worker_command = ""});
  return {executor.get(), {"builtin", variants}};
}

bool of_candidate(const Check& check) { return check.name.rfind("candidate ", 0) == 0; }

class Candidate : public testing::TestWithParam<const char*> {};

TEST_P(Candidate, MeetsTheOraclesInFloat32) {
  const FileReplay file = replay_file(golden_path(GetParam()), in_process());
  EXPECT_EQ(file.verdict, ReplayVerdict::pass);
  int compared = 0;
  for (const Check& check : file.checks) {
    if (!of_candidate(check)) continue;
    compared += check.compared > 0;
    EXPECT_TRUE(check.pass || check.compared == 0)
        << check.name << " " << check.expected << ": " << check.measured << " > " << check.limit << " " << check.note;
  }
  EXPECT_GE(compared, 3);
}

TEST_P(Candidate, WithAWrongKernelDoesNot) {
  const std::string name = GetParam();
  const bool gate = name.find("gate") != std::string::npos;  // its experts have weights of 0
  const bool quantised = name.find("fp8") != std::string::npos;
  const std::string variant = gate || quantised ? "router=wrong_expert" : "gemm2=wrong_math";
  const FileReplay file = replay_file(golden_path(name), in_process(variant));
  EXPECT_EQ(file.verdict, ReplayVerdict::fail);
  bool by_stage = false, by_oracle = false;
  for (const Check& check : file.checks) {
    EXPECT_TRUE(of_candidate(check) || check.pass) << "the reference is right: " << check.expected;
    const bool fails = of_candidate(check) && check.compared > 0 && !check.pass;
    by_stage = by_stage || (fails && check.name.find(": stages") != std::string::npos);
    by_oracle = by_oracle || (fails && check.name.find(": stages") == std::string::npos);
  }
  EXPECT_TRUE(by_stage);
  EXPECT_TRUE(by_oracle) << "ids, or what comes of them";
}

// An oracle whose results are off by what a float32 kernel may not be.
TEST_P(Candidate, IsHeldAgainstTheOracleByTheFloat32Rule) {
  ReplayData data = read_golden(GetParam());
  for (auto& [name, tensor] : data.tensors) {
    if (tensor.dtype != DType::f64 || name.rfind("diag.", 0) == 0) continue;
    std::vector<double> values = to_doubles(tensor);
    for (double& value : values) value *= 1 + 2e-5;
    tensor = from_doubles(DType::f64, tensor.shape, values);
  }
  int held = 0;
  for (const Check& check : replay(data, in_process()).checks) {
    const bool against = of_candidate(check) && check.compared > 0 && check.expected.find(".f64.") != std::string::npos;
    EXPECT_FALSE(against && check.pass) << check.name << " " << check.expected << " " << check.measured;
    held += against;
  }
  EXPECT_TRUE(held >= 2 || std::string(GetParam()).find("fp8") == 0) << "that kind has no float64";
}

// Whatever stands in a file, it ends in a verdict.
TEST_P(Candidate, OfNumbersThatAreNotFiniteEndsInAVerdict) {
  const ReplayData healthy = read_golden(GetParam());
  const std::vector<std::string> names = number_tensors(healthy);
  const double odd[] = {std::nan(""), HUGE_VAL, -HUGE_VAL};
  for (int n = 0; n < 9; ++n) {
    const std::string& name = names[static_cast<std::size_t>(n) * names.size() / 9];
    ReplayData data = healthy;
    Tensor& tensor = data.tensors.at(name);
    std::vector<double> values = to_doubles(tensor);
    values[values.size() / 2] = odd[n % 3];
    tensor = from_doubles(tensor.dtype, tensor.shape, values);
    EXPECT_NE(replay(data, in_process()).verdict, ReplayVerdict::malformed) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Candidate,
                         testing::Values("dsv3_moe_02_g4k4_t7", "dsv3_moe_03_g8_of_2_t33_sh2",
                                         "dsv3_moe_07_neg_bias_mask", "dsv3_moe_08_ties_cloned_experts",
                                         "dsv3_moe_11_saturated_sigmoid", "dsv3_gate_19_v3_real_shape",
                                         "dsv2_gate_01_g8k6", "qwen3_moe_05_peaked", "mixtral_moe_01",
                                         "llama4_moe_07_large_x", "fp8_ds_moe_01"),
                         [](const auto& name) { return std::string(name.param); });

std::int64_t compared(const FileReplay& file, const std::string& name, const std::string& tensor) {
  for (const Check& check : file.checks) {
    if (check.name == name && check.expected == tensor) return check.compared;
  }
  ADD_FAILURE() << "no check " << name << " of " << tensor;
  return -1;
}

// Experts 2i and 2i + 1 are clones: which of them is taken changes the ids, not the output.
TEST(CandidateTies, AreComparedByTheOutputWhereExpertsAreClones) {
  const FileReplay file = replay_file(golden_path("dsv3_moe_08_ties_cloned_experts"), in_process());
  EXPECT_EQ(compared(file, "candidate as ds: final", "ds.f64.final"), 14 * 64);
  EXPECT_LT(compared(file, "candidate as ds: topk_weights", "ds.f64.topk_weights"), 14 * 3);
}

// Experts that are not clones: rows 0, 3 and 6 are all ties, and the oracle did not take the lowest.
TEST(CandidateTies, AreLeftOutWhereExpertsDiffer) {
  const FileReplay file = replay_file(golden_path("dsv3_moe_09_ties_zero_rows"), in_process());
  EXPECT_EQ(compared(file, "candidate as ds: final", "ds.f64.final"), 6 * 64);
}

TEST(CandidateRuns, OnceForAllOraclesOfOnePolicy) {
  const FileReplay file = replay_file(golden_path("dsv3_moe_02_g4k4_t7"), in_process());
  int runs = 0;
  for (const Check& check : file.checks) runs += of_candidate(check) && check.name.find(": run") != std::string::npos;
  EXPECT_EQ(runs, 2) << "DeepSeek's and vLLM's policy, and Hugging Face's";
}

}  // namespace
}  // namespace moediff
