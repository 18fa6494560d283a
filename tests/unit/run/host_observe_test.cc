// The observation pass on the real host backend: what is declared is what is seen, and what is not is found.
#include <gmock/gmock.h>

#include <algorithm>

#include "harness/core/check.h"
#include "tests/unit/run/host_layer.h"
#include "tests/unit/run/toy.h"

namespace moediff {
namespace {

using namespace host_layer;

Run observe(const Case& spec, const Program& program, const std::string& variants = "") {
  RunRequest wanted = request(spec, program, variants);
  wanted.observe = true;
  auto run = make_executor(options())->run(wanted);
  CHECK(run.status == RunStatus::ok, run.detail.c_str());
  return run;
}

/// One byte each: 1 where the touches say so.
std::vector<char> marks(const StepAccesses& accesses, Touch::What what, int block, std::int64_t bytes) {
  std::vector<char> marked(bytes, 0);
  for (const Touch& touch : accesses.touches) {
    if (touch.block == block && touch.what == what) std::fill(&marked[touch.begin], &marked[touch.end], 1);
  }
  return marked;
}

/// 1 where the step's operands lie in the buffer's block.
std::vector<char> declared(const Run& run, const Program& program, int step, const std::vector<int>& operands,
                           int block) {
  std::vector<char> marked(run.blocks[block].bytes, 0);
  for (const int index : operands) {
    const Operand& operand = program.steps[step].operands[index];
    if (run.placement[operand.buffer].block != block) continue;
    const std::int64_t base = run.placement[operand.buffer].offset + operand.region.offset;
    for (std::int64_t row = 0; row < operand.region.rows; ++row) {
      const std::int64_t begin = base + row * operand.region.stride;
      std::fill(marked.data() + begin, marked.data() + begin + operand.region.row_bytes, 1);
    }
  }
  return marked;
}

class CleanLayer : public testing::TestWithParam<StreamMode> {};

TEST_P(CleanLayer, ChangesExactlyTheBytesThatItDeclaresToWrite) {
  for (const std::int64_t tokens : {1, 5}) {
    const Case spec = small_case(GetParam(), tokens);
    const Program program = build_moe_layer(spec);
    const auto run = observe(spec, program);
    ASSERT_EQ(run.status, RunStatus::ok) << run.detail;
    for (std::size_t step = 0; step < program.steps.size(); ++step) {
      if (program.steps[step].kind != StepKind::call) continue;
      for (int block = 0; block < static_cast<int>(run.blocks.size()); ++block) {
        const auto changed = marks(run.accesses[step], Touch::What::changed, block, run.blocks[block].bytes);
        const auto writes = declared(run, program, static_cast<int>(step), write_operands(program.steps[step]), block);
        EXPECT_EQ(changed, writes) << program.steps[step].name << " " << run.blocks[block].label;
      }
    }
  }
}

TEST_P(CleanLayer, RepeatsBitwiseAndDependsOnNothingUndeclared) {
  const Case spec = small_case(GetParam());
  const Program program = build_moe_layer(spec);
  const auto run = observe(spec, program);
  for (const StepAccesses& accesses : run.accesses) {
    EXPECT_TRUE(accesses.repeated_bitwise);
    EXPECT_TRUE(accesses.depends_on.empty());
    EXPECT_EQ(accesses.probe_note, "");
    for (const Touch& touch : accesses.touches) {
      // Its host code reads which kernels are chosen.
      EXPECT_TRUE(touch.what == Touch::What::read || !run.blocks[touch.block].provider_owned);
    }
  }
}

TEST_P(CleanLayer, CapturesWhatAPlainRunCaptures) {
  const Case spec = small_case(GetParam());
  const Program program = build_moe_layer(spec);
  const auto plain = make_executor(options())->run(request(spec, program));
  EXPECT_EQ(observe(spec, program).capture.operands, plain.capture.operands);
}

INSTANTIATE_TEST_SUITE_P(Streams, CleanLayer, testing::Values(StreamMode::none, StreamMode::aux, StreamMode::fused),
                         [](const auto& mode) { return std::string(to_string(mode.param)); });

TEST(HostObserve, AnUndeclaredWriteIsSeenByteByByte) {
  const Case spec = small_case(StreamMode::none);
  const Program program = build_moe_layer(spec);
  const auto run = observe(spec, program, "combine=alias1");
  const int block = run.placement[buffer_of(program, "hidden_states")].block;
  const auto changed =
      marks(run.accesses[step_of(program, "combine")], Touch::What::changed, block, run.blocks[block].bytes);
  EXPECT_EQ(std::count(changed.begin(), changed.end(), 1), run.blocks[block].bytes);
}

TEST(HostObserve, AnUndeclaredReadIsFoundByItsEffectAndByItsPage) {
  const Case spec = small_case(StreamMode::none);
  const Program program = build_moe_layer(spec);
  const auto run = observe(spec, program, "activation=reads_undeclared");
  const StepAccesses& accesses = run.accesses[step_of(program, "activation")];
  const int block = run.placement[buffer_of(program, "hidden_states")].block;
  EXPECT_FALSE(accesses.repeated_bitwise);
  EXPECT_EQ(accesses.depends_on, std::vector<int>{block});
  const auto read = marks(accesses, Touch::What::read, block, run.blocks[block].bytes);
  EXPECT_GT(std::count(read.begin(), read.end(), 1), 0);
}

TEST(HostObserve, AStaticScratchIsAProvidersMemory) {
  const Case spec = small_case(StreamMode::none);
  const Program program = build_moe_layer(spec);
  const auto run = observe(spec, program, "gemm1=static_scratch");
  const StepAccesses& accesses = run.accesses[step_of(program, "gemm1")];
  EXPECT_TRUE(accesses.repeated_bitwise);
  EXPECT_TRUE(std::any_of(accesses.touches.begin(), accesses.touches.end(), [&](const Touch& touch) {
    return touch.what == Touch::What::changed && run.blocks[touch.block].label == "static data of builtin";
  }));
}

TEST(HostObserve, ThePoolsOwnWritesAreNobodysChanges) {
  const Program program = toy::reused_memory();
  RunRequest wanted = toy::request(program);
  wanted.provider.name = "builtin";
  wanted.observe = true;
  const auto run = make_executor(options())->run(wanted);
  ASSERT_EQ(run.status, RunStatus::ok) << run.detail;
  ASSERT_EQ(run.placement[5].block, run.placement[6].block);
  for (const StepAccesses& accesses : run.accesses) {
    const auto changed = marks(accesses, Touch::What::changed, run.placement[5].block, 96);
    EXPECT_EQ(std::count(changed.begin(), changed.end(), 1), 0) << accesses.step;
  }
}

TEST(HostObserve, MemoryThatAProviderFreedIsLeftAlone) {
  const Program program = toy::program();
  RunRequest wanted = toy::request(program);
  wanted.provider.name = std::string(RUN_TEST_MODULES) + "/libmoediff_freeing_host.so";
  wanted.observe = true;
  const auto run = make_executor(options())->run(wanted);
  EXPECT_EQ(run.status, RunStatus::ok) << run.detail;
  EXPECT_TRUE(std::any_of(run.blocks.begin(), run.blocks.end(), [](const MemoryBlock& b) { return b.bytes == 4096; }));
}

TEST(HostObserve, AnOpThatDoesNotRepeatBlamesNoBlock) {
  const Case spec = small_case(StreamMode::none);
  const Program program = build_moe_layer(spec);
  const auto run = observe(spec, program, "combine=nondeterministic");
  const StepAccesses& accesses = run.accesses[step_of(program, "combine")];
  EXPECT_FALSE(accesses.repeated_bitwise);
  EXPECT_TRUE(accesses.depends_on.empty());
}

}  // namespace
}  // namespace moediff
