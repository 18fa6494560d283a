#include "harness/run/ending.h"

#include <fmt/format.h>

#include <cstdlib>

#include "harness/run/failure.h"
#include "kernels/abi/moediff_abi.h"

namespace moediff {
namespace {

/// The page is as the candidate left it: nothing on it is trusted.
int checked_step(const Program& program, int step) {
  return step >= 0 && step < static_cast<int>(program.steps.size()) ? step : -1;
}

std::string in_parentheses(const std::string& kernel) {
  return kernel.empty() ? "" : fmt::format(" (kernel {})", kernel);
}

std::string describe_step(const Program& program, int step, const std::string& kernel) {
  return fmt::format("step {}{}", program.steps[step].name, in_parentheses(kernel));
}

/// Beyond this the nearest buffer has nothing to do with the access.
constexpr std::int64_t kFarAway = std::int64_t{1} << 30;

/// "wrote 128 bytes past gemm2_out".
std::string describe_access(const FaultReport& fault) {
  const std::string block = read_text(fault.block), verb = fault.is_write != 0 ? "wrote" : "read";
  const std::int64_t bytes = std::abs(fault.distance);
  if (block == MD_LABEL_NULL_POINTER) return fmt::format("{} through a null pointer, at address {}", verb, bytes);
  if (block.empty() || bytes > kFarAway) return verb + " memory that belongs to no buffer";
  if (bytes == 0) return fmt::format("{} {}, which it may not", verb, block);
  return fmt::format("{} {} byte{} {} {}", verb, bytes, bytes == 1 ? "" : "s", fault.distance > 0 ? "past" : "before",
                     block);
}

}  // namespace

std::string describe_work(const Program& program, const StatusPage& page) {
  const int running = checked_step(program, page.running), issuing = checked_step(program, page.issuing);
  switch (page.phase.load()) {
    case WorkerPhase::idle:
      return "no request at work";
    case WorkerPhase::loading:
      return "loading the provider";
    case WorkerPhase::preparing:
      return "allocating and filling the buffers";
    case WorkerPhase::collecting:
      return "collecting the results";
    case WorkerPhase::issuing:
    case WorkerPhase::executing:
    case WorkerPhase::probing:
      break;
  }
  if (running >= 0) return describe_step(program, running, read_text(page.kernel));
  if (page.phase == WorkerPhase::executing) return "waiting for the device, with no step at work";
  return issuing < 0 ? "issuing the first step" : "issuing " + describe_step(program, issuing, "");
}

Run run_after_death(const Program& program, const StatusPage& page, const std::string& how) {
  const int step = checked_step(program, page.fault.step);
  if (page.fault.seen != 0 && step >= 0) {
    const bool no_pointer = read_text(page.fault.block) == MD_LABEL_NULL_POINTER;
    return failed_run(no_pointer ? RunStatus::crash : RunStatus::out_of_bounds,
                      fmt::format("{}{} {}", program.steps[step].name, in_parentheses(read_text(page.fault.kernel)),
                                  describe_access(page.fault)),
                      step);
  }
  // A fault on behalf of no step is one of host code: the provider's, most likely, or ours.
  const std::string access = page.fault.seen != 0 ? ": host code " + describe_access(page.fault) : "";
  return failed_run(RunStatus::crash, fmt::format("{} in {}{}", how, describe_work(program, page), access),
                    checked_step(program, page.step()));
}

Run run_after_timeout(const Program& program, const StatusPage& page, double seconds) {
  return failed_run(RunStatus::hang, fmt::format("no end within {} s in {}", seconds, describe_work(program, page)),
                    checked_step(program, page.step()));
}

std::optional<ProbeCrash> interrupted_probe(const Program& program, const StatusPage& page, const std::string& note) {
  const int step = checked_step(program, page.issuing);
  if (page.phase != WorkerPhase::probing || step < 0) return std::nullopt;
  return ProbeCrash{step, page.probe_block, note};
}

}  // namespace moediff
