// In which order the device takes up work that its streams leave unordered.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace moediff {

enum class SchedulePolicy : std::uint8_t {
  submission,  ///< the host's issue order
  reverse,     ///< the youngest stream that is ready goes first
  random,      ///< seeded choice among the ready streams
  given,       ///< one given order of trace items
  threads,     ///< one real thread a stream
};
inline constexpr std::array<std::string_view, 5> kSchedulePolicyNames{"submission", "reverse", "random", "given",
                                                                      "threads"};

struct Schedule {
  SchedulePolicy policy = SchedulePolicy::submission;
  std::uint64_t seed = 0;    ///< random
  std::vector<int> order;    ///< given: trace item numbers (TraceItem::seq) in execution order
  bool reuse_memory = true;  ///< false: the pool never hands a freed block out again (an intervention)
  bool operator==(const Schedule&) const = default;
};

/// "submission", "reverse", "random:7", "given:2,0,1", "threads". An intervention (`reuse_memory`) is not part of the
/// text.
std::string to_string(const Schedule& schedule);
/// The schedule that `text` names, or nothing when it names none.
std::optional<Schedule> parse_schedule(std::string_view text);

}  // namespace moediff
