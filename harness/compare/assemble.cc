// Assembly by an image: every element of the buffer range that the operand covers is labelled with the value element
// that lives there; the operand's region then picks its labels.
#include "harness/compare/assemble.h"

#include <algorithm>
#include <cstring>

#include "harness/core/check.h"

namespace moediff {
namespace {

/// Calls visit(byte offset in the buffer, index in the packed rows) for every element of a region.
template <typename Visit>
void for_each_element(const Region& region, std::int64_t element_bytes, Visit visit) {
  const std::int64_t per_row = region.row_bytes / element_bytes;
  for (std::int64_t row = 0; row < region.rows; ++row) {
    const std::int64_t begin = region.offset + row * (region.rows == 1 ? 0 : region.stride);
    for (std::int64_t i = 0; i < per_row; ++i) visit(begin + i * element_bytes, row * per_row + i);
  }
}

/// How far the values' coordinates must be moved to meet the operand's.
std::int64_t alignment(const Program& program, const Operand& operand) {
  std::int64_t first = program.values[operand.values.front()].region.begin();
  for (const int v : operand.values) {
    if (program.values[v].buffer == operand.buffer) return 0;
    first = std::min(first, program.values[v].region.begin());
  }
  return operand.region.begin() - first;
}

}  // namespace

bool is_whole_value(const Program& program, const Operand& operand) {
  if (operand.buffer < 0 || operand.values.size() != 1) return false;
  const Value& value = program.values[operand.values[0]];
  return value.region.bytes() == operand.region.bytes() && value.dtype == operand.dtype;
}

std::optional<GatherPlan> plan_gather(const Program& program, const Operand& operand) {
  GatherPlan plan;
  plan.values = operand.values;
  if (operand.buffer < 0 || operand.values.empty()) return std::nullopt;
  if (is_whole_value(program, operand)) {
    plan.identity = true;
    return plan;
  }
  const std::int64_t width = size_of(operand.dtype), begin = operand.region.begin();
  constexpr std::int32_t kNobody = -1;
  std::vector<GatherPlan::Element> image((operand.region.end() - begin) / width, {kNobody, 0});
  const std::int64_t shift = alignment(program, operand);
  for (std::size_t v = 0; v < operand.values.size(); ++v) {
    for_each_element(program.values[operand.values[v]].region, width, [&](std::int64_t at, std::int64_t index) {
      const std::int64_t where = (at + shift - begin) / width;
      if (at + shift < begin || where >= static_cast<std::int64_t>(image.size())) return;
      image[where] = {static_cast<std::int32_t>(v), index};
    });
  }
  bool covered = true;
  for_each_element(operand.region, width, [&](std::int64_t at, std::int64_t) {
    plan.elements.push_back(image[(at - begin) / width]);
    covered = covered && plan.elements.back().source != kNobody;
  });
  return covered ? std::optional(std::move(plan)) : std::nullopt;
}

Origin origin(const Program& program, int value) {
  const int step = producer(program, value);
  if (step < 0) return {};
  for (const int operand : write_operands(program.steps[step])) {
    const std::vector<int>& written = program.steps[step].operands[operand].values;
    if (std::find(written.begin(), written.end(), value) != written.end()) return {step, operand};
  }
  return {};
}

std::span<const std::byte> initial_bytes(const Program& program, const Inputs& inputs, int value) {
  const Value& v = program.values[value];
  const auto found = inputs.find(v.initial);
  CHECK(found != inputs.end(), "an initial value names a tensor of the inputs");
  const std::span<const std::byte> all = found->second.data;
  const auto wanted = static_cast<std::size_t>(v.region.bytes());
  if (all.size() == wanted) return all;
  const std::size_t begin = static_cast<std::size_t>(v.row_offset) * static_cast<std::size_t>(v.region.row_bytes);
  CHECK(begin + wanted <= all.size(), "an initial value lies within its input tensor");
  return all.subspan(begin, wanted);
}

std::optional<std::span<const std::byte>> value_bytes(const Program& program, const Run& run, const Inputs& inputs,
                                                      int value) {
  if (!program.values[value].initial.empty()) return initial_bytes(program, inputs, value);
  const Origin from = origin(program, value);
  if (from.step < 0 || from.step >= static_cast<int>(run.capture.operands.size())) return std::nullopt;
  const auto& captured = run.capture.operands[from.step];
  if (from.operand >= static_cast<int>(captured.size())) return std::nullopt;
  const std::vector<std::byte>& bytes = captured[from.operand];
  if (static_cast<std::int64_t>(bytes.size()) != program.values[value].region.bytes()) return std::nullopt;
  return bytes;
}

std::optional<std::vector<std::byte>> assemble(const Program& program, const Run& run, const Inputs& inputs, int step,
                                               int operand) {
  const Operand& wanted = program.steps[step].operands[operand];
  const std::optional<GatherPlan> plan = plan_gather(program, wanted);
  if (!plan) return std::nullopt;
  std::vector<std::span<const std::byte>> sources;
  for (const int value : plan->values) {
    const auto bytes = value_bytes(program, run, inputs, value);
    if (!bytes) return std::nullopt;
    sources.push_back(*bytes);
  }
  if (plan->identity) return std::vector<std::byte>(sources[0].begin(), sources[0].end());
  const auto width = static_cast<std::size_t>(size_of(wanted.dtype));
  std::vector<std::byte> packed(plan->elements.size() * width);
  for (std::size_t i = 0; i < plan->elements.size(); ++i) {
    const GatherPlan::Element& element = plan->elements[i];
    std::memcpy(packed.data() + i * width, sources[element.source].data() + element.index * width, width);
  }
  return packed;
}

}  // namespace moediff
