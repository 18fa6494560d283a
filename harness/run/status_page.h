// What a worker is doing right now, on a page shared with its parent: all that is left to read after a crash or a hang.
// Written by the worker's threads and by its fault handler (async-signal-safe code only), read by the parent.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace moediff {

enum class WorkerPhase : std::int32_t { idle, loading, preparing, issuing, executing, probing, collecting };

/// A fixed-size text that can be written in a signal handler.
using PageText = std::array<char, 160>;
void write_text(PageText& text, std::string_view from);
/// Ends at the first NUL or at the last byte, whatever a wild write left there.
std::string read_text(const PageText& text);

/// An access that the host backend's fault handler reported.
struct FaultReport {
  std::atomic<std::int32_t> seen{0};
  std::int32_t step = -1, is_write = 0;
  std::int64_t distance = 0;  ///< bytes past the end of the block (> 0), before its start (< 0), inside it (0)
  PageText kernel{}, block{};
};

struct StatusPage {
  std::atomic<std::uint64_t> request{0};  ///< number of the request being worked on
  std::atomic<WorkerPhase> phase{WorkerPhase::idle};
  std::atomic<std::int32_t> issuing{-1};      ///< step last issued
  std::atomic<std::int32_t> running{-1};      ///< step whose work began last and has not ended; -1: none
  std::atomic<std::int32_t> probe_block{-1};  ///< while probing: see ProbeTarget
  PageText kernel{};                          ///< kernels of the running step
  FaultReport fault;

  /// Forgets the last request.
  void start(std::uint64_t number);
  /// The step to blame for what happens now; -1: none.
  int step() const { return running >= 0 ? running : issuing; }
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<WorkerPhase>::is_always_lock_free,
              "shared between processes");

}  // namespace moediff
