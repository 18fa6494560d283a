#include "harness/run/capture.h"

#include <algorithm>

#include "harness/run/image.h"

namespace moediff {
namespace {

bool is_captured(const Step& step) { return step.kind == StepKind::call || step.kind == StepKind::copy; }

bool has(const std::vector<int>& indices, int index) {
  return std::find(indices.begin(), indices.end(), index) != indices.end();
}

bool is_weight(const Program& program, const Operand& operand) {
  return operand.buffer >= 0 && program.buffers[operand.buffer].kind == BufferKind::weight;
}

Capture empty_capture(const Program& program) {
  Capture capture;
  for (const Step& step : program.steps) capture.operands.emplace_back(is_captured(step) ? step.operands.size() : 0);
  return capture;
}

bool is_freed(const Program& program, int buffer) {
  return std::any_of(program.steps.begin(), program.steps.end(),
                     [&](const Step& step) { return step.kind == StepKind::free && step.buffer == buffer; });
}

}  // namespace

std::vector<int> captured_at_begin(const Step& step) {
  if (!is_captured(step)) return {};
  std::vector<int> operands = read_operands(step);
  const std::vector<int> written = write_operands(step);
  std::erase_if(operands, [&](int operand) { return has(written, operand); });
  return operands;
}

std::vector<int> captured_at_end(const Step& step) {
  return is_captured(step) ? write_operands(step) : std::vector<int>{};
}

void fill_weights(const Program& program, const Inputs& inputs, Capture& capture) {
  std::vector<std::vector<std::byte>> images(program.buffers.size());
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    for (const int operand : captured_at_begin(step)) {
      if (!is_weight(program, step.operands[operand])) continue;
      const int buffer = step.operands[operand].buffer;
      if (images[buffer].empty()) images[buffer] = initial_image(program, buffer, inputs);
      std::vector<std::byte>& bytes = capture.operands[i][operand];
      if (!bytes.empty()) continue;
      const Region& region = step.operands[operand].region;
      bytes.assign(region.bytes(), kPoison);
      if (!images[buffer].empty()) pack(images[buffer].data(), region, bytes.data());
    }
  }
}

HostCapture::HostCapture(const Program& program)
    : program_(&program),
      capture_(empty_capture(program)),
      base_(program.steps.size()),
      begun_(program.steps.size(), 0),
      ended_(program.steps.size(), 0) {}

void HostCapture::bind(int step, const DeviceState& state) {
  base_[step].clear();
  for (const Operand& operand : program_->steps[step].operands) {
    base_[step].push_back(operand.buffer < 0 ? nullptr : state.base[operand.buffer]);
  }
}

void HostCapture::take(int number, const std::vector<int>& operands) {
  const Step& step = program_->steps[number];
  for (const int i : operands) {
    if (is_weight(*program_, step.operands[i])) continue;
    std::vector<std::byte>& bytes = capture_.operands[number][i];
    bytes.resize(step.operands[i].region.bytes());
    pack(base_[number][i], step.operands[i].region, bytes.data());
  }
}

void HostCapture::begin(int step) {
  begun_[step] = 1;
  take(step, captured_at_begin(program_->steps[step]));
}

void HostCapture::end(int step) {
  ended_[step] = 1;
  take(step, captured_at_end(program_->steps[step]));
}

Capture HostCapture::finish() {
  for (std::size_t i = 0; i < program_->steps.size(); ++i) {
    const Step& step = program_->steps[i];
    std::vector<int> missing;
    if (begun_[i] == 0) missing = captured_at_begin(step);
    if (ended_[i] == 0) {
      for (const int operand : captured_at_end(step)) missing.push_back(operand);
    }
    for (const int operand : missing) {
      if (is_freed(*program_, step.operands[operand].buffer)) {
        capture_.operands[i][operand].assign(step.operands[operand].region.bytes(), kPoison);
      } else {
        take(static_cast<int>(i), {operand});
      }
    }
  }
  return std::move(capture_);
}

}  // namespace moediff
