#include "harness/cli/make_record.h"

#include <fmt/format.h>

#include "harness/cli/expectation.h"
#include "harness/core/hash.h"

namespace moediff {
namespace {

std::string step_name_of(const Program& program, int step) {
  return step < 0 ? "" : program.steps[static_cast<std::size_t>(step)].name;
}

std::string value_name_of(const Program& program, int value) {
  return value < 0 ? "" : program.values[static_cast<std::size_t>(value)].name;
}

HazardRecord describe(const Program& program, const Hazard& hazard) {
  HazardRecord record;
  record.kind = to_string(hazard.kind);
  record.writer = step_name_of(program, hazard.writer);
  record.reader = step_name_of(program, hazard.reader);
  record.value = hazard.value >= 0    ? value_name_of(program, hazard.value)
                 : hazard.buffer >= 0 ? program.buffers[static_cast<std::size_t>(hazard.buffer)].name
                                      : hazard.memory;
  record.region = to_string(hazard.region);
  if (!hazard.edge_missing.empty()) record.edge_missing = hazard.edge_missing;
  record.undeclared = hazard.undeclared;
  return record;
}

// "routed_out @ hidden_states": the value, and the memory when it is not the value's own.
std::vector<std::string> operand_names(const Program& program, const Step& step, const std::vector<int>& operands) {
  std::vector<std::string> names;
  for (const int index : operands) {
    const Operand& operand = step.operands[static_cast<std::size_t>(index)];
    if (operand.buffer < 0) continue;
    const Buffer& buffer = program.buffers[static_cast<std::size_t>(operand.buffer)];
    if (buffer.kind == BufferKind::weight) continue;
    for (const int v : operand.values) {
      const Value& value = program.values[static_cast<std::size_t>(v)];
      const std::string name = value.chunk < 0 ? value.name : fmt::format("{}[{}]", value.name, value.chunk);
      names.push_back(value.name == buffer.name ? name : name + " @ " + buffer.name);
    }
  }
  return names;
}

Picture draw(const Program& program, const Hazard* deciding) {
  Picture picture;
  picture.streams = program.streams;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    PictureStep drawn;
    drawn.name = step.name;
    drawn.kind = to_string(step.kind);
    if (step.kind != StepKind::host_sync) drawn.stream = program.streams[static_cast<std::size_t>(step.stream)];
    drawn.event = step.event;
    drawn.reads = operand_names(program, step, read_operands(step));
    drawn.writes = operand_names(program, step, write_operands(step));
    drawn.clobbers = deciding != nullptr && deciding->writer == static_cast<int>(i);
    drawn.victim = deciding != nullptr && deciding->reader == static_cast<int>(i);
    picture.steps.push_back(std::move(drawn));
  }
  return picture;
}

std::string hash_output(const Diff& diff) {
  return to_hex(Hasher().add(std::as_bytes(std::span(diff.output_actual))).value());
}

// A pass says something about other schedules only when everything was seen and nothing was unordered.
void set_independence(CaseRecord& record, const OrderResult& order) {
  for (const Hazard& hazard : order.hazards) {
    if (hazard.edge_missing.empty() && hazard.kind != Cause::lifetime) continue;
    record.independent = false;
    record.independent_reason = hazard.edge_missing.empty() ? "memory is reused too early" : hazard.edge_missing;
    return;
  }
  if (order.complete) {
    record.independent = true;
  } else {
    record.independent_reason = order.incomplete_reason;
  }
}

std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// Quoted only where a shell would take it for something else.
std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:,@%=";
  return !text.empty() && text.find_first_not_of(kPlain) == std::string::npos ? text : shell_quoted(text);
}

}  // namespace

std::string repro_line(const Case& spec, const ReproContext& context) {
  return fmt::format("{} run {} --filter {} --seed {}{}", shell_word(context.program), shell_word(spec.scenario),
                     shell_quoted(spec.id), spec.seed, context.options);
}

CaseRecord begin_record(const PlannedCase& planned, const std::string& group, const ReproContext& context) {
  CaseRecord record;
  record.spec = planned.spec;
  record.group = group;
  record.schedule = to_string(planned.schedule);
  record.collapsed = planned.collapsed;
  record.repro = repro_line(planned.spec, context);
  if (planned.spec.skip_reason) {
    record.verdict.status = Status::skipped;
    record.observed = "declared";
    record.independent_reason = "skipped";
    return record;
  }
  record.program_hash = to_hex(planned.program_hash);
  record.picture = draw(planned.program, nullptr);
  return record;
}

void complete_record(CaseRecord& record, const PlannedCase& planned, const Run& run, const OrderResult& order,
                     const Diff* diff, Verdict verdict) {
  const Program& program = planned.program;
  for (const Hazard& hazard : order.hazards) record.hazards.push_back(describe(program, hazard));
  const Hazard* deciding = verdict.hazard >= 0 ? &order.hazards[static_cast<std::size_t>(verdict.hazard)] : nullptr;
  record.picture = draw(program, deciding);
  for (const int wait : order.redundant_waits) record.redundant_waits.push_back(step_name_of(program, wait));
  record.observed = run.observed ? "full" : "declared";
  set_independence(record, order);
  if (diff != nullptr) {
    record.stages = diff->stages;
    record.output_hash = hash_output(*diff);
  }
  record.unexpected_because = unexpected_because(planned.spec.expect, verdict);
  record.as_expected = record.unexpected_because.empty();
  record.verdict = std::move(verdict);
}

}  // namespace moediff
