#include "harness/scenario/applicability.h"

#include <map>
#include <optional>
#include <string>

#include "harness/scenario/canonical.h"

namespace moediff {
namespace {

std::optional<std::string> no_shared_experts(const Case& spec) {
  if (spec.shape.n_shared > 0 || spec.stream == StreamMode::none) return std::nullopt;
  return "stream: " + std::string(to_string(spec.stream)) + " places shared experts, and the model has none";
}

std::optional<std::string> order_means_nothing(const Case& spec) {
  if (spec.shape.n_shared == 0) return "order has no effect without shared experts";
  if (spec.stream == StreamMode::fused) return "order has no effect when the shared experts are fused";
  return std::nullopt;
}

}  // namespace

void mark_inapplicable(std::vector<Case>& cases) {
  std::map<std::string, std::string> standing;  // what a case is but for its order -> id of the first such case
  for (Case& spec : cases) {
    if (auto reason = no_shared_experts(spec)) {
      spec.skip_reason = std::move(reason);
      continue;
    }
    const auto reason = order_means_nothing(spec);
    if (!reason) continue;
    Case any_order = spec;
    any_order.order = IssueOrder::shared_first;
    const auto [first, fresh] = standing.emplace(canonical_body(any_order), spec.id);
    if (!fresh) spec.skip_reason = *reason + "; " + first->second + " stands for both";
  }
}

}  // namespace moediff
