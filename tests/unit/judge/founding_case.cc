#include "tests/unit/judge/founding_case.h"

namespace moediff::test {
namespace {

int add_value(Program& program, const std::string& name, int buffer) {
  if (buffer < 0) {
    program.buffers.push_back({name, BufferKind::activation, 64, false});
    buffer = static_cast<int>(program.buffers.size()) - 1;
  }
  Value value;
  value.name = name;
  value.buffer = buffer;
  value.region = {0, 1, 64, 0};
  program.values.push_back(value);
  return static_cast<int>(program.values.size()) - 1;
}

void add_step(Program& program, const std::string& name, OpKind op, std::vector<std::pair<const char*, int>> operands) {
  Step step;
  step.name = name;
  step.op = op;
  step.operands.resize(slots(op).size());
  for (const auto& [slot, value] : operands) {
    Operand& operand = step.operands[slot_index(op, slot)];
    operand.buffer = program.values[value].buffer;
    operand.region = program.values[value].region;
    operand.values = {value};
  }
  program.steps.push_back(step);
}

StageDiff right(int step, const std::string& stage, const std::string& value, DiffMode mode) {
  StageDiff diff;
  diff.step = step;
  diff.stage = stage;
  diff.value = value;
  diff.mode = mode;
  diff.compared = diff.nonzero = 16;
  diff.budget_used = 0.12;
  return diff;
}

}  // namespace

FoundingCase::FoundingCase() {
  program.streams = {"main", "aux"};
  const int hidden = add_value(program, "hidden_states", -1), gemm1 = add_value(program, "gemm1_out", -1);
  const int routed = add_value(program, "routed_out", program.values[hidden].buffer);
  const int shared = add_value(program, "shared_out", -1), moe = add_value(program, "moe_out", -1);
  program.values[hidden].initial = "hidden_states";
  add_step(program, "gemm1", OpKind::gemm1, {{"hidden_states", hidden}, {"gemm1_out", gemm1}});
  add_step(program, "combine", OpKind::combine, {{"gemm2_out", gemm1}, {"routed_out", routed}});
  add_step(program, "shared_gemm1[0]", OpKind::shared_gemm1, {{"hidden_states", hidden}, {"shared_gemm1_out", shared}});
  add_step(program, "scale_add", OpKind::scale_add, {{"routed_out", routed}, {"shared_out", shared}, {"moe_out", moe}});
  program.outputs = {moe};
  diff.stages = {right(0, "gemm1", "gemm1_out", DiffMode::local), right(1, "combine", "routed_out", DiffMode::local),
                 right(2, "shared_gemm1", "shared_out", DiffMode::local),
                 right(3, "scale_add", "moe_out", DiffMode::local),
                 right(3, "scale_add", "moe_out", DiffMode::chained)};
  run.capture.operands.resize(4);
  run.capture.operands[0] = std::vector<std::vector<std::byte>>(6);
  run.capture.operands[0][0] = std::vector<std::byte>(64, std::byte{1});
  run.capture.operands[2] = std::vector<std::vector<std::byte>>(4);
  run.capture.operands[2][0] = run.capture.operands[0][0];
}

StageDiff& FoundingCase::stage(int step, DiffMode mode) {
  for (StageDiff& stage : diff.stages) {
    if (stage.step == step && stage.mode == mode) return stage;
  }
  return diff.stages.emplace_back(right(step, "", "", mode));
}

void FoundingCase::plant() {
  Hazard hazard;
  hazard.kind = Cause::stale_read;
  hazard.writer = 1;
  hazard.reader = 2;
  hazard.value = 0;
  hazard.buffer = 0;
  hazard.region = {0, 1, 64, 0};
  order.hazards = {hazard};
  run.capture.operands[2][0].assign(64, std::byte{2});
  run.capture.operands[2][0][63] = std::byte{1};
  StageDiff& local = stage(2, DiffMode::local);
  local.beyond_statistical = local.beyond_hard = 15;
  local.max_rel = 0.31;
  stage(3, DiffMode::chained).beyond_statistical = 9;
  diff.stages.push_back(right(2, "shared_gemm1", "shared_out", DiffMode::as_read));
}

}  // namespace moediff::test
