// Programs as plain data: region arithmetic on strided bytes, the reads and writes of a step by its op's slot table,
// the content hash and the invariants. Regions are compared run by run, in time linear in the rows of the smaller one.
#include "harness/program/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "harness/core/check.h"
#include "harness/core/hash.h"

namespace moediff {
namespace {

constexpr std::array<std::string_view, 4> kBufferKindNames{"activation", "input", "weight", "workspace"};
constexpr std::array<std::string_view, 8> kStepKindNames{"call", "copy",  "fill", "record",
                                                         "wait", "alloc", "free", "host_sync"};

bool is_empty(const Region& region) { return region.rows <= 0 || region.row_bytes <= 0; }

/// The same bytes in as few runs as possible: rows without gaps are one run.
Region merged(const Region& region) {
  if (region.rows > 1 && region.stride == region.row_bytes) return {region.offset, 1, region.bytes(), region.bytes()};
  return region;
}

/// Does any row of `region` share a byte with [begin, end)?
bool touches(const Region& region, std::int64_t begin, std::int64_t end) {
  if (region.rows == 1) return begin < region.end() && region.begin() < end;
  // First row that ends after `begin`; it is the only one that can be the first to overlap.
  const std::int64_t past = begin - region.offset - region.row_bytes;
  const std::int64_t row = past < 0 ? 0 : past / region.stride + 1;
  return row < region.rows && region.offset + row * region.stride < end;
}

/// Does one row of `region` hold all of [begin, end)?
bool holds(const Region& region, std::int64_t begin, std::int64_t end) {
  if (begin < region.begin() || end > region.end()) return false;
  const std::int64_t row = region.rows == 1 ? 0 : (begin - region.offset) / region.stride;
  return end <= region.offset + row * region.stride + region.row_bytes;
}

bool is_used(const Step& step, int operand) {
  return operand < static_cast<int>(step.operands.size()) && step.operands[operand].buffer >= 0;
}

template <typename Wanted>
std::vector<int> operands_where(const Step& step, Wanted wanted) {
  std::vector<int> found;
  const auto slots_of_op = slots(step.op);
  for (int i = 0; i < static_cast<int>(slots_of_op.size()); ++i) {
    if (wanted(slots_of_op[i].use) && is_used(step, i)) found.push_back(i);
  }
  return found;
}

std::vector<int> only(const Step& step, int operand) {
  return is_used(step, operand) ? std::vector<int>{operand} : std::vector<int>{};
}

void add_numbers(Hasher& hasher, std::initializer_list<std::int64_t> numbers) {
  for (const std::int64_t number : numbers) hasher.add(number);
}

void add_shape(Hasher& hasher, const Shape& shape) {
  hasher.add(static_cast<std::int64_t>(shape.size()));
  for (const std::int64_t extent : shape) hasher.add(extent);
}

void add_indices(Hasher& hasher, const std::vector<int>& indices) {
  hasher.add(static_cast<std::int64_t>(indices.size()));
  for (const int index : indices) hasher.add(static_cast<std::int64_t>(index));
}

void add_region(Hasher& hasher, const Region& region) {
  // The stride of a single row has no meaning and must not tell equal Programs apart.
  add_numbers(hasher, {region.offset, region.rows, region.row_bytes, region.rows == 1 ? 0 : region.stride});
}

void add_double(Hasher& hasher, double value) { hasher.add(std::bit_cast<std::int64_t>(value)); }

template <typename... Enum>
void add_words(Hasher& hasher, Enum... words) {
  add_numbers(hasher, {static_cast<std::int64_t>(words)...});
}

void add_policies(Hasher& hasher, const OpParams& p) {
  const RouterPolicy& r = p.router;
  add_words(hasher, r.scoring, r.bias, r.group_score, r.mask, r.logits_in, r.scores_in, r.bias_in, r.choice_in,
            r.weights_in, r.weight_from, r.factor, r.weight_on, r.not_finite);
  add_double(hasher, r.norm_epsilon);
  const ExpertPolicy& e = p.expert;
  add_words(hasher, e.activation, e.activation_rounding, e.sum);
  add_double(hasher, e.limit);
  const QuantSpec& q = p.quant;
  add_words(hasher, q.scheme, q.fp8, q.scales, q.scale_from, q.scale_by, q.half_to, q.ragged, q.shared, q.quantize_a2,
            q.group, p.halves, p.saturate, p.field_factor);
  add_double(hasher, q.fmax);
  add_double(hasher, q.amax_floor);
}

void add_step(Hasher& hasher, const Step& step) {
  add_numbers(hasher, {static_cast<std::int64_t>(step.kind), step.stream, step.event, step.buffer});
  if (step.kind == StepKind::call) {
    const OpParams& p = step.params;
    add_numbers(hasher,
                {static_cast<std::int64_t>(step.op), p.top_k, p.n_group, p.topk_group, p.norm_topk_prob, p.split_k});
    add_double(hasher, p.factor);
    add_policies(hasher, p);
  }
  hasher.add(static_cast<std::int64_t>(step.operands.size()));
  for (const Operand& operand : step.operands) {
    add_numbers(hasher, {operand.buffer, static_cast<std::int64_t>(operand.dtype)});
    add_region(hasher, operand.region);
    add_shape(hasher, operand.shape);
    add_indices(hasher, operand.values);
  }
}

bool in_range(int index, std::size_t size) { return index >= 0 && index < static_cast<int>(size); }

void validate_region(const Program& program, int buffer, const Region& region) {
  CHECK(in_range(buffer, program.buffers.size()), "buffer index out of range");
  CHECK(region.rows >= 0 && region.row_bytes >= 0, "a region has a negative extent");
  CHECK(region.rows <= 1 || region.stride >= region.row_bytes, "the rows of a region overlap");
  CHECK(region.begin() >= 0 && region.end() <= program.buffers[buffer].bytes, "a region leaves its buffer");
}

void validate_step(const Program& program, const Step& step) {
  CHECK(in_range(step.stream, program.streams.size()), "stream index out of range");
  const bool uses_event = step.kind == StepKind::record || step.kind == StepKind::wait;
  CHECK(!uses_event || in_range(step.event, static_cast<std::size_t>(program.events)), "event index out of range");
  const bool uses_buffer = step.kind == StepKind::alloc || step.kind == StepKind::free;
  CHECK(!uses_buffer || in_range(step.buffer, program.buffers.size()), "buffer index out of range");
  CHECK(!uses_buffer || program.buffers[step.buffer].pooled, "only pooled buffers are allocated and freed");
  CHECK(step.kind != StepKind::call || step.operands.size() == slots(step.op).size(), "a call needs every slot");
  CHECK(step.kind != StepKind::copy || step.operands.size() == 2, "a copy has a source and a destination");
  CHECK(step.kind != StepKind::fill || step.operands.size() == 1, "a fill has a destination");
  for (const Operand& operand : step.operands) {
    if (operand.buffer < 0) continue;
    validate_region(program, operand.buffer, operand.region);
    for (const int value : operand.values) {
      CHECK(in_range(value, program.values.size()), "value index out of range");
    }
  }
}

/// Every value is written exactly once, into the bytes where it lives, or is there from the start.
void validate_values(const Program& program) {
  std::vector<int> written(program.values.size(), 0);
  for (const Step& step : program.steps) {
    for (const int index : write_operands(step)) {
      const Operand& operand = step.operands[index];
      for (const int value : operand.values) {
        ++written[value];
        CHECK(operand.buffer == program.values[value].buffer, "a value is written to another buffer");
        CHECK(contains(operand.region, program.values[value].region), "a value is not written as a whole");
      }
    }
  }
  for (std::size_t i = 0; i < program.values.size(); ++i) {
    validate_region(program, program.values[i].buffer, program.values[i].region);
    CHECK(written[i] == (program.values[i].initial.empty() ? 1 : 0), "a value is written once, or is initial");
  }
}

/// A pooled buffer is allocated at most once, and once when it holds a value; freed at most once, after that.
void validate_pool(const Program& program) {
  std::vector<int> allocs(program.buffers.size(), 0), frees(program.buffers.size(), 0);
  for (const Step& step : program.steps) {
    if (step.kind == StepKind::alloc) ++allocs[step.buffer];
    if (step.kind != StepKind::free) continue;
    CHECK(allocs[step.buffer] == 1, "a buffer is freed before it is allocated");
    ++frees[step.buffer];
  }
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    CHECK(allocs[i] <= 1 && frees[i] <= 1, "a buffer is allocated or freed twice");
  }
  for (const Value& value : program.values) {
    CHECK(!program.buffers[value.buffer].pooled || allocs[value.buffer] == 1, "a pooled buffer is never allocated");
  }
}

}  // namespace

std::string_view to_string(BufferKind kind) { return kBufferKindNames[static_cast<std::size_t>(kind)]; }
std::string_view to_string(StepKind kind) { return kStepKindNames[static_cast<std::size_t>(kind)]; }

bool overlap(const Region& a, const Region& b) {
  if (is_empty(a) || is_empty(b)) return false;
  Region few = merged(a), many = merged(b);
  if (few.rows > many.rows) std::swap(few, many);
  for (std::int64_t row = 0; row < few.rows; ++row) {
    const std::int64_t begin = few.offset + row * few.stride;
    if (touches(many, begin, begin + few.row_bytes)) return true;
  }
  return false;
}

bool contains(const Region& outer, const Region& inner) {
  if (is_empty(inner)) return true;
  if (is_empty(outer)) return false;
  const Region from = merged(outer), runs = merged(inner);
  for (std::int64_t row = 0; row < runs.rows; ++row) {
    const std::int64_t begin = runs.offset + row * runs.stride;
    if (!holds(from, begin, begin + runs.row_bytes)) return false;
  }
  return true;
}

std::string to_string(const Region& region) {
  if (is_empty(region)) return "no bytes";
  if (region.rows == 1) return fmt::format("bytes {}-{}", region.begin(), region.end() - 1);
  const std::int64_t first = region.offset / region.stride, column = region.offset % region.stride;
  const std::string where = column == 0 ? "" : fmt::format(" from byte {}", column);
  return fmt::format("rows {}-{} of {} bytes{}", first, first + region.rows - 1, region.row_bytes, where);
}

std::vector<int> read_operands(const Step& step) {
  if (step.kind == StepKind::copy) return only(step, 0);
  if (step.kind != StepKind::call) return {};
  return operands_where(step, [](SlotUse use) { return use != SlotUse::write; });
}

std::vector<int> write_operands(const Step& step) {
  if (step.kind == StepKind::copy) return only(step, 1);
  if (step.kind == StepKind::fill) return only(step, 0);
  if (step.kind != StepKind::call) return {};
  return operands_where(step, [](SlotUse use) { return use == SlotUse::write || use == SlotUse::scratch; });
}

int producer(const Program& program, int value) {
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    for (const int operand : write_operands(program.steps[i])) {
      const std::vector<int>& values = program.steps[i].operands[operand].values;
      if (std::find(values.begin(), values.end(), value) != values.end()) return static_cast<int>(i);
    }
  }
  return -1;
}

std::uint64_t hash(const Program& program) {
  Hasher hasher;
  const MoeShape& s = program.shape;
  add_numbers(hasher, {s.hidden, s.inter, s.experts, s.top_k, s.n_group, s.topk_group, s.n_shared, s.norm_topk_prob});
  add_double(hasher, s.routed_scaling_factor);
  add_numbers(hasher, {program.tokens, static_cast<std::int64_t>(program.dtype), program.shared_fused, program.events,
                       static_cast<std::int64_t>(program.streams.size())});
  hasher.add(static_cast<std::int64_t>(program.buffers.size()));
  for (const Buffer& b : program.buffers) add_numbers(hasher, {static_cast<std::int64_t>(b.kind), b.bytes, b.pooled});
  hasher.add(static_cast<std::int64_t>(program.values.size()));
  for (const Value& value : program.values) {
    add_numbers(hasher, {static_cast<std::int64_t>(value.dtype), value.buffer, value.row_offset});
    add_shape(hasher, value.shape);
    add_region(hasher, value.region);
    hasher.add(std::string_view(value.initial));
  }
  hasher.add(static_cast<std::int64_t>(program.steps.size()));
  for (const Step& step : program.steps) add_step(hasher, step);
  add_indices(hasher, program.outputs);
  return hasher.value();
}

void validate(const Program& program) {
  for (const Step& step : program.steps) validate_step(program, step);
  validate_values(program);
  validate_pool(program);
  for (const int value : program.outputs) {
    CHECK(in_range(value, program.values.size()), "output index out of range");
  }
}

}  // namespace moediff
