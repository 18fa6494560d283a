#include "harness/program/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/core/check.h"
#include "harness/core/hash.h"
#include "harness/core/text.h"
#include "harness/program/build.h"
#include "harness/program/fault_table.h"
#include "harness/scenario/canonical.h"

namespace moediff {
namespace {

/// The builtin provider's faulty kernels exist for plain layers only.
std::optional<std::string> no_variant_for(const Case& spec) {
  if (spec.arithmetic == Arithmetic::field) return "its kernel does not exist in algebra mode";
  if (spec.dtype == DType::f16) return "its kernel does not exist in f16";
  if (spec.quant.scheme != QuantScheme::none) return "its kernel does not exist for quantised weights";
  return std::nullopt;
}

PlannedCase plan_case(Case spec) {
  PlannedCase planned;
  planned.provider = spec.provider;
  planned.schedule = spec.schedule;
  planned.spec = std::move(spec);
  if (planned.spec.skip_reason) return planned;
  planned.program = build_moe_layer(planned.spec);
  if (!planned.spec.fault.empty()) {
    const FaultRow* fault = find_fault(planned.spec.fault);
    CHECK(fault != nullptr, "fault names are checked when scenarios are loaded");
    planned.variants = fault->variants;
    if (const auto refusal = no_variant_for(planned.spec); refusal && !planned.variants.empty()) {
      planned.spec.skip_reason = fmt::format("fault {} does not apply: {}", fault->name, *refusal);
      return planned;
    }
    if (fault->rewrite != nullptr) {
      if (const auto refusal = fault->rewrite(planned.program, planned.spec.drop_wait)) {
        planned.spec.skip_reason = fmt::format("fault {} does not apply: {}", fault->name, *refusal);
      }
    }
  }
  if (planned.program.streams.size() == 1) planned.schedule = Schedule{};
  validate(planned.program);
  planned.program_hash = hash(planned.program);
  return planned;
}

/// Cases of a group differ in how the layer is run, and in variations of the batch, but not in what is computed.
std::string group_key(const Case& c) {
  const Case plain;
  Case same = c;
  same.stream = plain.stream;
  same.effective_stream = plain.effective_stream;
  same.aux_threshold = plain.aux_threshold;
  same.order = plain.order;
  same.in_place = plain.in_place;
  same.chunk = plain.chunk;
  same.schedule = plain.schedule;
  same.drop_wait.clear();
  same.timeout_seconds = plain.timeout_seconds;
  same.variation = plain.variation;
  return c.scenario + "|" + canonical_body(same);
}

// "streams/capitals, layer 1, bf16, 5 tokens"; what else tells groups apart is added only when needed.
std::string group_name(const Case& c, const std::map<std::string, std::string>& taken) {
  std::string name = c.id.substr(0, c.id.rfind('/'));
  if (c.input.layer) name += fmt::format(", layer {}", *c.input.layer);
  name += fmt::format(", {}, {} token{}", to_string(c.dtype), c.tokens, c.tokens == 1 ? "" : "s");
  if (c.quant.scheme != QuantScheme::none) name += fmt::format(", {}", to_string(c.quant.scheme));
  if (c.arithmetic == Arithmetic::field) name += ", algebra";
  if (c.split_k > 1) name += fmt::format(", split_k {}", c.split_k);
  if (!c.fault.empty()) name += ", fault " + c.fault;
  std::string unique = name;
  for (int n = 2; taken.count(unique) > 0; ++n) unique = fmt::format("{} ({})", name, n);
  return unique;
}

std::string collapse_key(const PlannedCase& planned) {
  const Expectation& e = planned.spec.expect;
  return fmt::format("{}|{}|{}|{}|{} {}|{} {} {} {} {} {}", group_key(planned.spec), to_string(planned.spec.variation),
                     to_hex(planned.program_hash), to_string(planned.schedule), planned.provider, planned.variants,
                     static_cast<int>(e.status), e.cause ? static_cast<int>(*e.cause) : -1, e.blame_op, e.blame_value,
                     e.blame_buffer, e.blame_writer);
}

bool matches(const PlannedCase& planned, std::string_view glob) {
  if (glob.empty() || glob_match(glob, planned.spec.id)) return true;
  return std::any_of(planned.collapsed.begin(), planned.collapsed.end(),
                     [&](const std::string& id) { return glob_match(glob, id); });
}

}  // namespace

Plan make_plan(std::vector<Case> cases) {
  Plan plan;
  std::map<std::string, std::size_t> representatives, groups;
  std::map<std::string, std::string> names;
  for (Case& spec : cases) {
    PlannedCase planned = plan_case(std::move(spec));
    if (planned.spec.skip_reason) {
      ++plan.skipped;
      plan.cases.push_back(std::move(planned));
      continue;
    }
    const auto [same, is_new] = representatives.emplace(collapse_key(planned), plan.cases.size());
    if (!is_new) {
      plan.cases[same->second].collapsed.push_back(planned.spec.id);
      ++plan.collapsed;
      continue;
    }
    const std::string key = group_key(planned.spec);
    const auto [group, new_group] = groups.emplace(key, plan.groups.size());
    if (new_group) {
      plan.groups.push_back({group_name(planned.spec, names), {}});
      names.emplace(plan.groups.back().name, key);
    }
    plan.groups[group->second].cases.push_back(plan.cases.size());
    ++plan.runnable;
    plan.cases.push_back(std::move(planned));
  }
  return plan;
}

Plan filter_plan(const Plan& plan, std::string_view glob) {
  Plan kept;
  std::map<std::size_t, std::size_t> index;
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    const PlannedCase& planned = plan.cases[i];
    if (!matches(planned, glob)) continue;
    index[i] = kept.cases.size();
    ++(planned.spec.skip_reason ? kept.skipped : kept.runnable);
    kept.collapsed += planned.collapsed.size();
    kept.cases.push_back(planned);
  }
  for (const Group& group : plan.groups) {
    Group filtered{group.name, {}};
    for (const std::size_t i : group.cases) {
      if (const auto found = index.find(i); found != index.end()) filtered.cases.push_back(found->second);
    }
    if (!filtered.cases.empty()) kept.groups.push_back(std::move(filtered));
  }
  return kept;
}

}  // namespace moediff
