// Each chain in the order of the mathematics; what a quantisation scheme adds (quantize_a1, quantize_a2, scale
// operands) is decided by its row in harness/model/quant.h.
#include "harness/program/build_experts.h"

#include <algorithm>

#include "harness/core/check.h"

namespace moediff {
namespace {

constexpr int kMain = 0;

std::vector<std::string> stream_names(bool aux) {
  return aux ? std::vector<std::string>{"main", "aux"} : std::vector<std::string>{"main"};
}

QuantSpec resolved(QuantSpec spec) {
  spec.fmax = resolved_fmax(spec);
  return spec.scheme == QuantScheme::none ? QuantSpec{} : spec;
}

OpParams quant_params(const QuantSpec& quant) {
  OpParams params;
  params.quant = quant;
  return params;
}

/// Chooses what of the activation's policies the op uses.
OpParams activation_params(const LayerContext& layer, const QuantSpec& quant, bool fused_quantise) {
  OpParams params;
  params.expert.activation = layer.spec.expert.activation;
  params.expert.limit = layer.spec.expert.limit;
  if (fused_quantise) {
    params.quant = quant;
  } else {
    params.expert.activation_rounding = layer.spec.expert.activation_rounding;
  }
  return params;
}

// Activations before a product: as they are, or codes and scales.
struct Prepared {
  int codes = -1, scales = -1;
};

Prepared add_codes(LayerContext& layer, const std::string& prefix, const QuantSpec& quant, std::int64_t rows,
                   std::int64_t columns, int chunk, std::int64_t begin) {
  const ActivationLayout layout = activation_layout(quant, layer.x, columns);
  return {layer.add_value(prefix + "_codes", layout.codes, {rows, columns}, chunk, begin),
          layer.add_value(prefix + "_scales", layout.scales, layout.scale_shape(rows), chunk, begin)};
}

Prepared quantise(LayerContext& layer, OpKind op, const std::string& prefix, const QuantSpec& quant, int stream, int x,
                  int chunk, std::int64_t begin) {
  const Shape shape = layer.value(x).shape;
  if (!activation_layout(quant, layer.x, shape[1]).quantised) return {x, -1};
  const Prepared out = add_codes(layer, prefix, quant, shape[0], shape[1], chunk, begin);
  layer.b.call(op, stream, {layer.b.whole(x), layer.b.whole(out.codes), layer.b.whole(out.scales)}, quant_params(quant),
               chunk);
  return out;
}

/// Names of one chain's ops and values.
struct ChainNames {
  OpKind activation, quantise, fused;
  const char *act_out, *prefix;
};
constexpr ChainNames kRouted{OpKind::activation, OpKind::quantize_a2, OpKind::activation_quantize, "act_out", "a2"};
constexpr ChainNames kShared{OpKind::shared_activation, OpKind::shared_quantize_a2, OpKind::shared_activation_quantize,
                             "shared_act_out", "shared_a2"};

/// The activation, and the quantisation of its result: two ops, or one.
Prepared activate(LayerContext& layer, const ChainNames& names, const QuantSpec& quant, int stream, int gemm1,
                  int chunk, std::int64_t begin) {
  const std::int64_t rows = layer.value(gemm1).shape[0], inter = layer.value(gemm1).shape[1] / 2;
  const bool fused = activation_layout(quant, layer.x, inter).quantised && quant.quantize_a2 == QuantizeA2::fused;
  const OpParams params = activation_params(layer, quant, fused);
  if (fused) {
    const Prepared out = add_codes(layer, names.prefix, quant, rows, inter, chunk, begin);
    layer.b.call(names.fused, stream, {layer.b.whole(gemm1), layer.b.whole(out.codes), layer.b.whole(out.scales)},
                 params, chunk);
    return out;
  }
  const int act = layer.add_value(names.act_out, layer.x, {rows, inter}, chunk, begin);
  layer.b.call(names.activation, stream, {layer.b.whole(gemm1), layer.b.whole(act)}, params, chunk);
  return quantise(layer, names.quantise, names.prefix, quant, stream, act, chunk, begin);
}

OpParams gemm_params(const LayerContext& layer, const QuantSpec& quant, bool first) {
  OpParams params = quant_params(quant);
  params.halves = first && quant.scheme == QuantScheme::fp8_block;
  if (first) params.split_k = layer.spec.split_k;
  return params;
}

Operand workspace(LayerContext& layer, const std::string& name, std::int64_t rows, std::int64_t columns, int chunk) {
  if (!layer.has_buffer(name)) return {};
  const DType partial = layer.field ? DType::field : DType::f32;
  return layer.b.whole(layer.add_value(name, partial, {layer.spec.split_k, rows, columns}, chunk, 0));
}

/// topk_weights of the batch, when the op `place` applies them.
Operand weights_on(const LayerContext& layer, WeightPlace place, std::int64_t begin, std::int64_t tokens) {
  if (layer.spec.router.weight_on != place) return {};
  return layer.b.side_by_side(layer.topk_weights, layer.width, begin, begin + tokens);
}

/// round(x * round(weight)), for kernels that take the weight on their input.
int weigh_input(LayerContext& layer, int x, int chunk, std::int64_t begin) {
  if (layer.spec.router.weight_on != WeightPlace::input) return x;
  const Shape shape = layer.value(x).shape;
  const int out = layer.add_value("weighted_hidden", layer.x, shape, chunk, begin);
  layer.b.call(OpKind::weigh_input, kMain,
               {layer.b.whole(x), weights_on(layer, WeightPlace::input, begin, shape[0]), layer.b.whole(out)}, {},
               chunk);
  return out;
}

// Where combine writes: over its own input (in place), to the pooled routed_out, or straight to the result (fused).
int add_routed_out(LayerContext& layer, int x, std::int64_t tokens, int chunk, std::int64_t begin) {
  const Case& spec = layer.spec;
  const char* name = layer.fused && !(spec.in_place && chunk >= 0) ? "moe_out" : "routed_out";
  const Shape shape{tokens, layer.shape.hidden};
  if (spec.in_place) return layer.add_value_in(name, layer.x, shape, layer.value(x).buffer, chunk, begin);
  if (layer.fused) return layer.add_value_in(name, layer.x, shape, layer.buffers.at("moe_out"), chunk, begin, begin);
  return layer.add_value(name, layer.x, shape, chunk, begin);
}

WeightValues add_weight(LayerContext& layer, const std::string& name, const std::string& suffix, const QuantSpec& quant,
                        Shape shape, bool halves) {
  const std::size_t rank = shape.size();
  const std::int64_t n = shape[rank - 2];
  const WeightLayout layout = weight_layout(quant, layer.x, n, shape[rank - 1], halves);
  const auto add = [&](const std::string& base, DType dtype, std::int64_t rows, std::int64_t columns) {
    shape[rank - 2] = rows;
    shape[rank - 1] = columns;
    return layer.b.add_own(base, dtype, shape, BufferKind::weight, base + suffix);
  };
  WeightValues values;
  values.codes = add(name, layout.codes, n, layout.columns);
  if (layout.scaled) values.scales = add(name + "_scales", layout.scales, layout.sn, layout.sk);
  if (layout.offset) values.offset = add(name + "_offset", layout.scales, n, 1);
  return values;
}

/// Codes and scales of `rows` x `columns` activations, where the scheme has them.
void add_code_buffers(LayerContext& layer, const std::string& prefix, const QuantSpec& quant, std::int64_t rows,
                      std::int64_t columns) {
  const ActivationLayout layout = activation_layout(quant, layer.x, columns);
  if (!layout.quantised) return;
  layer.add_buffer(prefix + "_codes", rows * columns * size_of(layout.codes));
  layer.add_buffer(prefix + "_scales", count(layout.scale_shape(rows)) * size_of(layout.scales));
}

bool has_act_out(const LayerContext& layer, const QuantSpec& quant) {
  return quant.quantize_a2 == QuantizeA2::separate || !activation_layout(quant, layer.x, layer.shape.inter).quantised;
}

}  // namespace

LayerContext::LayerContext(const Case& layer)
    : spec(layer),
      shape(layer.shape),
      fused(layer.effective_stream == StreamMode::fused),
      aux(layer.effective_stream == StreamMode::aux),
      shared(layer.shape.n_shared > 0 && !fused),
      field(layer.arithmetic == Arithmetic::field),
      x(field ? DType::field : layer.dtype),
      weights_dtype(field ? DType::field : DType::f32),
      tokens(batch_rows(layer)),
      width(layer.shape.top_k + (fused ? layer.shape.n_shared : 0)),
      batch(layer.chunk > 0 ? std::min(layer.chunk, tokens) : tokens),
      b(stream_names(aux)) {}

QuantSpec LayerContext::quant() const { return resolved(spec.quant); }
QuantSpec LayerContext::shared_quant() const {
  return spec.quant.shared == SharedWeights::model ? QuantSpec{} : quant();
}

int LayerContext::add_buffer(const std::string& name, std::int64_t bytes, BufferKind kind, bool pooled) {
  return buffers[name] = b.add_buffer(name, kind, bytes, pooled);
}

int LayerContext::add_value(const std::string& name, DType dtype, Shape extents, int chunk, std::int64_t begin) {
  return add_value_in(name, dtype, std::move(extents), buffers.at(name), chunk, begin);
}

int LayerContext::add_value_in(const std::string& name, DType dtype, Shape extents, int buffer, int chunk,
                               std::int64_t begin, std::int64_t row_begin) {
  const int index = b.add_value(name, dtype, std::move(extents), buffer, {row_begin, 0, 0});
  b.program.values.back().chunk = chunk;
  b.program.values.back().row_offset = static_cast<int>(begin);
  return index;
}

void add_expert_weights(LayerContext& layer) {
  const std::int64_t h = layer.shape.hidden, i = layer.shape.inter;
  const std::string suffix = layer.fused ? "_fused" : "";
  layer.w13 = add_weight(layer, "w13", suffix, layer.quant(), {layer.experts(), 2 * i, h}, true);
  layer.w2 = add_weight(layer, "w2", suffix, layer.quant(), {layer.experts(), h, i}, false);
  if (!layer.shared) return;
  layer.shared_w13 = add_weight(layer, "shared_w13", "", layer.shared_quant(), {2 * layer.shared_inter(), h}, true);
  layer.shared_w2 = add_weight(layer, "shared_w2", "", layer.shared_quant(), {h, layer.shared_inter()}, false);
}

void add_expert_buffers(LayerContext& layer) {
  const std::int64_t rows = layer.batch * layer.width, x = size_of(layer.x), h = layer.shape.hidden,
                     i = layer.shape.inter;
  layer.add_buffer("expert_offsets", (layer.experts() + 1) * 4);
  layer.add_buffer("sorted_slots", rows * 4);
  layer.add_buffer("slot_rows", rows * 4);
  if (layer.spec.router.weight_on == WeightPlace::input) layer.add_buffer("weighted_hidden", layer.batch * h * x);
  add_code_buffers(layer, "a1", layer.quant(), layer.batch, h);
  layer.add_buffer("gemm1_out", rows * 2 * i * x);
  if (has_act_out(layer, layer.quant())) layer.add_buffer("act_out", rows * i * x);
  add_code_buffers(layer, "a2", layer.quant(), rows, i);
  layer.add_buffer("gemm2_out", rows * h * x);
  if (!layer.shared) return;
  const std::int64_t inter = layer.shared_inter();
  add_code_buffers(layer, "shared_a1", layer.shared_quant(), layer.batch, h);
  layer.add_buffer("shared_gemm1_out", layer.batch * 2 * inter * x);
  if (has_act_out(layer, layer.shared_quant())) layer.add_buffer("shared_act_out", layer.batch * inter * x);
  add_code_buffers(layer, "shared_a2", layer.shared_quant(), layer.batch, inter);
  layer.add_buffer("shared_out", layer.batch * h * x);
}

int add_routed_chain(LayerContext& layer, int x, int chunk, std::int64_t begin) {
  ProgramBuilder& b = layer.b;
  const std::int64_t tokens = layer.value(x).shape[0], rows = tokens * layer.width, columns = 2 * layer.shape.inter;
  const QuantSpec quant = layer.quant();
  const int offsets = layer.add_value("expert_offsets", DType::i32, {layer.experts() + 1}, chunk, begin);
  const int slots = layer.add_value("sorted_slots", DType::i32, {rows}, chunk, begin);
  const int slot_rows = layer.add_value("slot_rows", DType::i32, {rows}, chunk, begin);
  const int gemm1 = layer.add_value("gemm1_out", layer.x, {rows, columns}, chunk, begin);
  const int gemm2 = layer.add_value("gemm2_out", layer.x, {rows, layer.shape.hidden}, chunk, begin);

  b.call(OpKind::dispatch, kMain,
         {b.side_by_side(layer.topk_ids, layer.width, begin, begin + tokens), b.whole(offsets), b.whole(slots),
          b.whole(slot_rows)},
         {}, chunk);
  const Prepared a1 =
      quantise(layer, OpKind::quantize_a1, "a1", quant, kMain, weigh_input(layer, x, chunk, begin), chunk, begin);
  b.call(
      OpKind::gemm1, kMain,
      {b.whole(a1.codes), b.whole(slots), b.whole(offsets), b.whole(layer.w13.codes), b.whole(gemm1),
       workspace(layer, "gemm1_workspace", rows, columns, chunk), layer.maybe(a1.scales), layer.maybe(layer.w13.scales),
       weights_on(layer, WeightPlace::gemm1, begin, tokens), layer.maybe(layer.w13.offset)},
      gemm_params(layer, quant, true), chunk);
  const Prepared a2 = activate(layer, kRouted, quant, kMain, gemm1, chunk, begin);
  const Operand weights = weights_on(layer, WeightPlace::gemm2, begin, tokens);
  b.call(OpKind::gemm2, kMain,
         {b.whole(a2.codes), b.whole(offsets), b.whole(layer.w2.codes), b.whole(gemm2),
          weights.buffer < 0 ? Operand{} : b.whole(slots), weights, layer.maybe(a2.scales),
          layer.maybe(layer.w2.scales), layer.maybe(layer.w2.offset)},
         gemm_params(layer, quant, false), chunk);
  if (layer.has_buffer("routed_out") && !layer.routed_allocated) {
    b.alloc(layer.buffers.at("routed_out"), kMain);
    layer.routed_allocated = true;
  }
  const int routed = add_routed_out(layer, x, tokens, chunk, begin);
  OpParams sum;
  sum.expert.sum = layer.spec.expert.sum;
  b.call(OpKind::combine, kMain,
         {b.whole(gemm2), b.whole(slot_rows), weights_on(layer, WeightPlace::combine, begin, tokens), b.whole(routed)},
         sum, chunk);
  return routed;
}

int add_shared_chain(LayerContext& layer, int stream, int x, int chunk, std::int64_t begin) {
  ProgramBuilder& b = layer.b;
  const std::int64_t rows = layer.value(x).shape[0], columns = 2 * layer.shared_inter();
  const QuantSpec quant = layer.shared_quant();
  const int gemm1 = layer.add_value("shared_gemm1_out", layer.x, {rows, columns}, chunk, begin);
  const int out = layer.add_value("shared_out", layer.x, {rows, layer.shape.hidden}, chunk, begin);
  const Prepared a1 = quantise(layer, OpKind::shared_quantize_a1, "shared_a1", quant, stream, x, chunk, begin);
  b.call(OpKind::shared_gemm1, stream,
         {b.whole(a1.codes), b.whole(layer.shared_w13.codes), b.whole(gemm1),
          workspace(layer, "shared_gemm1_workspace", rows, columns, chunk), layer.maybe(a1.scales),
          layer.maybe(layer.shared_w13.scales), layer.maybe(layer.shared_w13.offset)},
         gemm_params(layer, quant, true), chunk);
  const Prepared a2 = activate(layer, kShared, quant, stream, gemm1, chunk, begin);
  b.call(OpKind::shared_gemm2, stream,
         {b.whole(a2.codes), b.whole(layer.shared_w2.codes), b.whole(out), layer.maybe(a2.scales),
          layer.maybe(layer.shared_w2.scales), layer.maybe(layer.shared_w2.offset)},
         gemm_params(layer, quant, false), chunk);
  return out;
}

}  // namespace moediff
