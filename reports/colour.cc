// Method: the basic ANSI colours only, so that every terminal theme stays readable.
#include "reports/colour.h"

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "reports/console.h"

namespace moediff {
namespace {

constexpr std::array<std::string_view, 6> kCodes{"31", "32", "33", "34", "90", "1"};

}  // namespace

bool use_colour(std::FILE* file) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  if (terminal != nullptr && std::string_view(terminal) == "dumb") return false;
  return isatty(fileno(file)) == 1;
}

std::string paint(std::string_view text, Ink ink, bool colour) {
  if (!colour || text.empty()) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", kCodes[static_cast<std::size_t>(ink)], text);
}

std::string_view outcome(Status status, bool as_expected) {
  if (!as_expected) return "UNEXPECTED";
  return status == Status::fail ? "caught" : to_string(status);
}

Ink outcome_ink(Status status, bool as_expected) {
  if (!as_expected) return Ink::red;
  switch (status) {
    case Status::pass:
      return Ink::green;
    case Status::fail:
      return Ink::blue;
    case Status::inconclusive:
      return Ink::yellow;
    case Status::error:
      return Ink::red;
    case Status::skipped:
      return Ink::grey;
  }
  return Ink::bold;
}

std::string cause_and_place(const Verdict& verdict) {
  if (!verdict.cause) return "";
  const Blame& blame = verdict.blame;
  std::string text(to_string(*verdict.cause));
  if (!blame.op.empty()) text += " at " + blame.op;
  std::string detail = blame.value;
  if (!blame.writer.empty()) detail += fmt::format("{}written by {}", detail.empty() ? "" : ", ", blame.writer);
  return detail.empty() ? text : fmt::format("{} ({})", text, detail);
}

}  // namespace moediff
