// Where the operands of a product are, and in which order its kernel rounds (kernels/abi/moediff_abi.h).
#pragma once

#include <string_view>

#include "harness/program/program.h"
#include "reference/api.h"

namespace moediff {

/// Slots of a product; "" = the op has none.
struct LinearSlots {
  std::string_view x, weight, out, x_scales, weight_scales, row_weights;
};
/// Of the router, gemm1, gemm2, shared_gemm1, shared_gemm2.
const LinearSlots& linear_slots(OpKind op);

bool is_present(const Step& step, std::string_view slot);

/// The scheme of the product: `none` where no scales are handed over.
QuantSpec product_quant(const Step& step);
/// How its fp32 sums are made.
reference::Accumulation accumulation(const Step& step);

/// What half-subnormal roundings near zero add to one result: how often each is made, and by what it is multiplied
/// afterwards. `sa`, `sb`: largest scales of the row of x and of the weight; `w` the routing weight (1: none).
double underflow(const Step& step, std::int64_t k, double sa, double sb, double w);

}  // namespace moediff
