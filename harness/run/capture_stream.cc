// Capturing on a GPU: a packed copy into staging memory is enqueued on the step's own stream before the step (reads)
// and after it (writes), so the copies are ordered with the step and nothing is synchronised.
#include "harness/run/capture.h"
#include "harness/run/failure.h"

namespace moediff {

StreamCapture::StreamCapture(const md_backend& backend, const Program& program)
    : backend_(&backend), program_(&program) {}

void StreamCapture::stage(int number, const std::vector<int>& operands, const DeviceState& state) {
  const Step& step = program_->steps[number];
  for (const int i : operands) {
    const Region& region = step.operands[i].region;
    if (region.bytes() == 0) continue;
    Staged staged{number, i, nullptr, region.bytes()};
    require(*backend_, backend_->allocate(&staged.memory, staged.bytes, MD_MEMORY_WORKSPACE, "capture"),
            "allocating capture memory", number);
    staged_.push_back(staged);
    require(*backend_,
            backend_->copy_async(staged.memory, region.row_bytes, state.base[step.operands[i].buffer] + region.offset,
                                 region.rows > 1 ? region.stride : region.row_bytes, region.row_bytes, region.rows,
                                 state.streams[step.stream]),
            "capturing", number);
  }
}

void StreamCapture::before(int step, const DeviceState& state) {
  stage(step, captured_at_begin(program_->steps[step]), state);
}

void StreamCapture::after(int step, const DeviceState& state) {
  stage(step, captured_at_end(program_->steps[step]), state);
}

Capture StreamCapture::finish() {
  Capture capture;
  for (const Step& step : program_->steps) {
    const bool captured = step.kind == StepKind::call || step.kind == StepKind::copy;
    capture.operands.emplace_back(captured ? step.operands.size() : 0);
  }
  for (const Staged& staged : staged_) {
    std::vector<std::byte>& bytes = capture.operands[staged.step][staged.operand];
    bytes.resize(staged.bytes);
    require(*backend_, backend_->copy_out(bytes.data(), staged.memory, staged.bytes), "reading a capture", staged.step);
    require(*backend_, backend_->free_memory(staged.memory), "freeing capture memory", staged.step);
  }
  return capture;
}

}  // namespace moediff
