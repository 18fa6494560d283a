#include "harness/scenario/schedule.h"

#include <fmt/format.h>

#include <charconv>

namespace moediff {
namespace {

template <typename Integer>
std::optional<Integer> parse_number(std::string_view text) {
  Integer number{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::vector<int>> parse_order(std::string_view text) {
  std::vector<int> order;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::optional<int> item = parse_number<int>(text.substr(0, comma));
    if (!item || *item < 0) return std::nullopt;
    order.push_back(*item);
    if (comma == std::string_view::npos) return order;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::string to_string(const Schedule& schedule) {
  const std::string_view name = kSchedulePolicyNames[static_cast<std::size_t>(schedule.policy)];
  if (schedule.policy == SchedulePolicy::random) return fmt::format("{}:{}", name, schedule.seed);
  if (schedule.policy == SchedulePolicy::given) return fmt::format("{}:{}", name, fmt::join(schedule.order, ","));
  return std::string(name);
}

std::optional<Schedule> parse_schedule(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const bool has_argument = colon != std::string_view::npos;
  const std::string_view argument = has_argument ? text.substr(colon + 1) : std::string_view{};
  for (std::size_t i = 0; i < kSchedulePolicyNames.size(); ++i) {
    if (name != kSchedulePolicyNames[i]) continue;
    Schedule schedule;
    schedule.policy = static_cast<SchedulePolicy>(i);
    const bool takes_argument = schedule.policy == SchedulePolicy::random || schedule.policy == SchedulePolicy::given;
    if (has_argument != takes_argument) return std::nullopt;
    if (schedule.policy == SchedulePolicy::random) {
      const auto seed = parse_number<std::uint64_t>(argument);
      if (!seed) return std::nullopt;
      schedule.seed = *seed;
    }
    if (schedule.policy == SchedulePolicy::given) {
      const auto order = parse_order(argument);
      if (!order) return std::nullopt;
      schedule.order = *order;
    }
    return schedule;
  }
  return std::nullopt;
}

}  // namespace moediff
