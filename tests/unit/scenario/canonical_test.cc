// Canonical YAML is a scenario of one case: the same case.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/scenario/files.h"

namespace moediff::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

void expect_same(const Case& actual, const Case& expected) {
  EXPECT_EQ(actual.id, expected.id);
  EXPECT_EQ(actual.title, expected.title);
  EXPECT_EQ(actual.shape, expected.shape);
  EXPECT_EQ(actual.input, expected.input);
  EXPECT_EQ(actual.seed, expected.seed);
  EXPECT_EQ(actual.dtype, expected.dtype);
  EXPECT_EQ(actual.tokens, expected.tokens);
  EXPECT_EQ(actual.stream, expected.stream);
  EXPECT_EQ(actual.effective_stream, expected.effective_stream);
  EXPECT_EQ(actual.order, expected.order);
  EXPECT_EQ(actual.in_place, expected.in_place);
  EXPECT_EQ(actual.chunk, expected.chunk);
  EXPECT_EQ(actual.aux_threshold, expected.aux_threshold);
  EXPECT_EQ(actual.split_k, expected.split_k);
  EXPECT_EQ(actual.residual, expected.residual);
  EXPECT_EQ(actual.schedule, expected.schedule);
  EXPECT_EQ(actual.fault, expected.fault);
  EXPECT_EQ(actual.drop_wait, expected.drop_wait);
  EXPECT_EQ(actual.provider, expected.provider);
  EXPECT_EQ(actual.timeout_seconds, expected.timeout_seconds);
  EXPECT_EQ(actual.expect, expected.expect);
}

// Writes every case beside its scenario and loads it again.
std::size_t expect_round_trip(const Files& files, const std::string& name) {
  const std::vector<Case> cases = files.load(name);
  const std::string beside = (std::filesystem::path(name).parent_path() / "canonical.yaml").string();
  for (const Case& spec : cases) {
    files.write(beside, canonical_yaml(spec));
    const std::vector<Case> again = files.load(beside);
    EXPECT_THAT(again, SizeIs(1));
    expect_same(again.front(), spec);
  }
  return cases.size();
}

TEST(Canonical, LoadsAsTheSameCase) {
  const Files files;
  files.write(
      "x.yaml",
      "scenario: 'A \"title\": with # signs \\ and more'\n" + std::string(kModel) +
          "axes: {stream: [none, aux, fused], order: [shared_first, routed_first], in_place: [true], tokens: [5, 257], "
          "chunk: [0, 4]}\n"
          "seed: 9007199254740992\ntimeout: 0.1\nschedule: given:1,0\nfault: alias1\nresidual: true\nsplit_k: 2\n"
          "input: {distribution: integers, bias_scale: 0.3}\n"
          "expect:\n  - {when: {stream: fused}, status: fail, cause: hang, blame: {op: gemm1, buffer: b}}\n");
  EXPECT_EQ(expect_round_trip(files, "x.yaml"), 24u);
}

TEST(Canonical, OfASkippedCaseLoadsAsASkippedCase) {
  const Files files;
  files.write("x.yaml",
              "scenario: Test\nmodel: {hidden: 64, inter: 32, experts: 8, top_k: 2}\ntokens: 5\nstream: fused\n");
  EXPECT_EQ(expect_round_trip(files, "x.yaml"), 1u);
  EXPECT_EQ(files.load("canonical.yaml").front().skip_reason, files.load("x.yaml").front().skip_reason);
}

TEST(Canonical, KeepsCapturesAndTheirPaths) {
  const Files files;
  files.write("a/x.yaml", "scenario: Test\n" + std::string(kModel) +
                              "tokens: 5\nfault: drop_wait\ndrop_wait: fork\n"
                              "input: {kind: capture, capture: ../c.safetensors, checkpoint: /w.safetensors, "
                              "hidden_states: h, weights_prefix: w., expected_prefix: e., layer: 3}\n");
  EXPECT_EQ(expect_round_trip(files, "a/x.yaml"), 1u);
}

TEST(Canonical, WritesPathsAsTheScenarioWouldWriteThem) {
  const Files files;
  files.write("scenarios/a/x.yaml",
              "scenario: Test\n" + std::string(kModel) +
                  "tokens: 5\ninput: {kind: capture, capture: ../c.safetensors, checkpoint: /w.safetensors, "
                  "hidden_states: h, weights_prefix: w.}\n");
  const InFolder here(files, "");
  const std::vector<std::string> paths{"scenarios/a/x.yaml"};
  const Case spec = load_cases(paths).front();
  EXPECT_EQ(spec.input.capture, "scenarios/c.safetensors");
  EXPECT_THAT(canonical_yaml(spec), HasSubstr("\n  capture: \"../c.safetensors\"\n  checkpoint: \"/w.safetensors\"\n"));
}

TEST(Canonical, ShowsEveryKeyInTheOrderOfTheSchema) {
  const Case spec = load_text(
                        "tokens: 300\nstream: aux\nin_place: true\nexpect: {status: fail, cause: stale_read, blame: "
                        "{op: shared_gemm1, writer: combine}}")
                        .front();
  EXPECT_EQ(canonical_yaml(spec),
            "scenario: \"Test\"\n"
            "id: \"x\"\n"
            "model:\n"
            "  hidden: 64\n"
            "  inter: 32\n"
            "  experts: 8\n"
            "  top_k: 2\n"
            "  n_group: 4\n"
            "  topk_group: 2\n"
            "  n_shared: 1\n"
            "  norm_topk_prob: true\n"
            "  routed_scaling_factor: 1\n"
            "input:\n"
            "  kind: generated\n"
            "  distribution: normal\n"
            "  bias_scale: 0.1\n"
            "  idle_experts: 0\n"
            "seed: 0\n"
            "dtype: bf16\n"
            "arithmetic: floating\n"
            "tokens: 300\n"
            "variation: none\n"
            "stream: aux\n"
            "effective_stream: none\n"
            "aux_threshold: 256\n"
            "order: routed_first\n"
            "in_place: true\n"
            "chunk: 0\n"
            "split_k: 1\n"
            "residual: false\n"
            "schedule: \"submission\"\n"
            "provider: \"builtin\"\n"
            "fault: \"none\"\n"
            "timeout: 60\n"
            "router:\n"
            "  scoring: sigmoid\n"
            "  bias: true\n"
            "  group_score: top2_sum\n"
            "  mask: neg_inf\n"
            "  logits_in: fp32\n"
            "  scores_in: fp32\n"
            "  bias_in: fp32\n"
            "  choice_in: fp32\n"
            "  weights_in: fp32\n"
            "  weight_from: score\n"
            "  norm_epsilon: 0\n"
            "  factor: output\n"
            "  weight_on: combine\n"
            "  not_finite: lowest\n"
            "expert:\n"
            "  activation: silu\n"
            "  activation_rounding: twice\n"
            "  limit: 7\n"
            "  sum: fp32\n"
            "quant:\n"
            "  scheme: none\n"
            "  fp8: e4m3fn\n"
            "  scales: fp32\n"
            "  group: 128\n"
            "  fmax: 0\n"
            "  amax_floor: 1e-10\n"
            "  scale_from: division\n"
            "  scale_by: division\n"
            "  half_to: even\n"
            "  ragged: pad\n"
            "  shared: same\n"
            "  quantize_a2: separate\n"
            "expect:\n"
            "  status: fail\n"
            "  cause: stale_read\n"
            "  blame:\n"
            "    op: shared_gemm1\n"
            "    writer: combine\n");
}

TEST(Canonical, SaysWhyACaseIsSkipped) {
  const std::vector<Case> cases = load_text("tokens: 5\nstream: fused\naxes: {order: [shared_first, routed_first]}");
  EXPECT_THAT(canonical_yaml(cases[1]), StartsWith("# skipped: order has no effect when the shared experts are fused; "
                                                   "x/shared_first stands for both\nscenario:"));
}

TEST(InputSource, DiffersInEveryFieldButItsPlace) {
  const InputSource plain;
  std::vector<InputSource> others(9);
  others[0].kind = InputSource::Kind::capture;
  others[1].distribution = Distribution::integers;
  others[2].bias_scale = 1;
  others[3].capture = others[4].checkpoint = others[5].hidden_states = "a";
  others[6].weights_prefix = others[7].expected_prefix = "a";
  others[8].layer = 0;
  for (std::size_t i = 0; i < others.size(); ++i) EXPECT_FALSE(others[i] == plain) << i;
  InputSource elsewhere;
  elsewhere.place = Place{"x.yaml", 3, 1};
  EXPECT_EQ(elsewhere, plain);
}

}  // namespace
}  // namespace moediff::testing
