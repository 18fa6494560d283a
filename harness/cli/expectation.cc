#include "harness/cli/expectation.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "harness/core/text.h"

namespace moediff {

std::string unexpected_because(const Expectation& expected, const Verdict& verdict) {
  std::vector<std::string> differences;
  if (verdict.status != expected.status) {
    differences.push_back(
        fmt::format("status is {}, expected {}", to_string(verdict.status), to_string(expected.status)));
  }
  if (expected.cause && verdict.cause != expected.cause) {
    const std::string_view cause = verdict.cause ? to_string(*verdict.cause) : "none";
    differences.push_back(fmt::format("cause is {}, expected {}", cause, to_string(*expected.cause)));
  }
  struct Part {
    const char* name;
    const std::string &wanted, &found;
  };
  const std::array<Part, 4> parts{{{"op", expected.blame_op, verdict.blame.op},
                                   {"value", expected.blame_value, verdict.blame.value},
                                   {"buffer", expected.blame_buffer, verdict.blame.buffer},
                                   {"writer", expected.blame_writer, verdict.blame.writer}}};
  for (const Part& part : parts) {
    if (part.wanted.empty() || part.wanted == part.found) continue;
    differences.push_back(fmt::format("blamed {} is '{}', expected '{}'", part.name, part.found, part.wanted));
  }
  return join(differences, "; ");
}

}  // namespace moediff
