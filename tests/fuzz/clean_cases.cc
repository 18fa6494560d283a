// Runs clean cases and demands that none of them fails: `clean_cases --count N [--first I] [--seed S] [--jobs J]`.
// Prints every false alarm with the number that makes it again, then what the bounds were worth: how much of the error
// budget healthy results use, and how far errors are from their statistical expectation.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "harness/compare/compare.h"
#include "harness/program/build.h"
#include "harness/run/executor.h"
#include "harness/scenario/scenario.h"
#include "tests/fuzz/random_case.h"

namespace moediff::fuzz {
namespace {

struct Options {
  std::uint64_t seed = 1, first = 0, count = 100;
  int jobs = 2;
};

/// Medians of error / expectation of one kind of output.
struct Quality {
  std::vector<double> medians;
  double worst_budget = 0;
  std::int64_t exact = 0, stages = 0;
};

struct Totals {
  std::mutex mutex;
  std::uint64_t cases = 0, failures = 0, beyond_hard = 0;
  std::uint64_t silent = 0;  ///< local stages in which nothing could be said of any element (f16 that overflows)
  std::int64_t compared = 0, nonzero = 0, near_ties = 0, flippable = 0;
  std::map<std::string, Quality> quality;  ///< by stage value and dtype
};

std::string kind_of(const Program& program, const StageDiff& stage) {
  for (const Value& value : program.values) {
    if (value.name == stage.value) return stage.value + " " + std::string(to_string(value.dtype));
  }
  return stage.value;
}

void add(Totals& totals, const Case& spec, const Program& program, const Diff& diff) {
  const std::lock_guard lock(totals.mutex);
  ++totals.cases;
  bool failed = false;
  for (const StageDiff& stage : diff.stages) {
    failed = failed || stage.failed() || !stage.not_comparable.empty();
    totals.beyond_hard += stage.beyond_hard > 0 ? 1 : 0;
    if (stage.mode != DiffMode::local) continue;
    totals.compared += stage.compared;
    totals.silent += stage.compared == 0 ? 1 : 0;
    totals.nonzero += stage.nonzero;
    totals.near_ties += stage.near_ties;
    totals.flippable += stage.flippable;
    Quality& quality = totals.quality[kind_of(program, stage)];
    ++quality.stages;
    quality.exact += stage.exact ? 1 : 0;
    quality.worst_budget = std::max(quality.worst_budget, stage.budget_used);
    if (!stage.exact && stage.compared >= 64) quality.medians.push_back(stage.error_ratio_median);
  }
  if (!failed) return;
  ++totals.failures;
  for (const StageDiff& stage : diff.stages) {
    if (!stage.failed() && stage.not_comparable.empty()) continue;
    std::printf("FALSE ALARM %s: %s (%s) budget %.3g, %lld of %lld beyond, %s%s\n", spec.id.c_str(),
                stage.value.c_str(), std::string(to_string(stage.mode)).c_str(), stage.budget_used,
                static_cast<long long>(stage.beyond_statistical), static_cast<long long>(stage.compared),
                stage.not_comparable.c_str(), stage.routing_wrong ? "routing" : "");
  }
  std::printf("%s\n", canonical_yaml(spec).c_str());
  std::fflush(stdout);
}

void run_case(std::uint64_t seed, std::uint64_t index, Executor& executor, Totals& totals) {
  const Case spec = random_case(seed, index);
  const Program program = build_moe_layer(spec);
  const auto inputs = std::make_shared<const Inputs>(make_inputs(spec).tensors);
  RunRequest request;
  request.program = &program;
  request.inputs = inputs;
  const Run run = executor.run(request);
  if (run.status != RunStatus::ok) {
    const std::lock_guard lock(totals.mutex);
    ++totals.failures;
    std::printf("DID NOT RUN %s: %s\n%s\n", spec.id.c_str(), run.detail.c_str(), canonical_yaml(spec).c_str());
    return;
  }
  Expected expected(inputs);
  add(totals, spec, program, compare(program, run, expected));
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// 16 bits or fewer: the error is dominated by the last rounding, which is at most half a unit.
bool is_narrow(const std::string& kind) { return kind.find(" f32") == std::string::npos; }

int report(Totals& totals) {
  std::printf("%llu cases, %llu false alarms, %llu beyond the hard bound\n",
              static_cast<unsigned long long>(totals.cases), static_cast<unsigned long long>(totals.failures),
              static_cast<unsigned long long>(totals.beyond_hard));
  const double share =
      totals.compared == 0 ? 0 : static_cast<double>(totals.nonzero) / static_cast<double>(totals.compared);
  std::printf(
      "%lld elements compared, %.1f %% of them not zero; %lld near-ties, %lld flippable codes; %llu stages silent\n",
      static_cast<long long>(totals.compared), 100 * share, static_cast<long long>(totals.near_ties),
      static_cast<long long>(totals.flippable), static_cast<unsigned long long>(totals.silent));
  bool good = totals.failures == 0 && totals.beyond_hard == 0 && share >= 0.9;
  std::printf("%-28s %8s %8s %10s %22s\n", "output", "stages", "exact", "max budget", "median error/expected");
  for (auto& [kind, quality] : totals.quality) {
    const double middle = median(quality.medians);
    const bool measured = quality.medians.size() >= 20;
    const bool inside = !measured || (middle <= 1 && middle >= (is_narrow(kind) ? 0.1 : 0.02));
    good = good && inside;
    std::printf("%-28s %8lld %8lld %10.3f %22s%s\n", kind.c_str(), static_cast<long long>(quality.stages),
                static_cast<long long>(quality.exact), quality.worst_budget,
                measured ? std::to_string(middle).c_str() : "-", inside ? "" : "  OUTSIDE");
  }
  return good ? 0 : 1;
}

int run_all(const Options& options) {
  Totals totals;
  std::atomic<std::uint64_t> next{options.first};
  const auto work = [&](Executor& executor) {
    for (std::uint64_t index = next++; index < options.first + options.count; index = next++)
      run_case(options.seed, index, executor, totals);
  };
  // Executors first: their workers must start before any thread works.
  std::vector<std::unique_ptr<Executor>> executors;
  ExecutorOptions how;
  how.worker_command = MOEDIFF_PROGRAM;
  how.module_dir = MOEDIFF_MODULES;
  for (int i = 0; i < options.jobs; ++i) executors.push_back(make_executor(how));
  std::vector<std::thread> threads;
  for (const auto& executor : executors) threads.emplace_back([&] { work(*executor); });
  for (std::thread& thread : threads) thread.join();
  return report(totals);
}

}  // namespace
}  // namespace moediff::fuzz

int main(int argc, char** argv) {
  moediff::fuzz::Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const auto value = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--count") == 0) options.count = value;
    if (std::strcmp(argv[i], "--first") == 0) options.first = value;
    if (std::strcmp(argv[i], "--seed") == 0) options.seed = value;
    if (std::strcmp(argv[i], "--jobs") == 0) options.jobs = static_cast<int>(value);
  }
  return moediff::fuzz::run_all(options);
}
