#include "tests/unit/reports/sample_report.h"

#include <cmath>

#include "tests/unit/reports/sample_picture.h"

namespace moediff {
namespace {

StageDiff stage(int step, const char* name, const char* value, DiffMode mode, double budget) {
  StageDiff diff;
  diff.step = step;
  diff.stage = name;
  diff.value = value;
  diff.mode = mode;
  diff.compared = diff.nonzero = 640;
  diff.budget_used = budget;
  diff.max_abs = budget * 0.004;
  diff.max_rel = budget * 0.002;
  diff.sufficient_tolerance = budget * 0.0005;
  diff.exact = budget == 0;
  diff.error_ratio_median = diff.exact ? 0 : 0.45;
  diff.worst = Mismatch{.index = {3, 17}, .token = 3, .column = 17, .expected = 0.25, .actual = 0.25, .bound = 0.008};
  diff.token_error = {budget * 0.0004, budget * 0.001, 0, budget * 0.002, budget * 0.0015};
  diff.worst_tokens = {3, 4, 1};
  return diff;
}

StageDiff failed(StageDiff diff, std::int64_t beyond) {
  diff.beyond_statistical = beyond;
  diff.beyond_hard = beyond / 2;
  diff.worst =
      Mismatch{.index = {3, 17}, .token = 3, .column = 17, .expected = 0.71875, .actual = -0.4140625, .bound = 0.00276};
  diff.mismatches = {*diff.worst,
                     {.index = {4, 2}, .token = 4, .column = 2, .expected = -0.5, .actual = 0.375, .bound = 0.0022}};
  return diff;
}

std::vector<StageDiff> clean_stages() {
  const DiffMode local = DiffMode::local;
  return {stage(0, "router", "router_logits", local, 0.21),
          stage(1, "dispatch", "sorted_slots", local, 0),
          stage(2, "gemm1", "gemm1_out", local, 0.34),
          stage(3, "activation", "act_out", local, 0.48),
          stage(4, "gemm2", "gemm2_out", local, 0.29),
          stage(5, "combine", "routed_out", local, 0.12),
          stage(6, "shared_gemm1", "shared_gemm1_out", local, 0.31),
          stage(7, "shared_activation", "shared_act_out", local, 0.45),
          stage(8, "shared_gemm2", "shared_out", local, 0.27),
          stage(9, "scale_add", "moe_out", local, 0.5),
          stage(9, "scale_add", "moe_out", DiffMode::chained, 0.62)};
}

CaseRecord base(const char* name, StreamMode stream, IssueOrder order, bool in_place) {
  CaseRecord record;
  record.spec.id = std::string("streams/inplace/") + name;
  record.spec.scenario = "scenarios/streams/inplace.yaml";
  record.spec.shape = {.hidden = 128, .inter = 64, .experts = 8, .top_k = 2, .n_shared = 1};
  record.spec.seed = 7;
  record.spec.tokens = 5;
  record.spec.stream = record.spec.effective_stream = stream;
  record.spec.order = order;
  record.spec.in_place = in_place;
  record.spec.axes = {
      {"stream", "none"}, {"split_k", "1"}, {"residual", "false"}, {"factor", "2.5"}, {"fault", "none"}};
  record.group = "g-5f0c";
  record.input_hash = "5f0c1122aa33bb44";
  record.program_hash = "9d80e1f2a3b4c5d6";
  record.output_hash = "0123456789abcdef";
  record.schedule = "submission";
  record.independent = true;
  record.stages = clean_stages();
  record.repro = "moediff run scenarios/streams/inplace.yaml --filter '" + record.spec.id + "' --seed 7";
  record.seconds = 0.08;
  return record;
}

Expectation expect_fail(Cause cause, const char* op = "") {
  Expectation expect;
  expect.status = Status::fail;
  expect.cause = cause;
  expect.blame_op = op;
  return expect;
}

Verdict failure(Cause cause, bool certain, Confidence confidence, const Blame& blame, const char* explanation) {
  Verdict verdict;
  verdict.status = Status::fail;
  verdict.cause = cause;
  verdict.certain = certain;
  verdict.confidence = confidence;
  verdict.blame = blame;
  verdict.explanation = explanation;
  return verdict;
}

Blame blamed(const char* op, const char* value, const char* writer, int step) {
  return {.op = op, .stage = op, .value = value, .buffer = value, .writer = writer, .stream = "main", .step = step};
}

HazardRecord hazard(Cause kind, const char* writer, const char* reader, const char* value) {
  HazardRecord record;
  record.kind = to_string(kind);
  record.writer = writer;
  record.reader = reader;
  record.value = value;
  record.region = "rows 0-4 of 256 bytes";
  return record;
}

}  // namespace

CaseRecord founding_bug() {
  CaseRecord record = base("none-routed_first-inplace-bf16-t5", StreamMode::none, IssueOrder::routed_first, true);
  record.spec.expect = expect_fail(Cause::stale_read, "shared_gemm1");
  record.verdict =
      failure(Cause::stale_read, true, Confidence::proved, blamed("shared_gemm1", "hidden_states", "combine", 6),
              "shared_gemm1 read hidden_states after combine had overwritten it with routed_out (in place): "
              "all 5 tokens are wrong, worst error 0.31 of the largest expected value.");
  record.verdict.evidence = {{"restore hidden_states before shared_gemm1", true, 0.31, 0.0004},
                             {"synchronise after each op", false, 0.31, 0.31},
                             {"never reuse memory", false, 0.31, 0.31}};
  record.verdict.hazard = 0;
  record.hazards = {hazard(Cause::stale_read, "combine", "shared_gemm1", "hidden_states")};
  record.stages[6] = failed(stage(6, "shared_gemm1", "shared_gemm1_out", DiffMode::local, 412), 640);
  record.stages[10] = failed(stage(9, "scale_add", "moe_out", DiffMode::chained, 155), 637);
  record.stages.push_back(stage(6, "shared_gemm1", "shared_gemm1_out", DiffMode::as_read, 0.3));
  record.collapsed = {"streams/inplace/aux-routed_first-inplace-bf16-t5-threshold4"};
  record.picture = one_stream_picture();
  return record;
}

CaseRecord dropped_wait() {
  CaseRecord record = base("aux-routed_first-inplace-bf16-t5", StreamMode::aux, IssueOrder::routed_first, true);
  record.as_expected = false;
  record.unexpected_because = "status is fail, expected pass";
  record.verdict =
      failure(Cause::unordered_access, false, Confidence::proved, blamed("scale_add", "shared_out", "shared_gemm2", 9),
              "scale_add on main reads shared_out while shared_gemm2 on aux may still write it: no wait orders them; "
              "in the schedule reverse the worst error is 0.87.");
  record.verdict.evidence = {{"main waits for aux before scale_add", true, 0.87, 0.0005},
                             {"private copy of hidden_states per reader", false, 0.87, 0.87}};
  record.verdict.hazard = 0;
  record.hazards = {hazard(Cause::unordered_access, "shared_gemm2", "scale_add", "shared_out")};
  record.hazards[0].edge_missing = "main must wait for aux's shared_gemm2 before scale_add";
  record.independent = false;
  record.independent_reason = "shared_gemm2 and scale_add conflict on shared_out";
  record.schedule = "reverse";
  record.stages[9] = failed(stage(9, "scale_add", "moe_out", DiffMode::local, 88), 512);
  record.picture = two_stream_picture(false);
  return record;
}

CaseRecord two_streams_pass() {
  CaseRecord record = base("aux-shared_first-copied-bf16-t5", StreamMode::aux, IssueOrder::shared_first, false);
  record.verdict.explanation = "all stages within their bounds; no two accesses conflict";
  record.redundant_waits = {"join_late"};
  record.picture = two_stream_picture(true);
  return record;
}

CaseRecord skipped_case() {
  CaseRecord record = base("fused-shared_first-inplace-bf16-t5", StreamMode::fused, IssueOrder::shared_first, true);
  record.spec.skip_reason = "order means nothing when the shared experts are fused";
  record.verdict.status = Status::skipped;
  record.stages.clear();
  record.independent.reset();
  record.independent_reason = "not run";
  record.seconds = 0;
  return record;
}

CaseRecord wrong_routing_case() {
  CaseRecord record = base("none-shared_first-copied-bf16-t64", StreamMode::none, IssueOrder::shared_first, false);
  record.spec.scenario = "scenarios/faults/router.yaml";
  record.spec.expect = expect_fail(Cause::wrong_scale);
  record.as_expected = false;
  record.unexpected_because = "cause is wrong_routing, expected wrong_scale";
  record.verdict = failure(Cause::wrong_routing, true, Confidence::fits, blamed("router", "topk_ids", "", 0),
                           "token 3 went to expert 6, whose group is not among the best: \"-inf\" mask read as 0 "
                           "<no rounding explains it>");
  StageDiff router = failed(stage(0, "router", "topk_ids", DiffMode::local, 20), 9);
  router.routing_wrong = true;
  router.not_finite = 2;
  router.max_rel = std::nan("");
  router.mismatches = {{.index = {3, 1}, .token = 3, .expert = 6, .slot = 1, .expected = 2, .actual = 6, .bound = 0}};
  record.stages[0] = router;
  return record;
}

CaseRecord surprising_pass() {
  CaseRecord record = base("none-routed_first-copied-bf16-t5", StreamMode::none, IssueOrder::routed_first, false);
  record.spec.scenario = "scenarios/faults/router.yaml";
  record.spec.expect = expect_fail(Cause::lifetime);
  record.as_expected = false;
  record.unexpected_because = "status is pass, expected fail";
  return record;
}

Report sample_report() {
  Report report;
  report.version = "0.1.0";
  report.commit = "abc1234";
  report.build = "Release g++ 12.2.0 / clang 19.1.7";
  report.environment.host = "bench";
  report.environment.cpu = "x86-64 with AVX2";
  report.environment.backend = "host";
  report.environment.runtime = "hiphost 0.1";
  report.environment.provider = "builtin";
  report.environment.flags = "-O2 -march=x86-64-v3";
  report.environment.threads = 2;
  report.environment.env = {{"OMP_NUM_THREADS", "2"}};
  report.command = {"run", "scenarios/streams", "--seed", "7"};
  report.cases = {two_streams_pass(), founding_bug(),       dropped_wait(),
                  skipped_case(),     wrong_routing_case(), surprising_pass()};
  CaseRecord again = founding_bug();
  again.spec.id = "streams/inplace/none-routed_first-inplace-bf16-t64";
  again.collapsed.clear();
  report.cases.insert(report.cases.begin() + 2, again);

  RelationRecord holds;
  holds.relation = "none=aux";
  holds.group = "g-5f0c";
  holds.scenario = "scenarios/streams/inplace.yaml";
  holds.members = {report.cases[0].spec.id, report.cases[1].spec.id};
  holds.rule = "bitwise";
  holds.compared = 640;
  RelationRecord skipped = holds;
  skipped.relation = "chunked=whole";
  skipped.status = Status::skipped;
  skipped.skip_reason = "fewer than two of its cases passed";
  RelationRecord broken = holds;
  broken.relation = "fused~unfused";
  broken.rule = "bound";
  broken.status = Status::fail;
  broken.budget_used = 3.5;
  broken.first_difference =
      Mismatch{.index = {1, 9}, .token = 1, .column = 9, .expected = 0.5, .actual = 0.53125, .bound = 0.009};
  broken.explanation = "fused and unfused differ by 3.5 times the sum of their bounds";
  report.relations = {holds, skipped, broken};
  summarize(report);
  report.summary.seconds = 1.25;
  return report;
}

Report large_report(std::size_t cases) {
  const std::vector<CaseRecord> kinds{two_streams_pass(), two_streams_pass(), founding_bug()};
  Report report = sample_report();
  report.cases.clear();
  for (std::size_t i = 0; i < cases; ++i) {
    CaseRecord record = kinds[i % kinds.size()];
    record.spec.id += "-" + std::to_string(i);
    record.spec.scenario = "scenarios/streams/part" + std::to_string(i % 9) + ".yaml";
    record.spec.tokens = 256;
    for (StageDiff& diff : record.stages) diff.token_error.assign(256, 0.00123456 * static_cast<double>(i + 1));
    report.cases.push_back(record);
  }
  summarize(report);
  return report;
}

}  // namespace moediff
