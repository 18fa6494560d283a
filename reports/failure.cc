// One failure in full, for a reader who has only this block: what, why we believe it, where, and how to see it again.
#include <fmt/core.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "harness/core/text.h"
#include "reports/colour.h"
#include "reports/console.h"
#include "reports/safe_text.h"

namespace moediff {
namespace {

/// A witness schedule cures nothing: it makes the error show.
const char* what_it_did(const Evidence& e) {
  if (e.cured) return "cured";
  return e.worst_after > 1.5 * e.worst_before ? "shows it" : "not cured";
}

constexpr std::size_t kMismatchesShown = 4;

std::string line(std::string_view text) { return fmt::format("  {}\n", safe_text(text)); }

/// "proved by experiment", "fits the numbers", "cause not tested".
std::string_view confidence_words(Confidence confidence) {
  switch (confidence) {
    case Confidence::proved:
      return "proved by experiment";
    case Confidence::fits:
      return "fits the numbers";
    case Confidence::unknown:
      return "not tested by experiment";
  }
  return "";
}

std::string head(std::string_view id, Status status, bool as_expected, std::string_view because, bool colour) {
  const std::string word = paint(outcome(status, as_expected), outcome_ink(status, as_expected), colour);
  std::string text = fmt::format("{}  {}\n", word, paint(safe_text(id), Ink::bold, colour));
  return text + line(as_expected ? fmt::format("status {}, as expected", to_string(status)) : because);
}

std::string cause_line(const Verdict& verdict) {
  if (!verdict.cause) return "";
  std::string text = fmt::format("{}; {}", cause_and_place(verdict), confidence_words(verdict.confidence));
  if (verdict.certain) text += "; certain: no rounding explains it";
  return line(text);
}

std::string evidence_lines(const std::vector<Evidence>& evidence) {
  std::string text;
  std::size_t width = 0;
  for (const Evidence& e : evidence) width = std::max(width, e.intervention.size());
  for (const Evidence& e : evidence) {
    text += line(fmt::format("{:<9}  {:<{}}  worst error {} -> {}", what_it_did(e), e.intervention, width,
                             short_number(e.worst_before), short_number(e.worst_after)));
  }
  return text;
}

std::string hazard_lines(const std::vector<HazardRecord>& hazards) {
  std::string text;
  for (const HazardRecord& h : hazards) {
    std::string words =
        fmt::format("hazard {}: {} writes, {} reads {}, {}", h.kind, h.writer.empty() ? "nobody" : h.writer,
                    h.reader.empty() ? "nobody" : h.reader, h.value, h.region);
    if (h.undeclared) words += "; undeclared";
    if (h.edge_missing) words += "; missing: " + *h.edge_missing;
    text += line(words);
  }
  return text;
}

/// Failed stages with mismatches to show, the most telling first: the blamed op, then local before as_read before
/// chained, then the order of the steps.
const StageDiff* stage_to_show(const CaseRecord& record) {
  const StageDiff* best = nullptr;
  const auto rank = [&](const StageDiff& s) { return std::tuple{s.stage != record.verdict.blame.op, s.mode, s.step}; };
  for (const StageDiff& stage : record.stages) {
    if (!stage.failed() || stage.mismatches.empty()) continue;
    if (best == nullptr || rank(stage) < rank(*best)) best = &stage;
  }
  return best;
}

std::string coordinates(const Mismatch& m) {
  std::vector<std::string> parts;
  const auto name = [&](std::string_view label, std::int64_t value) {
    if (value >= 0) parts.push_back(fmt::format("{} {}", label, value));
  };
  name("token", m.token);
  name("expert", m.expert);
  name("slot", m.slot);
  name("column", m.column);
  if (!parts.empty()) return join(parts, ", ");
  for (const std::int64_t i : m.index) parts.push_back(std::to_string(i));
  return fmt::format("element [{}]", join(parts, ", "));
}

std::string mismatch_line(const Mismatch& m) {
  return line(fmt::format("  {}: expected {}, actual {}, bound {}", coordinates(m), short_number(m.expected, 6),
                          short_number(m.actual, 6), short_number(m.bound)));
}

/// For readers who think in tolerances: what a test by one pair of them would have had to allow.
std::string tolerance_line(const StageDiff& stage) {
  if (stage.not_finite > 0) return line("  no tolerance would have let this pass: values are not finite");
  if (stage.sufficient_tolerance == 0) return "";  // discrete: an expert, not an error
  return line(fmt::format("  atol = rtol = {} would have let this pass", short_number(stage.sufficient_tolerance)));
}

std::string mismatch_lines(const CaseRecord& record) {
  const StageDiff* stage = stage_to_show(record);
  if (stage == nullptr) return "";
  std::string text = line(fmt::format("{} of {}, {}: {} of {} elements beyond the bound, error budget used {}",
                                      stage->value, stage->stage, to_string(stage->mode), stage->beyond_statistical,
                                      stage->compared, short_number(stage->budget_used)));
  const std::size_t shown = std::min(stage->mismatches.size(), kMismatchesShown);
  for (std::size_t i = 0; i < shown; ++i) text += mismatch_line(stage->mismatches[i]);
  return text + tolerance_line(*stage);
}

}  // namespace

std::string render_failure(const CaseRecord& record, bool colour) {
  const Verdict& verdict = record.verdict;
  std::string text = head(record.spec.id, verdict.status, record.as_expected, record.unexpected_because, colour);
  if (!verdict.explanation.empty()) text += line(verdict.explanation);
  text += cause_line(verdict);
  text += evidence_lines(verdict.evidence);
  text += hazard_lines(record.hazards);
  text += mismatch_lines(record);
  if (!record.repro.empty()) text += line("repro: " + record.repro);
  return text;
}

std::string render_relation_failure(const RelationRecord& relation, bool colour) {
  const std::string because = fmt::format("status {}, expected pass", to_string(relation.status));
  std::string text = head(fmt::format("relation {} in {}", relation.relation, relation.group), relation.status,
                          relation.as_expected, because, colour);
  if (!relation.explanation.empty()) text += line(relation.explanation);
  text += line(fmt::format("rule {}, {} elements compared between:", relation.rule, relation.compared));
  for (const std::string& member : relation.members) text += line("  " + member);
  if (relation.first_difference) text += line("first difference:") + mismatch_line(*relation.first_difference);
  return text;
}

}  // namespace moediff
