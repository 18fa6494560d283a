// Declared accesses by the slot tables; observed ones by range subtraction per step and block.
#include "harness/order/accesses.h"

#include <algorithm>
#include <map>

#include "harness/order/ranges.h"

namespace moediff {
namespace {

using What = Touch::What;

// Two bytes of one page are less than this far apart, wherever in its first page a block starts.
constexpr std::int64_t kPageReach = 4095;

std::vector<Access> declared_accesses(const Program& program, int step) {
  std::vector<Access> found;
  const Step& s = program.steps[step];
  const auto add = [&](const std::vector<int>& operands, bool write) {
    for (const int operand : operands) {
      const Operand& o = s.operands[operand];
      found.push_back({step, o.buffer, -1, o.region, write, true, operand});
    }
  };
  add(read_operands(s), false);
  add(write_operands(s), true);
  return found;
}

Region moved(Region region, std::int64_t by) {
  region.offset += by;
  return region;
}

/// Issue position of the step of `kind` that names the buffer; `otherwise` when there is none.
int pool_step(const Program& program, StepKind kind, int buffer, int otherwise) {
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (program.steps[i].kind == kind && program.steps[i].buffer == buffer) return static_cast<int>(i);
  }
  return otherwise;
}

/// One observed call, seen from one block of memory.
class BlockView {
 public:
  BlockView(const Program& program, const Run& observed, const StepAccesses& seen, int block)
      : program_(program), observed_(observed), step_(seen.step), block_(block) {
    for (const Touch& touch : seen.touches) {
      if (touch.block == block) touched_[static_cast<int>(touch.what)].push_back({touch.begin, touch.end});
    }
    for (const Access& access : declared_accesses(program, step_)) {
      if (lies_here(access.buffer)) declared_.push_back({access.write, in_block(access)});
    }
  }

  /// Undeclared accesses, attributed to the buffer that owned the bytes at that step.
  void add_undeclared(bool depends, std::vector<Access>& to) const {
    const Ranges writes = declared(true, 0), near_writes = declared(true, kPageReach);
    Ranges near_all = declared(false, kPageReach);
    near_all.insert(near_all.end(), near_writes.begin(), near_writes.end());

    Ranges written = subtract(touched(What::changed), writes);
    // A page of undeclared memory that was written with the very same bytes counts as a whole.
    Ranges near_changed = widened(written, kPageReach);
    near_changed.insert(near_changed.end(), near_writes.begin(), near_writes.end());
    const Ranges same_bytes = subtract(touched(What::write), near_changed);
    written.insert(written.end(), same_bytes.begin(), same_bytes.end());
    attribute(normalised(written), true, to);

    const Ranges read = subtract(touched(What::read), near_all);
    attribute(read, false, to);
    // The results depend on it, though no page of its own shows it: the bytes cannot be told, the block can.
    if (depends && read.empty()) attribute({{0, observed_.blocks[block_].bytes}}, false, to);
  }

  /// Memory of the provider: every touch is an access, and there is nothing to declare.
  void add_provider_owned(bool depends, std::vector<Access>& to) const {
    Ranges read = touched(What::read), written = touched(What::write);
    const Ranges changed = touched(What::changed);
    written.insert(written.end(), changed.begin(), changed.end());
    if (depends) read.push_back({0, observed_.blocks[block_].bytes});
    for (const Range& range : normalised(read)) to.push_back({step_, -1, block_, region_of(range), false, false, -1});
    for (const Range& range : normalised(written)) to.push_back({step_, -1, block_, region_of(range), true, false, -1});
  }

 private:
  struct Declared {
    bool write;
    Region region;  ///< in the block
  };

  bool lies_here(int buffer) const {
    return buffer >= 0 && buffer < static_cast<int>(observed_.placement.size()) &&
           observed_.placement[buffer].block == block_;
  }
  Region in_block(const Access& access) const {
    return moved(access.region, observed_.placement[access.buffer].offset);
  }
  Ranges touched(What what) const { return touched_[static_cast<int>(what)]; }
  Ranges declared(bool write, std::int64_t margin) const {
    Ranges all;
    for (const Declared& d : declared_) {
      if (d.write != write) continue;
      const Ranges runs = ranges_of(d.region, margin);
      all.insert(all.end(), runs.begin(), runs.end());
    }
    return all;
  }
  static Ranges widened(Ranges ranges, std::int64_t margin) {
    for (Range& range : ranges) range = {range.begin - margin, range.end + margin};
    return ranges;
  }

  /// Of the buffers that hold the block in turn, the one alive at this step in issue order.
  int owner(const Range& range) const {
    int found = -1, latest = -2;  // the latest allocated before this step, else any
    for (int b = 0; b < static_cast<int>(program_.buffers.size()); ++b) {
      if (!lies_here(b)) continue;
      const std::int64_t begin = observed_.placement[b].offset, end = begin + program_.buffers[b].bytes;
      if (range.begin >= end || range.end <= begin) continue;
      const int alloc = pool_step(program_, StepKind::alloc, b, -1);
      if (found < 0) found = b;
      if (alloc < step_ && alloc > latest) {
        found = b;
        latest = alloc;
      }
    }
    return found;
  }

  void attribute(const Ranges& ranges, bool write, std::vector<Access>& to) const {
    for (const Range& range : ranges) {
      const int buffer = owner(range);
      if (buffer < 0) continue;
      const std::int64_t offset = observed_.placement[buffer].offset;
      const Range inside{std::max<std::int64_t>(range.begin - offset, 0),
                         std::min(range.end - offset, program_.buffers[buffer].bytes)};
      to.push_back({step_, buffer, -1, region_of(inside), write, false, -1});
    }
  }

  const Program& program_;
  const Run& observed_;
  int step_, block_;
  Ranges touched_[3];
  std::vector<Declared> declared_;
};

bool was_touched(const Program& program, const Run& observed, const StepAccesses& seen, const Access& access) {
  // A call that touched nothing at all was not watched (an opaque device), rather than idle.
  if (seen.touches.empty()) return true;
  // Weights are read-only and not watched for reads.
  if (program.buffers[access.buffer].kind == BufferKind::weight) return true;
  const Placement place = observed.placement[access.buffer];
  const Region region = moved(access.region, place.offset);
  return std::any_of(seen.touches.begin(), seen.touches.end(), [&](const Touch& touch) {
    return touch.block == place.block && overlap(region_of({touch.begin, touch.end}), region);
  });
}

void add_observed(const Program& program, const Run& observed, const StepAccesses& seen, std::vector<Access>& to) {
  for (const Access& access : declared_accesses(program, seen.step)) {
    if (was_touched(program, observed, seen, access)) to.push_back(access);
  }
  std::map<int, bool> blocks;  // touched block -> do the results depend on what it holds undeclared?
  for (const Touch& touch : seen.touches) blocks[touch.block];
  for (const int block : seen.depends_on) blocks[block] = true;
  for (const auto& [block, depends] : blocks) {
    if (block < 0 || block >= static_cast<int>(observed.blocks.size())) continue;
    const BlockView view(program, observed, seen, block);
    if (observed.blocks[block].provider_owned) {
      view.add_provider_owned(depends, to);
    } else {
      view.add_undeclared(depends, to);
    }
  }
}

}  // namespace

std::vector<Access> collect_accesses(const Program& program, const Run* observed) {
  std::vector<const StepAccesses*> seen(program.steps.size(), nullptr);
  if (observed != nullptr && observed->observed && observed->placement.size() == program.buffers.size()) {
    for (const StepAccesses& accesses : observed->accesses) {
      const bool known = accesses.step >= 0 && accesses.step < static_cast<int>(program.steps.size());
      if (known) seen[accesses.step] = &accesses;
    }
  }
  std::vector<Access> all;
  for (std::size_t step = 0; step < program.steps.size(); ++step) {
    if (seen[step] != nullptr && program.steps[step].kind == StepKind::call) {
      add_observed(program, *observed, *seen[step], all);
    } else {
      const std::vector<Access> declared = declared_accesses(program, static_cast<int>(step));
      all.insert(all.end(), declared.begin(), declared.end());
    }
  }
  return all;
}

}  // namespace moediff
