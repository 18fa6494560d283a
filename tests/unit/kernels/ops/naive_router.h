// Routing straight from its definition, for the tests alone: scores in double, sorting, roundings where the policy has
// them.
#pragma once

#include "tests/unit/kernels/ops/device.h"

namespace moediff::test {

struct NaiveRouting {
  Array ids, weights;
};
/// From given logits [T, E], as md_params of kernels/abi/moediff_abi.h says; bias [E], or null. `model` is what
/// MD_IN_MODEL rounds to. Everything else is exact but for the errors of double.
NaiveRouting naive_route(const Array& logits, const Array* bias, const md_params& params, md_dtype model);

/// A call of the router with the unit matrix as gate, so that the tokens are the logits (both in `model`).
struct RouterRun {
  md_params params;
  const Array* bias = nullptr;
  md_dtype model = MD_F32;
  md_dtype logits_dtype = MD_F32;
};
struct Routed {
  Array logits, ids, weights;
};
Routed route(Device& device, const Array& logits, const RouterRun& run);

/// Ids are equal, and weights equal up to fp32's errors before their last rounding.
void expect_routing(const Routed& actual, const Array& logits, const RouterRun& run);

}  // namespace moediff::test
