// What rows and columns of each output stand for: a table, and the candidate's dispatch for rows sorted by expert.
#include "harness/compare/coordinates.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "harness/core/tensor.h"
#include "harness/model/rounding.h"

namespace moediff {
namespace {

enum class Rows : std::uint8_t { tokens, experts, slots, sorted, none };
struct LayoutRow {
  OpKind op;
  std::string_view output;
  Rows rows;
  bool columns_are_experts;
};
constexpr std::array<LayoutRow, 29> kLayouts{{
    {OpKind::router, "router_logits", Rows::tokens, true},
    {OpKind::router, "topk_ids", Rows::tokens, false},
    {OpKind::router, "topk_weights", Rows::tokens, false},
    {OpKind::dispatch, "expert_offsets", Rows::experts, false},
    {OpKind::dispatch, "sorted_slots", Rows::sorted, false},
    {OpKind::dispatch, "slot_rows", Rows::slots, false},
    {OpKind::gemm1, "gemm1_out", Rows::sorted, false},
    {OpKind::activation, "act_out", Rows::sorted, false},
    {OpKind::gemm2, "gemm2_out", Rows::sorted, false},
    {OpKind::combine, "routed_out", Rows::tokens, false},
    {OpKind::shared_gemm1, "shared_gemm1_out", Rows::tokens, false},
    {OpKind::shared_activation, "shared_act_out", Rows::tokens, false},
    {OpKind::shared_gemm2, "shared_out", Rows::tokens, false},
    {OpKind::scale_add, "moe_out", Rows::tokens, false},
    {OpKind::residual_add, "layer_out", Rows::tokens, false},
    {OpKind::weigh_input, "weighted_hidden", Rows::tokens, false},
    {OpKind::quantize_a1, "a1_codes", Rows::tokens, false},
    {OpKind::quantize_a1, "a1_scales", Rows::tokens, false},
    {OpKind::quantize_a2, "a2_codes", Rows::sorted, false},
    {OpKind::quantize_a2, "a2_scales", Rows::sorted, false},
    {OpKind::activation_quantize, "a2_codes", Rows::sorted, false},
    {OpKind::activation_quantize, "a2_scales", Rows::sorted, false},
    {OpKind::shared_quantize_a1, "shared_a1_codes", Rows::tokens, false},
    {OpKind::shared_quantize_a1, "shared_a1_scales", Rows::tokens, false},
    {OpKind::shared_quantize_a2, "shared_a2_codes", Rows::tokens, false},
    {OpKind::shared_quantize_a2, "shared_a2_scales", Rows::tokens, false},
    {OpKind::shared_activation_quantize, "shared_a2_codes", Rows::tokens, false},
    {OpKind::shared_activation_quantize, "shared_a2_scales", Rows::tokens, false},
    {OpKind::convert, "to", Rows::none, false},
}};

constexpr LayoutRow kNameless{OpKind::convert, "", Rows::none, false};

/// One scale for all rows belongs to no token.
bool is_whole_scale(const Step& step, std::string_view slot) {
  return rounding_form(step.op, slot) == RoundingRow::Form::scale &&
         row(step.params.quant.scheme).activation == ActivationScales::tensor;
}

LayoutRow layout_of(const Step& step, int operand) {
  if (step.kind == StepKind::call) {
    const std::string_view slot = slots(step.op)[static_cast<std::size_t>(operand)].name;
    for (const LayoutRow& layout : kLayouts) {
      if (layout.op == step.op && layout.output == slot) return is_whole_scale(step, slot) ? kNameless : layout;
    }
  }
  return {OpKind::router, "", Rows::tokens, false};  // copies are of token rows
}

/// The dispatch step whose rows a step of the same chunk works on, or -1.
int dispatch_step(const Program& program, int chunk) {
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (step.kind == StepKind::call && step.op == OpKind::dispatch && step.chunk == chunk) return static_cast<int>(i);
  }
  return -1;
}

std::vector<std::int64_t> captured_integers(const Run& run, int step, std::string_view slot) {
  const std::vector<std::byte>& bytes = run.capture.operands[step][slot_index(OpKind::dispatch, slot)];
  const std::vector<double> values = to_doubles(DType::i32, bytes);
  return {values.begin(), values.end()};
}

/// Names for rows sorted by expert; rows that the candidate's own dispatch cannot name stay -1.
void name_sorted_rows(Coordinates& names, const Program& program, const Run& run, int chunk) {
  const int dispatch = dispatch_step(program, chunk);
  if (dispatch < 0 || dispatch >= static_cast<int>(run.capture.operands.size())) return;
  const Shape& ids = program.steps[dispatch].operands[slot_index(OpKind::dispatch, "topk_ids")].shape;
  const std::vector<std::int64_t> offsets = captured_integers(run, dispatch, "expert_offsets");
  const std::vector<std::int64_t> sorted = captured_integers(run, dispatch, "sorted_slots");
  const auto rows = static_cast<std::int64_t>(names.token.size());
  names.tokens = ids[0];
  for (std::int64_t row = 0; row < std::min<std::int64_t>(rows, static_cast<std::int64_t>(sorted.size())); ++row) {
    if (sorted[row] < 0 || sorted[row] >= rows) continue;
    names.slot[row] = sorted[row] % ids[1];
    names.token[row] = sorted[row] / ids[1];
  }
  for (std::size_t expert = 0; expert + 1 < offsets.size(); ++expert) {
    for (std::int64_t row = std::max<std::int64_t>(offsets[expert], 0); row < std::min(offsets[expert + 1], rows);
         ++row) {
      names.expert[row] = static_cast<std::int64_t>(expert);
    }
  }
}

}  // namespace

Mismatch Coordinates::name(std::size_t element, std::size_t rank) const {
  Mismatch mismatch;
  const auto row = static_cast<std::int64_t>(element) / columns, column = static_cast<std::int64_t>(element) % columns;
  mismatch.index = rank > 1 ? std::vector<std::int64_t>{row, column} : std::vector<std::int64_t>{row};
  mismatch.token = token[row] < 0 ? -1 : token[row] + first_token;
  mismatch.expert = columns_are_experts ? column : expert[row];
  mismatch.slot = slot[row];
  mismatch.column = rank > 1 ? column : -1;
  return mismatch;
}

Coordinates coordinates(const Program& program, const Run& run, int step, int operand) {
  const Step& call = program.steps[step];
  const Operand& output = call.operands[operand];
  const LayoutRow layout = layout_of(call, operand);
  const std::int64_t rows = output.shape.empty() ? 1 : output.shape[0];
  Coordinates names;
  names.columns = std::max<std::int64_t>(1, rows == 0 ? 1 : count(output.shape) / rows);
  names.token = names.expert = names.slot = std::vector<std::int64_t>(static_cast<std::size_t>(rows), -1);
  names.columns_are_experts = layout.columns_are_experts;
  if (!output.values.empty()) names.first_token = program.values[output.values[0]].row_offset;
  const Shape& ids = layout.rows == Rows::slots ? call.operands[0].shape : output.shape;
  switch (layout.rows) {
    case Rows::tokens:
      names.tokens = rows;
      for (std::int64_t row = 0; row < rows; ++row) names.token[row] = row;
      break;
    case Rows::experts:
      for (std::int64_t row = 0; row < rows; ++row) names.expert[row] = row;
      break;
    case Rows::slots:
      names.tokens = ids[0];
      for (std::int64_t row = 0; row < rows; ++row) {
        names.token[row] = row / ids[1];
        names.slot[row] = row % ids[1];
      }
      break;
    case Rows::sorted:
      name_sorted_rows(names, program, run, call.chunk);
      break;
    case Rows::none:
      break;
  }
  return names;
}

}  // namespace moediff
