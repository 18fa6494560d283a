#include "harness/run/observe.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "harness/run/failure.h"
#include "harness/run/readable.h"
#include "harness/run/shadow.h"

namespace moediff {
namespace {

/// Page touches of one step, neighbouring pages joined.
std::vector<Touch> join_pages(const md_touch* touches, int count) {
  std::vector<Touch> pages;
  for (int i = 0; i < count; ++i) {
    pages.push_back({touches[i].block, touches[i].begin, touches[i].end,
                     touches[i].what == MD_TOUCH_WRITE ? Touch::What::write : Touch::What::read});
  }
  std::sort(pages.begin(), pages.end(), [](const Touch& a, const Touch& b) {
    return std::tie(a.what, a.block, a.begin) < std::tie(b.what, b.block, b.begin);
  });
  std::vector<Touch> joined;
  for (const Touch& page : pages) {
    const bool next = !joined.empty() && joined.back().what == page.what && joined.back().block == page.block &&
                      joined.back().end >= page.begin;
    if (next) {
      joined.back().end = std::max(joined.back().end, page.end);
    } else {
      joined.push_back(page);
    }
  }
  return joined;
}

/// Disjoint ascending ranges of the block that were touched in either way.
std::vector<ByteRange> touched_ranges(const std::vector<Touch>& touches, int block, std::int64_t size) {
  std::vector<ByteRange> ranges, merged;
  for (const Touch& touch : touches) {
    if (touch.block == block) ranges.emplace_back(std::max<std::int64_t>(touch.begin, 0), std::min(touch.end, size));
  }
  std::sort(ranges.begin(), ranges.end());
  for (const ByteRange& range : ranges) {
    if (!merged.empty() && merged.back().second >= range.first) {
      merged.back().second = std::max(merged.back().second, range.second);
    } else if (range.first < range.second) {
      merged.push_back(range);
    }
  }
  return merged;
}

SlotUse use_of(const Step& step, int operand) { return slots(step.op)[operand].use; }

class Observer {
 public:
  Observer(RunSession& session, const std::vector<ProbeCrash>& crashes) : session_(session), crashes_(crashes) {}

  StepAccesses step(int number);

 private:
  StepAccesses call(int number);
  void plain_step(int number);
  std::vector<Touch> watched_execution(int number);
  void probe(int number, StepAccesses& accesses);
  void isolate(int number, StepAccesses& accesses);
  bool repeat_differs(int number, int target, StepAccesses& accesses);
  void repeat(int number, int target);
  bool outputs_differ(const Step& step) const;
  const ProbeCrash* crash(int number, int target) const;
  void update_shadows();
  bool is_shadowed(const md_block& block) const;
  void note_declared(const Step& step);
  ShadowBlock* shadow_at(const std::byte* address);
  const ShadowBlock* shadow_at(const std::byte* address) const {
    return const_cast<Observer*>(this)->shadow_at(address);
  }
  /// Calls visit(shadow, range) for each row of the operand.
  template <typename Visit>
  void for_each_row(const Operand& operand, Visit visit) const;

  RunSession& session_;
  const std::vector<ProbeCrash>& crashes_;
  std::vector<ShadowBlock> shadows_;
  ReadableProbe readable_;
};

/// Weights cannot change; what a provider freed cannot be read any more.
bool Observer::is_shadowed(const md_block& block) const {
  if (block.provider_owned != 0) return readable_.can_read(block.address);
  return block.kind != MD_MEMORY_WEIGHT;
}

/// Follows the backend's table: new blocks, pooled blocks that grew, blocks that are gone.
void Observer::update_shadows() {
  const md_block* blocks = nullptr;
  const int count = session_.host()->blocks(&blocks);
  std::erase_if(shadows_, [&](const ShadowBlock& shadow) {
    return !is_shadowed(blocks[shadow.block()]) || !shadow.is_of(blocks[shadow.block()]);
  });
  for (int block = 0; block < count; ++block) {
    const bool known = std::any_of(shadows_.begin(), shadows_.end(),
                                   [&](const ShadowBlock& shadow) { return shadow.block() == block; });
    if (!known && is_shadowed(blocks[block])) shadows_.emplace_back(block, blocks[block]);
  }
}

ShadowBlock* Observer::shadow_at(const std::byte* address) {
  for (ShadowBlock& shadow : shadows_) {
    if (!shadow.provider_owned() && shadow.holds(address)) return &shadow;
  }
  return nullptr;
}

template <typename Visit>
void Observer::for_each_row(const Operand& operand, Visit visit) const {
  if (operand.buffer < 0 || operand.region.bytes() == 0) return;
  const std::byte* base = session_.state().base[operand.buffer] + operand.region.offset;
  const ShadowBlock* shadow = shadow_at(base);
  if (shadow == nullptr) return;
  const std::int64_t begin = shadow->offset_of(base);
  for (std::int64_t row = 0; row < operand.region.rows; ++row) {
    const std::int64_t at = begin + row * operand.region.stride;
    visit(const_cast<ShadowBlock&>(*shadow), ByteRange{at, at + operand.region.row_bytes});
  }
}

StepAccesses Observer::step(int number) {
  session_.page().phase = WorkerPhase::issuing;
  if (session_.program().steps[number].kind == StepKind::call) return call(number);
  plain_step(number);
  StepAccesses accesses;
  accesses.step = number;
  return accesses;
}

void Observer::plain_step(int number) {
  const Step& step = session_.program().steps[number];
  if (step.kind == StepKind::copy) session_.capture_begin(number);
  session_.issue_step(number);
  session_.synchronize(number);
  if (step.kind == StepKind::copy) session_.capture_end(number);
  update_shadows();
  for (const int operand : write_operands(step)) {
    for_each_row(step.operands[operand], [](ShadowBlock& shadow, ByteRange row) { shadow.refresh(row); });
  }
  // The pool poisons what it hands out, and may do anything with what it gets back.
  if (step.kind != StepKind::alloc && step.kind != StepKind::free) return;
  if (ShadowBlock* shadow = shadow_at(session_.state().base[step.buffer]); shadow != nullptr) shadow->refresh();
}

/// The step is issued before the watch begins, so that only the device is watched: a provider's host code may keep
/// books in its own statics. (A provider that synchronises inside its call has nothing left to watch, and the step
/// counts as not observed.)
std::vector<Touch> Observer::watched_execution(int number) {
  session_.issue_step(number);
  require(session_.backend(), session_.host()->observe_begin(), "beginning an observation", number);
  session_.page().phase = WorkerPhase::executing;
  session_.synchronize(number);
  const md_touch* touches = nullptr;
  const int count = session_.host()->observe_end(&touches);
  require(session_.backend(), count < 0 ? count : 0, "ending an observation", number);
  return join_pages(touches, count);
}

StepAccesses Observer::call(int number) {
  update_shadows();
  session_.capture_begin(number);
  StepAccesses accesses;
  accesses.step = number;
  accesses.touches = watched_execution(number);
  session_.capture_end(number);
  session_.check_red_zones(number);
  for (ShadowBlock& shadow : shadows_) {
    shadow.note_run(touched_ranges(accesses.touches, shadow.block(), shadow.size()));
  }
  note_declared(session_.program().steps[number]);
  probe(number, accesses);
  for (ShadowBlock& shadow : shadows_) {
    for (const auto& [begin, end] : shadow.changed()) {
      accesses.touches.push_back({shadow.block(), begin, end, Touch::What::changed});
    }
    shadow.commit();
  }
  return accesses;
}

void Observer::note_declared(const Step& step) {
  const auto is_scratch = [&](int operand) { return use_of(step, operand) == SlotUse::scratch; };
  for (const int operand : read_operands(step)) {
    if (is_scratch(operand)) continue;
    for_each_row(step.operands[operand], [](ShadowBlock& shadow, ByteRange row) { shadow.declare_read(row); });
  }
  for (const int operand : write_operands(step)) {
    if (is_scratch(operand)) continue;
    for_each_row(step.operands[operand], [](ShadowBlock& shadow, ByteRange row) { shadow.declare_output(row); });
  }
}

const ProbeCrash* Observer::crash(int number, int target) const {
  for (const ProbeCrash& crash : crashes_) {
    if (crash.step == number && crash.target == target) return &crash;
  }
  return nullptr;
}

void Observer::probe(int number, StepAccesses& accesses) {
  session_.page().phase = WorkerPhase::probing;
  if (repeat_differs(number, kProbeEverything, accesses)) {
    accesses.repeated_bitwise = false;
    isolate(number, accesses);
  }
  session_.page().phase = WorkerPhase::issuing;
}

/// Which undeclared block makes the difference? Nothing changed and still a difference: the op does not repeat, and no
/// block is to blame; asked several times, for it may alternate. No single block: it takes several, all of them are
/// named.
void Observer::isolate(int number, StepAccesses& accesses) {
  constexpr int kPlainRepeats = 3;
  for (int i = 0; i < kPlainRepeats; ++i) {
    if (repeat_differs(number, kProbeNothing, accesses)) return;
  }
  std::vector<int> suspects;
  for (std::size_t i = 0; i < shadows_.size(); ++i) {
    if (!shadows_[i].has_undeclared()) continue;
    const int block = shadows_[i].block();
    suspects.push_back(block);
    if (repeat_differs(number, block, accesses)) accesses.depends_on.push_back(block);
  }
  if (accesses.depends_on.empty()) accesses.depends_on = suspects;
}

bool Observer::repeat_differs(int number, int target, StepAccesses& accesses) {
  if (const ProbeCrash* crashed = crash(number, target); crashed != nullptr) {
    accesses.probe_note = crashed->note;
    return true;
  }
  bool differs = false;
  try {
    repeat(number, target);
    differs = outputs_differ(session_.program().steps[number]);
  } catch (const RunFailure& failure) {
    accesses.probe_note = failure.what();
    differs = true;
  }
  for (ShadowBlock& shadow : shadows_) shadow.restore();
  return differs;
}

void Observer::repeat(int number, int target) {
  session_.page().probe_block = target;
  const md_item* items = nullptr;
  const int first_item = session_.host()->trace(&items);
  for (ShadowBlock& shadow : shadows_) shadow.begin_repetition();
  session_.issue_step(number);
  for (ShadowBlock& shadow : shadows_) shadow.rewind(target == kProbeEverything || target == shadow.block());
  session_.synchronize(number);
  session_.leave_out(first_item, session_.host()->trace(&items));
  session_.host()->check_red_zones();  // damage done by perturbed data is not the step's
  for (ShadowBlock& shadow : shadows_) shadow.note_repetition();
}

bool Observer::outputs_differ(const Step& step) const {
  bool differs = false;
  for (const int operand : write_operands(step)) {
    if (use_of(step, operand) == SlotUse::scratch) continue;
    for_each_row(step.operands[operand],
                 [&](const ShadowBlock& shadow, ByteRange row) { differs = differs || shadow.differs(row); });
  }
  return differs;
}

}  // namespace

Run observe(RunSession& session, const std::vector<ProbeCrash>& crashes) {
  Observer observer(session, crashes);
  Run run;
  for (std::size_t i = 0; i < session.program().steps.size(); ++i) {
    run.accesses.push_back(observer.step(static_cast<int>(i)));
  }
  session.page().phase = WorkerPhase::collecting;
  session.collect(run);
  run.observed = true;
  return run;
}

}  // namespace moediff
