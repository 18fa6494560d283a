// The table of variants and the parser of a selection.
#include "kernels/providers/builtin/variants.h"

#include <algorithm>
#include <string_view>

#include "kernels/providers/builtin/faulty/faulty.h"
#include "kernels/providers/builtin/operands.h"
#include "kernels/providers/builtin/ops.h"

namespace moediff::kernels {
namespace {

constexpr Variant kVariants[] = {
    {MD_OP_ROUTER, "wrong_expert", {router_wrong_expert<float>, router_wrong_expert<Bf16>}},
    {MD_OP_GEMM1, "alias2", {gemm1_alias2<float>, gemm1_alias2<Bf16>}},
    {MD_OP_GEMM1, "static_scratch", {gemm1_static_scratch<float>, gemm1_static_scratch<Bf16>}},
    {MD_OP_ACTIVATION, "crash", {activation_crash<float>, activation_crash<Bf16>}},
    {MD_OP_ACTIVATION, "hang", {activation_hang<float>, activation_hang<Bf16>}},
    {MD_OP_ACTIVATION, "reads_undeclared", {activation_reads_undeclared<float>, activation_reads_undeclared<Bf16>}},
    {MD_OP_GEMM2, "out_of_bounds", {gemm2_out_of_bounds<float>, gemm2_out_of_bounds<Bf16>}},
    {MD_OP_GEMM2, "reads_out_of_bounds", {gemm2_reads_out_of_bounds<float>, gemm2_reads_out_of_bounds<Bf16>}},
    {MD_OP_GEMM2, "wrong_math", {gemm2_wrong_math<float>, gemm2_wrong_math<Bf16>}},
    {MD_OP_COMBINE, "alias1", {combine_alias1<float>, combine_alias1<Bf16>}},
    {MD_OP_COMBINE, "nondeterministic", {combine_nondeterministic<float>, combine_nondeterministic<Bf16>}},
    {MD_OP_SHARED_GEMM1, "static_scratch", {shared_gemm1_static_scratch<float>, shared_gemm1_static_scratch<Bf16>}},
    {MD_OP_SHARED_ACTIVATION,
     "barrier_divergence",
     {activation_barrier_divergence<float>, activation_barrier_divergence<Bf16>}},
    {MD_OP_RESIDUAL_ADD, "scribbles", {residual_add_scribbles<float>, residual_add_scribbles<Bf16>}},
};

std::string known_variants() {
  std::string text;
  for (const Variant& variant : kVariants) {
    text += (text.empty() ? "" : ", ") + std::string(op_name(variant.op)) + "=" + variant.name;
  }
  return text;
}

/// The row of "op=variant", or null.
const Variant* find_variant(std::string_view selection) {
  const auto is_it = [&](const Variant& v) { return selection == std::string(op_name(v.op)) + "=" + v.name; };
  const Variant* row = std::find_if(std::begin(kVariants), std::end(kVariants), is_it);
  return row == std::end(kVariants) ? nullptr : row;
}

}  // namespace

std::string choose_kernels(const char* variants, OpKernel (&chosen)[MD_OP_COUNT]) {
  std::copy(std::begin(kOps), std::end(kOps), std::begin(chosen));
  std::string_view rest = variants == nullptr ? "" : variants;
  while (!rest.empty()) {
    const std::string_view selection = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), selection.size() + 1));
    const Variant* row = find_variant(selection);
    if (row == nullptr) return "unknown variant '" + std::string(selection) + "'; known: " + known_variants();
    chosen[row->op] = row->kernel;
  }
  return {};
}

}  // namespace moediff::kernels
