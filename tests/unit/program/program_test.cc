// Reads and writes of steps, producers, the content hash, and the invariants.
#include "harness/program/program.h"

#include <gtest/gtest.h>

#include <functional>

namespace moediff {
namespace {

/// copy a -> b, then scale_add(b, absent) -> c; buffers of 64 bytes.
Program small() {
  Program program;
  program.streams = {"main"};
  for (const char* name : {"a", "b", "c"}) {
    program.buffers.push_back({name, BufferKind::activation, 64, false});
    Value value;
    value.name = name;
    value.buffer = static_cast<int>(program.values.size());
    value.region = {0, 1, 64, 0};
    program.values.push_back(value);
  }
  program.values[0].initial = "a";
  const auto operand = [&](int value) { return Operand{value, {0, 1, 64, 0}, DType::f32, {16}, {value}}; };
  Step copy;
  copy.kind = StepKind::copy;
  copy.name = "copy";
  copy.operands = {operand(0), operand(1)};
  Step call;
  call.name = "add";
  call.op = OpKind::scale_add;
  call.operands = {operand(1), Operand{}, operand(2)};
  program.steps = {copy, call};
  program.outputs = {2};
  return program;
}

TEST(Program, ReadsAndWritesFollowTheSlotTable) {
  const Program program = small();
  EXPECT_EQ(read_operands(program.steps[0]), std::vector<int>{0});
  EXPECT_EQ(write_operands(program.steps[0]), std::vector<int>{1});
  EXPECT_EQ(read_operands(program.steps[1]), std::vector<int>{0});  // the optional slot is absent
  EXPECT_EQ(write_operands(program.steps[1]), std::vector<int>{2});
}

TEST(Program, ScratchIsReadAndWritten) {
  Step gemm;
  gemm.op = OpKind::shared_gemm1;
  gemm.operands.resize(4);
  for (Operand& operand : gemm.operands) operand.buffer = 0;
  EXPECT_EQ(read_operands(gemm), (std::vector<int>{0, 1, 3}));
  EXPECT_EQ(write_operands(gemm), (std::vector<int>{2, 3}));
}

TEST(Program, ProducerIsTheStepThatWrites) {
  EXPECT_EQ(producer(small(), 0), -1);
  EXPECT_EQ(producer(small(), 1), 0);
  EXPECT_EQ(producer(small(), 2), 1);
}

TEST(Program, NamesDoNotEnterTheHash) {
  Program renamed = small();
  renamed.streams[0] = "s";
  renamed.buffers[0].name = renamed.values[1].name = renamed.steps[1].name = "other";
  EXPECT_EQ(hash(renamed), hash(small()));
}

TEST(Program, EverythingElseEntersTheHash) {
  const std::vector<std::function<void(Program&)>> changes{[](Program& p) { p.streams.push_back("aux"); },
                                                           [](Program& p) { p.buffers[0].bytes = 128; },
                                                           [](Program& p) { p.buffers[0].pooled = true; },
                                                           [](Program& p) { p.values[0].initial = "b"; },
                                                           [](Program& p) { p.values[1].region.offset = 4; },
                                                           [](Program& p) { p.steps[1].params.factor = 2.5; },
                                                           [](Program& p) { p.steps[1].params.split_k = 2; },
                                                           [](Program& p) { p.steps[1].op = OpKind::residual_add; },
                                                           [](Program& p) { p.steps[1].operands[0].values = {0}; },
                                                           [](Program& p) {
                                                             p.steps[1].operands[0].shape = {4, 4};
                                                           },
                                                           [](Program& p) { std::swap(p.steps[0], p.steps[1]); },
                                                           [](Program& p) { p.outputs = {1}; },
                                                           [](Program& p) { p.shape.routed_scaling_factor = 2.5; },
                                                           [](Program& p) { p.tokens = 3; },
                                                           [](Program& p) { p.dtype = DType::bf16; }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Program changed = small();
    changes[i](changed);
    EXPECT_NE(hash(changed), hash(small())) << "change " << i;
  }
}

TEST(Program, TheStrideOfASingleRowDoesNotEnterTheHash) {
  Program other = small();
  other.values[0].region.stride = 64;
  EXPECT_EQ(hash(other), hash(small()));
}

TEST(ProgramDeathTest, BrokenInvariantsAreOurBug) {
  validate(small());
  const std::vector<std::pair<const char*, std::function<void(Program&)>>> breaks{
      {"stream index", [](Program& p) { p.steps[0].stream = 1; }},
      {"leaves its buffer", [](Program& p) { p.steps[0].operands[0].region.offset = 1; }},
      {"rows of a region overlap",
       [](Program& p) {
         p.values[0].region = {0, 2, 8, 4};
       }},
      {"written once, or is initial", [](Program& p) { p.values[0].initial = ""; }},
      {"written once, or is initial", [](Program& p) { p.values[1].initial = "b"; }},
      {"written to another buffer", [](Program& p) { p.steps[0].operands[1].buffer = 2; }},
      {"not written as a whole", [](Program& p) { p.steps[0].operands[1].region.row_bytes = 32; }},
      {"needs every slot", [](Program& p) { p.steps[1].operands.pop_back(); }},
      {"output index", [](Program& p) { p.outputs = {3}; }},
      {"never allocated", [](Program& p) { p.buffers[1].pooled = true; }}};
  for (const auto& [message, change] : breaks) {
    Program broken = small();
    change(broken);
    EXPECT_DEATH(validate(broken), message);
  }
}

}  // namespace
}  // namespace moediff
