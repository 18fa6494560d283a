#include "harness/program/builder.h"

#include "harness/core/check.h"

namespace moediff {
namespace {

std::int64_t row_bytes_of(DType dtype, const Shape& shape) {
  std::int64_t bytes = size_of(dtype);
  for (std::size_t i = 1; i < shape.size(); ++i) bytes *= shape[i];
  return bytes;
}

}  // namespace

std::string step_name(std::string_view name, int chunk) {
  return chunk < 0 ? std::string(name) : std::string(name) + "[" + std::to_string(chunk) + "]";
}

ProgramBuilder::ProgramBuilder(std::vector<std::string> streams) { program.streams = std::move(streams); }

int ProgramBuilder::add_buffer(std::string name, BufferKind kind, std::int64_t bytes, bool pooled) {
  program.buffers.push_back({std::move(name), kind, bytes, pooled});
  return static_cast<int>(program.buffers.size()) - 1;
}

int ProgramBuilder::add_value(std::string name, DType dtype, Shape shape, int buffer, Placing placing,
                              std::string initial) {
  CHECK(!shape.empty(), "values have at least one dimension");
  Value value;
  value.name = std::move(name);
  value.dtype = dtype;
  value.buffer = buffer;
  value.initial = std::move(initial);
  const std::int64_t row_bytes = row_bytes_of(dtype, shape);
  const std::int64_t stride = placing.row_stride > 0 ? placing.row_stride : row_bytes;
  value.region = {placing.row_begin * stride + placing.column_offset, shape[0], row_bytes, stride};
  value.shape = std::move(shape);
  program.values.push_back(std::move(value));
  return static_cast<int>(program.values.size()) - 1;
}

int ProgramBuilder::add_own(std::string name, DType dtype, Shape shape, BufferKind kind, std::string initial,
                            bool pooled) {
  const int buffer = add_buffer(name, kind, count(shape) * size_of(dtype), pooled);
  return add_value(std::move(name), dtype, std::move(shape), buffer, {}, std::move(initial));
}

Operand ProgramBuilder::whole(int value) const {
  const Value& v = program.values[static_cast<std::size_t>(value)];
  return {v.buffer, v.region, v.dtype, v.shape, {value}};
}

Operand ProgramBuilder::rows(int value, std::int64_t begin, std::int64_t end) const {
  Operand operand = whole(value);
  operand.region.offset += begin * operand.region.stride;
  operand.region.rows = end - begin;
  operand.shape[0] = end - begin;
  return operand;
}

Operand ProgramBuilder::side_by_side(const std::vector<int>& values, std::int64_t columns, std::int64_t begin,
                                     std::int64_t end) const {
  Operand operand = rows(values.front(), begin, end);
  operand.shape = {end - begin, columns};
  operand.region.row_bytes = columns * size_of(operand.dtype);
  operand.values = values;
  return operand;
}

void ProgramBuilder::call(OpKind op, int stream, std::vector<Operand> operands, OpParams params, int chunk) {
  Step step;
  step.kind = StepKind::call;
  step.name = step_name(to_string(op), chunk);
  step.stream = stream;
  step.op = op;
  step.operands = std::move(operands);
  step.params = params;
  step.chunk = chunk;
  program.steps.push_back(std::move(step));
}

void ProgramBuilder::copy(const std::string& name, int stream, Operand from, Operand to, int chunk) {
  Step step;
  step.kind = StepKind::copy;
  step.name = step_name(name, chunk);
  step.stream = stream;
  step.operands = {std::move(from), std::move(to)};
  step.chunk = chunk;
  program.steps.push_back(std::move(step));
}

void ProgramBuilder::alloc(int buffer, int stream) { pool_step(StepKind::alloc, buffer, stream); }
void ProgramBuilder::free(int buffer, int stream) { pool_step(StepKind::free, buffer, stream); }

void ProgramBuilder::pool_step(StepKind kind, int buffer, int stream) {
  Step step;
  step.kind = kind;
  step.name = std::string(to_string(kind)) + " " + program.buffers[static_cast<std::size_t>(buffer)].name;
  step.stream = stream;
  step.buffer = buffer;
  program.steps.push_back(std::move(step));
}

void ProgramBuilder::wait(const std::string& name, int from, int to) {
  Step record;
  record.kind = StepKind::record;
  record.name = name + ".record";
  record.stream = from;
  record.event = program.events++;
  Step wait = record;
  wait.kind = StepKind::wait;
  wait.name = name;
  wait.stream = to;
  program.steps.push_back(std::move(record));
  program.steps.push_back(std::move(wait));
}

}  // namespace moediff
