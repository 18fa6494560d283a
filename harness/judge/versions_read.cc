// Captured operands are packed row-major, so equal sizes compare byte by byte.
#include "harness/judge/versions_read.h"

#include <algorithm>
#include <span>

namespace moediff {
namespace {

using Bytes = std::span<const std::byte>;

/// The capture of the operand among `operands` that shows exactly `value`; empty when there is none.
Bytes captured(const Program& program, const Run& run, int step, const std::vector<int>& operands, int value) {
  if (step >= static_cast<int>(run.capture.operands.size())) return {};
  for (const int operand : operands) {
    if (program.steps[step].operands[operand].values != std::vector<int>{value}) continue;
    if (operand < static_cast<int>(run.capture.operands[step].size())) return run.capture.operands[step][operand];
  }
  return {};
}

/// The version meant: as produced, or as the first reader before the writer saw it.
Bytes meant_version(const Program& program, const Run& run, const Hazard& hazard) {
  const int made = producer(program, hazard.value);
  if (made >= 0) return captured(program, run, made, write_operands(program.steps[made]), hazard.value);
  for (int step = 0; step < std::min(hazard.writer, hazard.reader); ++step) {
    const Bytes bytes = captured(program, run, step, read_operands(program.steps[step]), hazard.value);
    if (!bytes.empty()) return bytes;
  }
  return {};
}

}  // namespace

std::optional<Spoiled> bytes_of_another_version(const Program& program, const Run& run, const Hazard& hazard) {
  if (hazard.value < 0 || hazard.reader < 0) return std::nullopt;
  const Bytes read = captured(program, run, hazard.reader, read_operands(program.steps[hazard.reader]), hazard.value);
  const Bytes meant = meant_version(program, run, hazard);
  if (read.empty() || read.size() != meant.size()) return std::nullopt;
  Spoiled spoiled{0, static_cast<std::int64_t>(read.size())};
  for (std::size_t i = 0; i < read.size(); ++i) spoiled.different += read[i] != meant[i] ? 1 : 0;
  return spoiled;
}

}  // namespace moediff
