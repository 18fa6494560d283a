// Records as JSON, field by field in the order of the schema. One function a struct. The library writes a number that
// is not finite as null.
#include "reports/json.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace moediff {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;
constexpr int kIndent = 1;

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// An axis value as the scenario wrote it: true, false and finite numbers keep their type, all else is text.
Json axis_value(const std::string& text) {
  if (text == "true") return true;
  if (text == "false") return false;
  const char* end = text.data() + text.size();
  std::int64_t whole = 0;
  if (const auto [at, error] = std::from_chars(text.data(), end, whole); error == std::errc{} && at == end)
    return whole;
  double real = 0;
  const auto [at, error] = std::from_chars(text.data(), end, real);
  if (error == std::errc{} && at == end && std::isfinite(real)) return real;
  return text;
}

/// The axes that every script may rely on, then those the scenario varies beyond them.
Json axes_json(const Case& spec) {
  Json axes{{"stream", to_string(spec.stream)},
            {"effective_stream", to_string(spec.effective_stream)},
            {"order", to_string(spec.order)},
            {"in_place", spec.in_place},
            {"chunk", spec.chunk},
            {"dtype", to_string(spec.dtype)},
            {"tokens", spec.tokens},
            {"n_shared", spec.shape.n_shared}};
  for (const auto& [name, value] : spec.axes) {
    if (!axes.contains(name)) axes[name] = axis_value(value);
  }
  return axes;
}

Json blame_json(const CaseRecord& record) {
  const Blame& blame = record.verdict.blame;
  if (blame.op.empty() && blame.value.empty() && blame.buffer.empty()) return nullptr;
  return {{"op", text_or_null(blame.op)},
          {"stage", text_or_null(blame.stage)},
          {"value", text_or_null(blame.value)},
          {"buffer", text_or_null(blame.buffer)},
          {"writer", text_or_null(blame.writer)},
          {"stream", text_or_null(blame.stream)},
          {"step", blame.step},
          {"rank", 0},  // a case has one rank
          {"layer", or_null(record.spec.input.layer)}};
}

Json expectation_json(const Expectation& expect) {
  return {{"status", to_string(expect.status)},
          {"cause", expect.cause ? Json(to_string(*expect.cause)) : Json(nullptr)},
          {"op", text_or_null(expect.blame_op)},
          {"value", text_or_null(expect.blame_value)},
          {"buffer", text_or_null(expect.blame_buffer)},
          {"writer", text_or_null(expect.blame_writer)}};
}

Json evidence_json(const std::vector<Evidence>& evidence) {
  Json list = Json::array();
  for (const Evidence& e : evidence) {
    list.push_back({{"intervention", e.intervention},
                    {"cured", e.cured},
                    {"worst_before", e.worst_before},
                    {"worst_after", e.worst_after}});
  }
  return list;
}

Json hazards_json(const std::vector<HazardRecord>& hazards) {
  Json list = Json::array();
  for (const HazardRecord& h : hazards) {
    list.push_back({{"kind", h.kind},
                    {"writer", text_or_null(h.writer)},
                    {"reader", text_or_null(h.reader)},
                    {"value", text_or_null(h.value)},
                    {"region", text_or_null(h.region)},
                    {"edge_missing", or_null(h.edge_missing)},
                    {"undeclared", h.undeclared}});
  }
  return list;
}

/// The coordinates that apply, by name.
Json coordinates_json(const Mismatch& m) {
  Json named = Json::object();
  const auto add = [&](const char* name, std::int64_t value) {
    if (value >= 0) named[name] = value;
  };
  add("token", m.token);
  add("expert", m.expert);
  add("slot", m.slot);
  add("column", m.column);
  return named;
}

Json mismatch_json(const Mismatch& m) {
  Json json = coordinates_json(m);
  json["index"] = m.index;
  json["expected"] = m.expected;
  json["actual"] = m.actual;
  json["bound"] = m.bound;
  return json;
}

Json stage_json(const StageDiff& s) {
  Json mismatches = Json::array();
  for (const Mismatch& m : s.mismatches) mismatches.push_back(mismatch_json(m));
  return {{"stage", s.stage},
          {"value", s.value},
          {"step", s.step},
          {"chunk", s.chunk >= 0 ? Json(s.chunk) : Json(nullptr)},
          {"mode", to_string(s.mode)},
          {"max_abs", s.max_abs},
          {"max_rel", s.max_rel},
          {"budget_used", s.budget_used},
          {"error_ratio_median", s.error_ratio_median},
          {"sufficient_tolerance", s.sufficient_tolerance},
          {"exact", s.exact},
          {"beyond_statistical", s.beyond_statistical},
          {"beyond_hard", s.beyond_hard},
          {"not_finite", s.not_finite},
          {"flippable", s.flippable},
          {"near_ties", s.near_ties},
          {"routing_wrong", s.routing_wrong},
          {"not_comparable", text_or_null(s.not_comparable)},
          {"failed", s.failed()},
          {"worst_index", s.worst ? coordinates_json(*s.worst) : Json(nullptr)},
          {"compared", s.compared},
          {"nonzero", s.nonzero},
          {"worst_tokens", s.worst_tokens},
          {"mismatches", std::move(mismatches)}};
}

Json picture_json(const Picture& picture) {
  Json steps = Json::array();
  for (const PictureStep& s : picture.steps) {
    steps.push_back({{"name", s.name},
                     {"kind", s.kind},
                     {"stream", s.stream},
                     {"event", s.event >= 0 ? Json(s.event) : Json(nullptr)},
                     {"reads", s.reads},
                     {"writes", s.writes},
                     {"clobbers", s.clobbers},
                     {"victim", s.victim}});
  }
  return {{"streams", picture.streams}, {"steps", std::move(steps)}};
}

Json case_json(const CaseRecord& record) {
  const Verdict& verdict = record.verdict;
  Json stages = Json::array();
  for (const StageDiff& s : record.stages) stages.push_back(stage_json(s));
  return {{"kind", "case"},
          {"case", record.spec.id},
          {"group", record.group},
          {"scenario", record.spec.scenario},
          {"input_hash", text_or_null(record.input_hash)},
          {"program_hash", text_or_null(record.program_hash)},
          {"output_hash", text_or_null(record.output_hash)},
          {"seed", record.spec.seed},
          {"axes", axes_json(record.spec)},
          {"status", to_string(verdict.status)},
          {"expect", to_string(record.spec.expect.status)},
          {"expectation", expectation_json(record.spec.expect)},
          {"as_expected", record.as_expected},
          {"unexpected_because", text_or_null(record.unexpected_because)},
          {"cause", verdict.cause ? Json(to_string(*verdict.cause)) : Json(nullptr)},
          {"certain", verdict.certain},
          {"confidence", to_string(verdict.confidence)},
          {"blame", blame_json(record)},
          {"explanation", verdict.explanation},
          {"evidence", evidence_json(verdict.evidence)},
          {"hazards", hazards_json(record.hazards)},
          {"observed", record.observed},
          {"schedule",
           {{"policy", record.schedule},
            {"independent", or_null(record.independent)},
            {"reason", or_null(record.independent_reason)}}},
          {"redundant_waits", record.redundant_waits},
          {"stages", std::move(stages)},
          {"repeats", record.repeats},
          {"repro", record.repro},
          {"collapsed", record.collapsed},
          {"picture", picture_json(record.picture)},
          {"skip_reason", or_null(record.spec.skip_reason)},
          {"seconds", record.seconds}};
}

Json relation_json(const RelationRecord& r) {
  return {{"kind", "relation"},
          {"relation", r.relation},
          {"group", r.group},
          {"scenario", r.scenario},
          {"members", r.members},
          {"rule", r.rule},
          {"status", to_string(r.status)},
          {"as_expected", r.as_expected},
          {"compared", r.compared},
          {"budget_used", r.rule == "bitwise" ? Json(nullptr) : Json(r.budget_used)},
          {"left_out", r.left_out},
          {"first_difference", r.first_difference ? mismatch_json(*r.first_difference) : Json(nullptr)},
          {"explanation", r.explanation},
          {"skip_reason", or_null(r.skip_reason)}};
}

Json summary_json(const Summary& s) {
  return {{"cases", s.cases},
          {"relations", s.relations},
          {"pass", s.pass},
          {"fail", s.fail},
          {"inconclusive", s.inconclusive},
          {"skipped", s.skipped},
          {"error", s.error},
          {"collapsed", s.collapsed},
          {"as_expected", s.as_expected},
          {"unexpected", s.unexpected},
          {"relations_pass", s.relations_pass},
          {"relations_fail", s.relations_fail},
          {"relations_skipped", s.relations_skipped},
          {"relations_unexpected", s.relations_unexpected},
          {"seconds", s.seconds}};
}

Json environment_json(const Environment& e) {
  return {{"host", e.host},
          {"cpu", e.cpu},
          {"threads", e.threads},
          {"backend", e.backend},
          {"device", text_or_null(e.device)},
          {"runtime", e.runtime},
          {"provider", e.provider},
          {"flags", e.flags},
          {"env", e.env}};
}

Json records_json(const Report& report) {
  Json records = Json::array();
  for (const CaseRecord& record : report.cases) records.push_back(case_json(record));
  for (const RelationRecord& relation : report.relations) records.push_back(relation_json(relation));
  return records;
}

}  // namespace

std::string render_json(const Report& report) {
  const Json document{{"schema_version", kSchemaVersion},
                      {"tool",
                       {{"name", "moediff"},
                        {"version", report.version},
                        {"commit", text_or_null(report.commit)},
                        {"build", report.build}}},
                      {"environment", environment_json(report.environment)},
                      {"command", report.command},
                      {"summary", summary_json(report.summary)},
                      {"records", records_json(report)}};
  return document.dump(kIndent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace moediff
