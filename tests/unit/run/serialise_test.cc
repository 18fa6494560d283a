#include "harness/run/serialise.h"

#include <gtest/gtest.h>

#include "tests/unit/run/toy.h"

namespace moediff {
namespace {

Run full_run() {
  Run run;
  run.status = RunStatus::ok;
  run.detail = "detail";
  run.failing_step = 1;
  run.trace = {{TraceItem::Kind::copy, 1, 2, false, 3, 0, 5, 6, "kernel"}};
  run.executed = {0};
  run.blocks = {{"static data of x", 64, true}};
  run.placement.assign(5, {0, 16});
  run.capture.operands.resize(2);
  run.capture.operands[0].resize(3);
  run.capture.operands[1] = {{}, {}, std::vector<std::byte>(60, std::byte{9})};
  run.observed = true;
  run.accesses = {{1, {{0, 4, 8, Touch::What::changed}}, false, {0}, "note"}, {}};
  run.red_zone_hits = {"gemm1 wrote 4 bytes past gemm1_out"};
  return run;
}

TEST(Serialise, ARunComesBackAsItWas) {
  const auto run = full_run();
  const std::optional<moediff::Run> back = from_bytes<moediff::Run>(to_bytes(run));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(to_bytes(*back), to_bytes(run));
  EXPECT_EQ(back->trace[0].kind, TraceItem::Kind::copy);
  EXPECT_EQ(back->trace[0].name, "kernel");
  EXPECT_FALSE(back->trace[0].blocking);
  EXPECT_EQ(back->placement[4].offset, 16);
  EXPECT_EQ(back->capture.operands[1][2][59], std::byte{9});
  EXPECT_EQ(back->accesses[0].touches[0].what, Touch::What::changed);
  EXPECT_EQ(back->accesses[0].depends_on, std::vector<int>{0});
  EXPECT_EQ(back->accesses[0].probe_note, "note");
  EXPECT_EQ(back->red_zone_hits, run.red_zone_hits);
}

TEST(Serialise, ARequestComesBackAsItWas) {
  const Program program = toy::two_streams();
  WireRequest request{program,         7, {"fake", "hang"}, {SchedulePolicy::given, 3, {2, 0, 1}, false}, true,
                      {{1, -2, "why"}}};
  const std::optional<WireRequest> back = from_bytes<WireRequest>(to_bytes(request));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(to_bytes(*back), to_bytes(request));
  EXPECT_EQ(hash(back->program), hash(program));
  EXPECT_EQ(back->program.steps[2].name, "clone_hidden");
  EXPECT_EQ(back->provider, request.provider);
  EXPECT_EQ(back->schedule, request.schedule);
  EXPECT_EQ(back->crashes, request.crashes);
}

TEST(Serialise, InputsComeBackAsTheyWere) {
  const auto inputs = toy::inputs();
  const std::optional<Inputs> back = from_bytes<Inputs>(to_bytes(*inputs));
  ASSERT_TRUE(back.has_value());
  ASSERT_EQ(back->size(), 3u);
  EXPECT_EQ(back->at("shared").data, inputs->at("shared").data);
  EXPECT_EQ(back->at("shared").shape, inputs->at("shared").shape);
}

TEST(Serialise, NoBitFlipEscapesAsAnException) {
  const std::vector<std::byte> bytes = to_bytes(full_run());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::vector<std::byte> flipped = bytes;
    flipped[i] ^= std::byte{0x80};
    EXPECT_NO_THROW(from_bytes<moediff::Run>(flipped)) << i;
  }
}

TEST(Serialise, ARunThatDoesNotFitItsProgramIsRefused) {
  const Program program = toy::program();
  EXPECT_TRUE(fits(full_run(), program));
  const auto refused = [&](auto spoil) {
    moediff::Run run = full_run();
    spoil(run);
    return !fits(run, program);
  };
  EXPECT_TRUE(refused([](moediff::Run& run) { run.failing_step = 2; }));
  EXPECT_TRUE(refused([](moediff::Run& run) { run.placement.pop_back(); }));
  EXPECT_TRUE(refused([](moediff::Run& run) { run.placement[0].block = 1; }));
  EXPECT_TRUE(refused([](moediff::Run& run) { run.capture.operands.pop_back(); }));
  EXPECT_TRUE(refused([](moediff::Run& run) { run.capture.operands[1][2].pop_back(); }));
  EXPECT_TRUE(refused([](moediff::Run& run) { run.trace[0].step = 2; }));
  EXPECT_TRUE(refused([](moediff::Run& run) { run.trace[0].block = 1; }));
  EXPECT_TRUE(refused([](moediff::Run& run) { run.executed = {1}; }));
  EXPECT_TRUE(refused([](moediff::Run& run) { run.accesses[0].touches[0].block = -1; }));
  EXPECT_TRUE(refused([](moediff::Run& run) { run.accesses[0].depends_on = {1}; }));
  EXPECT_TRUE(refused([](moediff::Run& run) { run.accesses.clear(); }));
}

}  // namespace
}  // namespace moediff
