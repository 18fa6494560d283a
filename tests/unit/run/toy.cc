#include "tests/unit/run/toy.h"

#include <cstring>

namespace moediff::toy {
namespace {

constexpr std::int64_t kRow = kHidden * 4, kStride = 8 * 4;

Region dense() { return {0, 1, kTokens * kRow, 0}; }
Region strided() { return {0, kTokens, kRow, kStride}; }

Value value(const std::string& name, int buffer, Region region, const std::string& initial) {
  Value made;
  made.name = name;
  made.dtype = DType::f32;
  made.shape = {kTokens, kHidden};
  made.buffer = buffer;
  made.region = region;
  made.initial = initial;
  return made;
}

Operand operand(const Program& program, int value) {
  const Value& meant = program.values[value];
  return {meant.buffer, meant.region, meant.dtype, meant.shape, {value}};
}

Step call(const Program& program, OpKind op, const std::vector<int>& values, double factor) {
  Step step;
  step.kind = StepKind::call;
  step.name = std::string(to_string(op));
  step.op = op;
  for (const int index : values) step.operands.push_back(operand(program, index));
  step.params.factor = factor;
  return step;
}

Step plain(StepKind kind, const std::string& name, int stream) {
  Step step;
  step.kind = kind;
  step.name = name;
  step.stream = stream;
  return step;
}

float element(const std::string& name, int index) {
  return static_cast<float>(index) + (name == "routed" ? 0.5f : 100.0f);
}

std::vector<std::byte> bytes_of(const std::vector<float>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(float));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

}  // namespace

Program program() {
  Program made;
  made.streams = {"main"};
  made.tokens = kTokens;
  made.shape.hidden = kHidden;
  made.buffers = {{"hidden_states", BufferKind::input, kTokens * kRow, false},
                  {"routed_out", BufferKind::weight, kTokens * kRow, false},
                  {"shared_out", BufferKind::activation, kTokens * kRow, false},
                  {"moe_out", BufferKind::activation, kTokens * kStride, false},
                  {"layer_out", BufferKind::activation, kTokens * kRow, false}};
  made.values = {value("hidden_states", kHiddenStates, dense(), "hidden"),
                 value("routed_out", kRouted, dense(), "routed"), value("shared_out", kShared, dense(), "shared"),
                 value("moe_out", kMoeOut, strided(), ""), value("layer_out", kLayerOut, dense(), "")};
  made.steps = {call(made, OpKind::scale_add, {1, 2, 3}, 2.0), call(made, OpKind::residual_add, {3, 0, 4}, 1.0)};
  made.outputs = {4};
  return made;
}

Program two_streams() {
  Program made = program();
  made.streams = {"main", "aux"};
  made.events = 1;
  made.buffers.push_back({"clone", BufferKind::activation, kTokens * kRow, true});
  made.values.push_back(value("clone", 5, dense(), ""));
  const Step scale_add = made.steps[kScaleAdd];
  Step residual_add = call(made, OpKind::residual_add, {3, 5, 4}, 1.0);
  Step alloc = plain(StepKind::alloc, "alloc", 1), free = plain(StepKind::free, "free", 0);
  alloc.buffer = free.buffer = 5;
  Step copy = plain(StepKind::copy, "clone_hidden", 1);
  copy.operands = {operand(made, 0), operand(made, 5)};
  Step record = plain(StepKind::record, "fork", 1), wait = plain(StepKind::wait, "join", 0);
  record.event = wait.event = 0;
  made.steps = {scale_add, alloc, copy, record, wait, residual_add, free};
  return made;
}

Program with_workspace() {
  Program made = program();
  made.buffers.push_back({"workspace", BufferKind::workspace, 8, false});
  made.values.erase(made.values.begin() + 3);  // moe_out
  Step step = call(made, OpKind::shared_gemm1, {0, 1, 3}, 1.0);
  step.operands.push_back({5, {0, 1, 8, 0}, DType::f32, {2}, {}});
  made.steps = {step};
  made.outputs = {3};
  return made;
}

Program reused_memory() {
  Program made = program();
  const std::int64_t bytes = kTokens * kStride;
  made.buffers.push_back({"clone", BufferKind::activation, bytes, true});
  made.buffers.push_back({"clone again", BufferKind::activation, bytes, true});
  made.values.push_back(value("clone", 5, {bytes - kTokens * kRow, 1, kTokens * kRow, 0}, ""));
  made.values.push_back(value("clone again", 6, strided(), ""));
  const Step scale_add = made.steps[kScaleAdd];
  made.steps = {scale_add};
  for (const int clone : {5, 6}) {
    Step alloc = plain(StepKind::alloc, "alloc", 0), free = plain(StepKind::free, "free", 0);
    alloc.buffer = free.buffer = clone;
    Step copy = plain(StepKind::copy, "copy", 0);
    copy.operands = {operand(made, 3), operand(made, clone)};
    if (clone == 5) copy.operands[0] = operand(made, 0);
    made.steps.push_back(alloc);
    made.steps.push_back(copy);
    made.steps.push_back(call(made, OpKind::residual_add, {3, clone, 4}, 1.0));
    made.steps.push_back(free);
  }
  return made;
}

std::shared_ptr<const Inputs> inputs() {
  auto made = std::make_shared<Inputs>();
  for (const std::string name : {"hidden", "routed", "shared"}) {
    Tensor tensor(DType::f32, {kTokens, kHidden});
    for (int i = 0; i < kTokens * kHidden; ++i) tensor.as<float>()[i] = element(name, i);
    (*made)[name] = tensor;
  }
  return made;
}

std::vector<std::byte> expected_moe_out() {
  std::vector<float> numbers;
  for (int i = 0; i < kTokens * kHidden; ++i) numbers.push_back(2 * element("routed", i) + element("shared", i));
  return bytes_of(numbers);
}

std::vector<std::byte> expected_layer_out() {
  std::vector<float> numbers;
  for (int i = 0; i < kTokens * kHidden; ++i) {
    numbers.push_back(2 * element("routed", i) + element("shared", i) + element("hidden", i));
  }
  return bytes_of(numbers);
}

RunRequest request(const Program& program, const std::string& variants) {
  RunRequest made;
  made.program = &program;
  made.inputs = inputs();
  made.provider = {"fake", variants};
  made.timeout_seconds = 10;
  return made;
}

ExecutorOptions options(const std::string& backend) {
  ExecutorOptions made;
  made.backend = backend;
  made.module_dir = RUN_TEST_MODULES;
  return made;
}

}  // namespace moediff::toy
