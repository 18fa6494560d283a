// Files that were replayed, on a terminal: one line each, more where it matters.
#include "reports/replay_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/text.h"
#include "reports/colour.h"
#include "reports/safe_text.h"

namespace moediff {
namespace {

Ink ink_of(ReplayVerdict verdict) {
  if (verdict == ReplayVerdict::pass) return Ink::green;
  return verdict == ReplayVerdict::inconclusive ? Ink::yellow : Ink::red;
}

std::string_view word_of(const Check& check) {
  if (check.compared == 0) return "nothing";
  return check.pass ? "ok" : "FAIL";
}

/// "final (hf.f64.final)"; without the tensor where none is expected.
std::string label_of(const Check& check) {
  return safe_text(check.name) + (check.expected.empty() ? "" : " (" + safe_text(check.expected) + ")");
}

/// "FAIL    final (hf.f64.final): measured 3.1e-03, limit 1e-12 (largest difference / largest expected magnitude; 640
/// compared)".
std::string check_line(const Check& check, bool colour) {
  const bool fails = check.compared > 0 && !check.pass;
  const std::string line =
      fmt::format("  {} {}: measured {}, limit {} ({}; {} compared)",
                  paint(fmt::format("{:<7}", word_of(check)), fails ? Ink::red : Ink::grey, colour), label_of(check),
                  short_number(check.measured), short_number(check.limit), check.rule, check.compared);
  return line + (check.note.empty() ? "" : "\n          " + safe_text(check.note)) + "\n";
}

/// The check that came nearest to its limit, of those that have one above 0.
const Check* nearest_to_limit(const FileReplay& file) {
  const Check* worst = nullptr;
  for (const Check& check : file.checks) {
    if (check.compared == 0 || check.limit == 0) continue;
    if (worst == nullptr || check.measured / check.limit > worst->measured / worst->limit) worst = &check;
  }
  return worst;
}

std::string summary_of(const FileReplay& file) {
  if (file.verdict == ReplayVerdict::malformed)
    return fmt::format("{} mistake{}", file.errors.size(), file.errors.size() == 1 ? "" : "s");
  const auto failed = std::count_if(file.checks.begin(), file.checks.end(),
                                    [](const Check& check) { return check.compared > 0 && !check.pass; });
  if (failed > 0) return fmt::format("{} of {} checks fail", failed, file.checks.size());
  if (file.verdict == ReplayVerdict::inconclusive) return "nothing was compared";
  const Check* const worst = nearest_to_limit(file);
  if (worst == nullptr) return fmt::format("{} checks, all exact", file.checks.size());
  return fmt::format("{} checks, at most {} % of a limit ({})", file.checks.size(),
                     short_number(100 * worst->measured / worst->limit, 2), label_of(*worst));
}

/// Tensors that the file holds and no check reads: a misspelt name is one of them.
std::string not_used(const FileReplay& file) {
  if (file.unchecked.empty()) return "";
  return fmt::format("; {} tensor{} not used", file.unchecked.size(), file.unchecked.size() == 1 ? "" : "s");
}

}  // namespace

std::string render_replay(const FileReplay& file, bool verbose, bool colour) {
  std::string text =
      fmt::format("{} {}{}: {}\n", paint(fmt::format("{:<12}", to_string(file.verdict)), ink_of(file.verdict), colour),
                  safe_text(file.path), file.kind.empty() ? "" : " (" + safe_text(file.kind) + ")",
                  summary_of(file) + not_used(file));
  for (const Check& check : file.checks) {
    if (verbose || (check.compared > 0 && !check.pass)) text += check_line(check, colour);
  }
  if (!verbose) return text;
  for (const std::string& name : file.unchecked) text += "  not used: " + safe_text(name) + "\n";
  return text;
}

std::string render_replay_summary(std::span<const FileReplay> files) {
  std::string text = fmt::format("{} files:", files.size());
  for (std::size_t v = 0; v < kReplayVerdictNames.size(); ++v) {
    const auto count = std::count_if(files.begin(), files.end(), [&](const FileReplay& file) {
      return file.verdict == static_cast<ReplayVerdict>(v);
    });
    if (count > 0) text += fmt::format(" {} {}", count, kReplayVerdictNames[v]);
  }
  return text + "\n";
}

}  // namespace moediff
