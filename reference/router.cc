// The router from logits to experts and weights: scores, selection, weights, each in a file of its own.
#include "reference/require.h"
#include "reference/router_parts.h"

namespace moediff::reference {

void check(const RouterConfig& config) {
  require(config.experts > 0 && config.n_group > 0 && config.experts % config.n_group == 0,
          "n_group must divide experts");
  require(0 < config.topk_group && config.topk_group <= config.n_group, "topk_group must be from 1 to n_group");
  require(0 < config.top_k && config.top_k <= config.topk_group * (config.experts / config.n_group),
          "top_k must not exceed the experts of topk_group groups");
}

Routing route(std::span<const double> logits, std::span<const double> bias, std::int64_t tokens,
              const RouterConfig& config) {
  check(config);
  require(static_cast<std::int64_t>(logits.size()) == tokens * config.experts, "logits must be [tokens, experts]");
  require(bias.empty() || static_cast<std::int64_t>(bias.size()) == config.experts, "bias must be [experts]");
  Routing routing;
  score(logits, bias, config, routing);
  select(tokens, config, routing);
  routing.weights = routing_weights(routing, bias, routing.ids, tokens, config);
  return routing;
}

}  // namespace moediff::reference
