#include "harness/compare/outputs.h"

#include <cstring>

#include "harness/compare/assemble.h"
#include "harness/compare/stage_diff.h"

namespace moediff {
namespace {

std::vector<double> elements(DType dtype, std::span<const std::byte> bytes) {
  if (dtype != DType::field) return to_doubles(dtype, bytes);
  std::vector<double> bits(bytes.size() / sizeof(double));
  std::memcpy(bits.data(), bytes.data(), bits.size() * sizeof(double));
  return bits;
}

}  // namespace

std::vector<double> outputs_of(const Program& program, const Run& run) {
  std::vector<double> all;
  for (const int output : program.outputs) {
    const Origin from = origin(program, output);
    if (from.step < 0) return {};
    const std::span<const std::byte> bytes = captured(program, run, from.step, from.operand);
    if (bytes.empty()) return {};
    const std::vector<double> part = elements(program.values[static_cast<std::size_t>(output)].dtype, bytes);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

std::vector<std::int32_t> choices_of(const Program& program, const Run& run) {
  for (std::size_t step = 0; step < program.steps.size(); ++step) {
    if (program.steps[step].kind != StepKind::call || program.steps[step].op != OpKind::router) continue;
    const std::span<const std::byte> bytes =
        captured(program, run, static_cast<int>(step), slot_index(OpKind::router, "topk_ids"));
    std::vector<std::int32_t> ids(bytes.size() / sizeof(std::int32_t));
    std::memcpy(ids.data(), bytes.data(), ids.size() * sizeof(std::int32_t));
    return ids;
  }
  return {};
}

}  // namespace moediff
