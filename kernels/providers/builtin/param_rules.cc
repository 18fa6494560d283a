// A table of ranges, and the few rules that depend on sizes.
#include "kernels/providers/builtin/param_rules.h"

#include <climits>

#include "kernels/providers/builtin/operand_rules.h"
#include "kernels/router/router.h"

namespace moediff::kernels {
namespace {

using Ops = std::uint32_t;
template <typename... Op>
constexpr Ops ops(Op... op) {
  return (... | (Ops{1} << op));
}

constexpr Ops kRouter = ops(MD_OP_ROUTER);
constexpr Ops kSplit = ops(MD_OP_GEMM1, MD_OP_SHARED_GEMM1);
constexpr Ops kGemm = kSplit | ops(MD_OP_GEMM2, MD_OP_SHARED_GEMM2);
constexpr Ops kFused = ops(MD_OP_ACTIVATION_QUANTIZE, MD_OP_SHARED_ACTIVATION_QUANTIZE);
constexpr Ops kQuantize =
    kFused | ops(MD_OP_QUANTIZE_A1, MD_OP_QUANTIZE_A2, MD_OP_SHARED_QUANTIZE_A1, MD_OP_SHARED_QUANTIZE_A2);
constexpr Ops kActivation = kFused | ops(MD_OP_ACTIVATION, MD_OP_SHARED_ACTIVATION);

struct Range {
  Ops ops;
  const char* name;
  std::int32_t md_params::*param;
  std::int32_t least, most;
};

constexpr Range kRanges[] = {
    {kRouter, "scoring", &md_params::scoring, 0, MD_SCORING_SOFTMAX},
    {kRouter, "group_score", &md_params::group_score, 0, MD_GROUP_MAX},
    {kRouter, "mask", &md_params::mask, 0, MD_MASK_ZERO},
    {kRouter, "scores_in", &md_params::scores_in, 0, MD_IN_MODEL},
    {kRouter, "bias_in", &md_params::bias_in, 0, MD_IN_MODEL},
    {kRouter, "choice_in", &md_params::choice_in, 0, MD_IN_MODEL},
    {kRouter, "weights_in", &md_params::weights_in, 0, MD_IN_MODEL},
    {kRouter, "weight_from", &md_params::weight_from, 0, MD_WEIGHT_CHOICE_MINUS_BIAS},
    {kRouter, "not_finite", &md_params::not_finite, 0, MD_NOT_FINITE_UNIFORM},
    {kSplit, "split_k", &md_params::split_k, 1, INT_MAX},
    {kActivation, "activation", &md_params::activation, 0, MD_SWIGLUOAI},
    {kActivation, "activation_rounding", &md_params::activation_rounding, 0, MD_ROUND_ONCE},
    {ops(MD_OP_COMBINE), "sum", &md_params::sum, 0, MD_SUM_MOE_SUM},
    {~Ops{0}, "scheme", &md_params::scheme, 0, MD_SCHEME_MXFP4},
    {kQuantize, "scale_kind", &md_params::scale_kind, 0, MD_SCALES_UE8M0},
    {kQuantize, "scale_from", &md_params::scale_from, 0, MD_SCALE_FROM_RECIPROCAL},
    {kQuantize, "scale_by", &md_params::scale_by, 0, MD_SCALE_BY_RATIO},
    {kQuantize, "half_to", &md_params::half_to, 0, MD_HALF_AWAY},
};

bool in(Ops set, int op) { return (set >> op & 1u) != 0; }

std::string complaint(int op, const std::string& param, const std::string& expected, const std::string& found) {
  return std::string(kOpRules[op].name) + ": " + param + ": expected " + expected + ", found " + found;
}

std::string out_of_range(int op, const char* param, std::int64_t least, std::int64_t most, const std::string& why,
                         std::int64_t found) {
  return complaint(op, param, std::to_string(least) + " to " + std::to_string(most) + why, std::to_string(found));
}

std::string check_router(const md_call& call) {
  const md_params& p = call.params;
  const std::int64_t experts = call.tensors[MD_ROUTER_WEIGHT].shape[0];
  if (p.n_group < 1 || experts % p.n_group != 0) {
    return complaint(call.op, "n_group", "a divisor of the " + std::to_string(experts) + " experts",
                     std::to_string(p.n_group));
  }
  if (p.topk_group < 1 || p.topk_group > p.n_group) {
    return complaint(call.op, "topk_group", "1 to n_group=" + std::to_string(p.n_group), std::to_string(p.topk_group));
  }
  const std::int64_t eligible = experts / p.n_group * p.topk_group;
  if (p.top_k < 1 || p.top_k > eligible) {
    return out_of_range(call.op, "top_k", 1, eligible, " (experts in topk_group groups)", p.top_k);
  }
  const std::int64_t most = kMaxRouterFloats, floats = experts + p.n_group + p.top_k;
  return floats <= most ? "" : out_of_range(call.op, "experts + n_group + top_k", 1, most, " (shared memory)", floats);
}

/// Rows are W for each token.
std::string check_rows(const md_call& call) {
  const std::int64_t tokens = call.tensors[MD_GEMM1_HIDDEN].shape[0], rows = call.tensors[MD_GEMM1_SLOTS].shape[0];
  if (tokens == 0 ? rows == 0 : rows % tokens == 0) return {};
  return complaint(call.op, "operand sorted_slots", "a multiple of T=" + std::to_string(tokens) + " slots",
                   std::to_string(rows));
}

std::string check_scheme(const md_call& call, bool algebra) {
  const md_params& p = call.params;
  const SchemeRule& scheme = kSchemes[p.scheme];
  const bool quantizes = in(kQuantize, call.op);
  if (quantizes && scheme.activations == ActivationScales::none) {
    return complaint(call.op, "scheme", "one with quantised activations", scheme.name);
  }
  if (quantizes && !algebra && !(p.fmax > 0)) return complaint(call.op, "fmax", "above 0", std::to_string(p.fmax));
  const bool grouped = scheme.weights == WeightScales::block || p.scheme == MD_SCHEME_INT4_GROUP;
  if (grouped && p.group < 1) {
    return complaint(call.op, "group", std::string("at least 1, as the scheme is ") + scheme.name,
                     std::to_string(p.group));
  }
  return {};
}

std::string check_limit(const md_call& call) {
  const bool clamps = call.params.activation == MD_SWIGLU_CLAMPED || call.params.activation == MD_SWIGLUOAI;
  return !clamps || call.params.limit > 0 ? ""
                                          : complaint(call.op, "limit", "above 0", std::to_string(call.params.limit));
}

std::string check_ranges(const md_call& call) {
  for (const Range& range : kRanges) {
    const std::int32_t found = call.params.*range.param;
    if (!in(range.ops, call.op) || (found >= range.least && found <= range.most)) continue;
    return range.most == INT_MAX
               ? complaint(call.op, range.name, "at least " + std::to_string(range.least), std::to_string(found))
               : out_of_range(call.op, range.name, range.least, range.most, "", found);
  }
  return {};
}

}  // namespace

std::string check_params(const md_call& call, bool algebra) {
  std::string text = check_ranges(call);
  if (text.empty() && in(kGemm | kQuantize, call.op)) text = check_scheme(call, algebra);
  if (text.empty() && in(kActivation, call.op) && !algebra) text = check_limit(call);
  return text;
}

std::string check_sizes(const md_call& call) {
  if (call.op == MD_OP_ROUTER) return check_router(call);
  return call.op == MD_OP_GEMM1 ? check_rows(call) : "";
}

}  // namespace moediff::kernels
