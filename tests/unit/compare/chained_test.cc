// The chained bound: above what healthy candidates do, not far above it, and below planted errors.
#include <gtest/gtest.h>

#include <cmath>

#include "harness/compare/compare.h"
#include "tests/unit/compare/program_helper.h"

namespace moediff {
namespace {

using test::LayerOptions;
using test::Memory;

struct Outcome {
  Program program;
  std::shared_ptr<Inputs> inputs;
  Diff diff;
};

Outcome run_layer(const LayerOptions& options, const test::Fault& fault = {}) {
  Outcome outcome{test::build_layer(options), nullptr, {}};
  outcome.inputs = test::make_layer_inputs(outcome.program, options);
  Expected expected(outcome.inputs);
  outcome.diff = compare(outcome.program, test::execute(outcome.program, *outcome.inputs, fault), expected);
  return outcome;
}

StageDiff chained_stage(const Diff& diff) {
  for (const StageDiff& stage : diff.stages) {
    if (stage.mode == DiffMode::chained) return stage;
  }
  throw std::runtime_error("nothing chained");
}

double rms(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v * v;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

std::vector<double> errors(const Diff& diff) {
  std::vector<double> all;
  for (std::size_t i = 0; i < diff.output_expected.size(); ++i)
    all.push_back(diff.output_actual[i] - diff.output_expected[i]);
  return all;
}

LayerOptions trained_like(DType dtype, StreamMode stream, std::uint64_t seed) {
  LayerOptions options;
  options.hidden = 128;
  options.inter = 64;
  options.tokens = 6;
  options.factor = 2.5;
  options.dtype = dtype;
  options.stream = stream;
  options.seed = seed;
  return options;
}

class ChainedBound : public testing::TestWithParam<DType> {};

TEST_P(ChainedBound, IsWithinAFewTensOfTheTypicalErrorAndHolds) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    for (const StreamMode stream : {StreamMode::none, StreamMode::fused}) {
      const Diff diff = run_layer(trained_like(GetParam(), stream, seed)).diff;
      const double typical = rms(errors(diff)), bound = rms(diff.output_bound);
      double largest = 0;
      for (const double e : errors(diff)) largest = std::max(largest, std::fabs(e));

      EXPECT_LT(chained_stage(diff).budget_used, 0.75);
      EXPECT_GT(chained_stage(diff).budget_used, 0.1);
      EXPECT_LT(bound, 40 * typical);
      EXPECT_LT(bound, 10 * largest);
      const std::string which = (stream == StreamMode::none ? "_unfused" : "_fused") + std::to_string(seed);
      RecordProperty("bound_over_rms" + which, std::to_string(bound / typical));
      RecordProperty("bound_over_largest" + which, std::to_string(bound / largest));
      RecordProperty("budget" + which, std::to_string(chained_stage(diff).budget_used));
    }
  }
}

TEST_P(ChainedBound, ThreeTimesTheBoundInOneElementIsCaught) {
  const LayerOptions options = trained_like(GetParam(), StreamMode::none, 1);
  const Diff healthy = run_layer(options).diff;
  const std::size_t victim = 300;
  const auto fault = [&](const Step& step, Memory& memory) {
    if (step.kind != StepKind::call || step.op != OpKind::scale_add) return;
    test::write_element(memory, step.operands[2], static_cast<std::int64_t>(victim),
                        healthy.output_expected[victim] + 3 * healthy.output_bound[victim]);
  };

  const StageDiff stage = chained_stage(run_layer(options, fault).diff);

  EXPECT_EQ(stage.beyond_statistical, 1);
  EXPECT_EQ(stage.worst->token, 2);
  EXPECT_EQ(stage.worst->column, 44);
  EXPECT_NEAR(stage.budget_used, 3, 0.3);
}

INSTANTIATE_TEST_SUITE_P(DTypes, ChainedBound, testing::Values(DType::f32, DType::bf16),
                         [](const auto& named) { return std::string(to_string(named.param)); });

TEST(Chained, BothRoundingsOfFusedAndUnfusedLieWithinTheSumOfTheirBounds) {
  // Same seed, hence the same hidden states and router; the shared expert's weights are the last of the fused ones.
  LayerOptions options = trained_like(DType::bf16, StreamMode::none, 5);
  const Outcome unfused = run_layer(options);
  options.stream = StreamMode::fused;
  const Program program = test::build_layer(options);
  auto inputs = test::make_layer_inputs(program, options);
  for (const auto& [fused, shared] : {std::pair{"w13", "shared_w13"}, std::pair{"w2", "shared_w2"}}) {
    std::vector<std::byte>& all = inputs->at(std::string(fused) + "_fused").data;
    const auto& routed = unfused.inputs->at(fused).data;
    std::copy(routed.begin(), routed.end(), all.begin());
    std::ranges::copy(unfused.inputs->at(shared).data, all.begin() + static_cast<std::ptrdiff_t>(routed.size()));
  }
  Expected expected(inputs);
  const Diff fused = compare(program, test::execute(program, *inputs), expected);

  ASSERT_EQ(fused.output_expected.size(), unfused.diff.output_expected.size());
  for (std::size_t i = 0; i < fused.output_expected.size(); ++i) {
    EXPECT_NEAR(fused.output_expected[i], unfused.diff.output_expected[i], 1e-12);  // equal in exact arithmetic
    EXPECT_LE(std::fabs(fused.output_actual[i] - unfused.diff.output_actual[i]),
              fused.output_bound[i] + unfused.diff.output_bound[i]);
  }
}

TEST(Chained, OutputsComeInRowOrderOfTheBatchWhenChunked) {
  LayerOptions options;
  const Diff whole = run_layer(options).diff;
  options.chunk = 2;
  const Diff chunked = run_layer(options).diff;

  EXPECT_EQ(chunked.output_expected, whole.output_expected);
  EXPECT_EQ(chunked.output_actual, whole.output_actual);
}

TEST(Chained, AnOutputThatIsNotFiniteIsNotASmallError) {
  const Diff diff = run_layer({}, [](const Step& step, Memory& memory) {
                      if (step.kind == StepKind::call && step.op == OpKind::scale_add)
                        test::write_element(memory, step.operands[2], 0, NAN);
                    }).diff;

  EXPECT_EQ(chained_stage(diff).not_finite, 1);
  EXPECT_TRUE(std::isinf(diff.worst_chained));
}

}  // namespace
}  // namespace moediff
