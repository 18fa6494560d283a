// What replaying a file comes to, as values: one Check for each expected tensor, and the file's verdict.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/error.h"

namespace moediff {

struct Check {
  std::string name;           ///< what was checked: "ids", "topk_weights", "final"
  std::string expected;       ///< the tensor of the file that holds the expected values
  std::int64_t compared = 0;  ///< elements, or rows of ids
  double measured = 0;        ///< in the unit of `rule`; infinite where a value is not finite and should be
  double limit = 0;
  std::string rule;  ///< how `measured` is defined
  bool pass = false;
  std::string note;  ///< what was left out, and why; where the first mistake is
};

/// A file in which nothing was compared is inconclusive; one that cannot be understood is malformed.
enum class ReplayVerdict : std::uint8_t { pass, fail, inconclusive, malformed };
inline constexpr std::array<std::string_view, 4> kReplayVerdictNames{"pass", "fail", "inconclusive", "malformed"};
constexpr std::string_view to_string(ReplayVerdict verdict) {
  return kReplayVerdictNames[static_cast<std::size_t>(verdict)];
}

struct FileReplay {
  std::string path, kind;
  ReplayVerdict verdict = ReplayVerdict::inconclusive;
  std::vector<Check> checks;
  std::vector<std::string> unchecked;  ///< tensors of the file that its kind has no use for
  std::vector<Error> errors;           ///< malformed: all mistakes found
};

}  // namespace moediff
