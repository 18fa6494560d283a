// One MoE layer as a Program. Three choreographies, told apart by `effective_stream` and `chunk`:
//
//   none    main:  router, then routed and shared experts in the order asked for, then scale_add
//   aux     main:  clone_hidden, fork, router, routed experts, join, scale_add
//           aux:   (fork) shared experts from the clone (join)
//   fused   main:  router, routed experts with the shared ones as ids L..L+S-1 of weight 1; combine is the result
//   chunked (none or fused) the router once on the whole batch, then every chunk through persistent staging buffers
//
// In algebra mode there is no router: its ids and weights are inputs. Sources: vLLM v1 FusedMoE.forward_impl and
// forward_impl_chunked after vllm#28942; vLLM#24097 for the fused form.
#include "harness/program/build.h"

#include <algorithm>

#include "harness/core/check.h"
#include "harness/core/random.h"
#include "harness/model/field.h"
#include "harness/program/build_experts.h"

namespace moediff {
namespace {

constexpr int kMain = 0, kAux = 1;

class LayerBuilder {
 public:
  explicit LayerBuilder(const Case& spec) : layer_(spec), spec_(layer_.spec), shape_(layer_.shape), b_(layer_.b) {}

  Program build() {
    add_inputs();
    add_intermediates();
    if (layer_.aux) {
      clone_and_fork();
      if (spec_.order == IssueOrder::shared_first) shared_out_ = add_shared_chain(layer_, kAux, clone_, -1, 0);
    }
    if (!layer_.field) run_router();
    if (spec_.chunk > 0) {
      for (std::int64_t begin = 0; begin < layer_.tokens; begin += layer_.batch) run_chunk(begin);
    } else {
      run_batch(hidden_, -1, 0);
    }
    if (spec_.residual) run_residual();
    free_pooled();
    return finish();
  }

 private:
  void add_inputs() {
    hidden_ = b_.add_own("hidden_states", layer_.x, {layer_.tokens, shape_.hidden}, BufferKind::input, "hidden_states");
    if (!layer_.field) {
      gate_weight_ =
          b_.add_own("gate_weight", layer_.x, {shape_.experts, shape_.hidden}, BufferKind::weight, "gate_weight");
      if (spec_.router.bias)
        gate_bias_ = b_.add_own("gate_bias", DType::f32, {shape_.experts}, BufferKind::weight, "gate_bias");
    }
    add_expert_weights(layer_);
  }

  // The top-k buffers are `width` columns wide; fused shared experts own the last ones, which nobody writes.
  void add_intermediates() {
    if (!layer_.field) {
      const DType logits = spec_.router.logits_in == KeptIn::model ? layer_.x : DType::f32;
      router_logits_ = b_.add_own("router_logits", logits, {layer_.tokens, shape_.experts}, BufferKind::activation);
    }
    layer_.topk_ids = add_topk("topk_ids", DType::i32, "topk_ids", "shared_ids");
    layer_.topk_weights = add_topk("topk_weights", layer_.weights_dtype,
                                   factor_in_router() ? "topk_weights_scaled" : "topk_weights", "shared_weights");
    add_expert_buffers(layer_);
    const std::int64_t x = size_of(layer_.x), chunk_bytes = layer_.batch * shape_.hidden * x;
    if (spec_.chunk > 0) layer_.add_buffer("staging_hidden", chunk_bytes);
    add_workspaces();
    if (!layer_.fused || !spec_.in_place || spec_.chunk > 0)
      layer_.add_buffer("moe_out", layer_.tokens * shape_.hidden * x);
    if (!spec_.in_place && !layer_.fused)
      layer_.add_buffer("routed_out", chunk_bytes, BufferKind::activation, /*pooled=*/true);
  }

  void add_workspaces() {
    if (spec_.split_k <= 1) return;
    const std::int64_t partial = spec_.split_k * size_of(layer_.field ? DType::field : DType::f32);
    layer_.add_buffer("gemm1_workspace", partial * layer_.batch * layer_.width * 2 * shape_.inter,
                      BufferKind::workspace);
    if (layer_.shared)
      layer_.add_buffer("shared_gemm1_workspace", partial * layer_.batch * 2 * layer_.shared_inter(),
                        BufferKind::workspace);
  }

  /// `initial`: what fills the router's columns where there is no router.
  std::vector<int> add_topk(const char* name, DType dtype, const char* initial, const char* constant) {
    const std::int64_t element = size_of(dtype), width = layer_.width;
    const int buffer = b_.add_buffer(name, BufferKind::activation, layer_.tokens * width * element);
    std::vector<int> values{b_.add_value(name, dtype, {layer_.tokens, shape_.top_k}, buffer, {0, width * element, 0},
                                         layer_.field ? initial : "")};
    if (layer_.fused) {
      values.push_back(b_.add_value(constant, dtype, {layer_.tokens, shape_.n_shared}, buffer,
                                    {0, width * element, shape_.top_k * element}, constant));
    }
    return values;
  }

  // The clone protects the shared experts from an in-place routed kernel; it is made before the fork, on main, so that
  // the fork orders it (vllm#28430 had it after: STREAM-1).
  void clone_and_fork() {
    clone_ = b_.add_own("hidden_clone", layer_.x, {layer_.tokens, shape_.hidden}, BufferKind::activation, "", true);
    b_.alloc(layer_.value(clone_).buffer, kMain);
    b_.copy("clone_hidden", kMain, b_.whole(hidden_), b_.whole(clone_));
    b_.wait("fork", kMain, kAux);
  }

  /// AITER folds the factor into the routed weights when shared experts are fused: their weight stays 1.
  bool factor_in_router() const { return layer_.fused || spec_.router.factor == FactorPlace::router; }

  void run_router() {
    OpParams params;
    params.top_k = static_cast<int>(shape_.top_k);
    params.n_group = static_cast<int>(shape_.n_group);
    params.topk_group = static_cast<int>(shape_.topk_group);
    params.norm_topk_prob = shape_.norm_topk_prob;
    params.factor = factor_in_router() ? shape_.routed_scaling_factor : 1.0;
    params.router = spec_.router;
    params.router.factor = FactorPlace::output;  // said by `factor`; where the weight goes is the experts' business
    params.router.weight_on = WeightPlace::combine;
    b_.call(OpKind::router, kMain,
            {b_.whole(hidden_), b_.whole(gate_weight_), layer_.maybe(gate_bias_), b_.whole(router_logits_),
             b_.whole(layer_.topk_ids[0]), b_.whole(layer_.topk_weights[0])},
            params);
  }

  void run_chunk(std::int64_t begin) {
    const std::int64_t rows = std::min(layer_.batch, layer_.tokens - begin);
    const int chunk = static_cast<int>(begin / layer_.batch);
    const int staging = layer_.add_value("staging_hidden", layer_.x, {rows, shape_.hidden}, chunk, begin);
    b_.copy("stage_hidden", kMain, b_.rows(hidden_, begin, begin + rows), b_.whole(staging), chunk);
    run_batch(staging, chunk, begin);
  }

  // One batch (or chunk) of rows that lie in value `x`; `begin` is its first token.
  void run_batch(int x, int chunk, std::int64_t begin) {
    const bool shared_on_main = layer_.shared && !layer_.aux;
    if (shared_on_main && spec_.order == IssueOrder::shared_first)
      shared_out_ = add_shared_chain(layer_, kMain, x, chunk, begin);
    const int routed = add_routed_chain(layer_, x, chunk, begin);
    if (layer_.shared && spec_.order == IssueOrder::routed_first) {
      shared_out_ = add_shared_chain(layer_, layer_.aux ? kAux : kMain, layer_.aux ? clone_ : x, chunk, begin);
    }
    if (layer_.aux) b_.wait("join", kAux, kMain);
    if (layer_.fused) {
      b_.program.outputs.push_back(fused_output(routed, chunk, begin));
      return;
    }
    const int out = add_moe_out(layer_.value(x).shape, chunk, begin);
    b_.call(OpKind::scale_add, kMain,
            {b_.whole(routed), layer_.shared ? b_.whole(shared_out_) : Operand{}, b_.whole(out)}, scale_params(),
            chunk);
    b_.program.outputs.push_back(out);
  }

  OpParams scale_params() const {
    OpParams params;
    params.factor = factor_in_router() ? 1.0 : shape_.routed_scaling_factor;
    if (layer_.field && !factor_in_router()) params.field_factor = field_factor(spec_);
    return params;
  }

  int add_moe_out(const Shape& shape, int chunk, std::int64_t begin) {
    return layer_.add_value_in("moe_out", layer_.x, shape, layer_.buffers.at("moe_out"), chunk, begin, begin);
  }

  // In place and chunked, the fused result lies in the staging buffer and must be copied out.
  int fused_output(int routed, int chunk, std::int64_t begin) {
    if (chunk < 0 || !spec_.in_place) return routed;
    const int out = add_moe_out(layer_.value(routed).shape, chunk, begin);
    b_.copy("unstage_output", kMain, b_.whole(routed), b_.whole(out), chunk);
    return out;
  }

  void run_residual() {
    const int out = b_.add_own("layer_out", layer_.x, {layer_.tokens, shape_.hidden}, BufferKind::activation);
    Operand moe = b_.whole(b_.program.outputs.front());
    moe.shape[0] = moe.region.rows = layer_.tokens;
    moe.values = b_.program.outputs;
    b_.call(OpKind::residual_add, kMain, {moe, b_.whole(hidden_), b_.whole(out)});
    b_.program.outputs = {out};
  }

  void free_pooled() {
    if (clone_ >= 0) b_.free(layer_.value(clone_).buffer, kMain);
    if (layer_.routed_allocated) b_.free(layer_.buffers.at("routed_out"), kMain);
  }

  Program finish() {
    b_.program.shape = shape_;
    b_.program.tokens = layer_.tokens;
    b_.program.dtype = layer_.x;
    b_.program.shared_fused = layer_.fused;
    validate(b_.program);
    return std::move(b_.program);
  }

  LayerContext layer_;
  const Case& spec_;
  const MoeShape& shape_;
  ProgramBuilder& b_;
  int hidden_ = -1, gate_weight_ = -1, gate_bias_ = -1, router_logits_ = -1, clone_ = -1, shared_out_ = -1;
};

}  // namespace

std::uint64_t field_factor(const Case& spec) {
  if (spec.shape.routed_scaling_factor == 1.0) return 1;
  return 1 + random_bits(stream_key(spec.seed, "routed_scaling_factor"), 0) % (kFieldPrime - 1);
}

Program build_moe_layer(const Case& spec) {
  CHECK(spec.tokens >= 0 && spec.shape.hidden > 0, "cases are validated before programs are built");
  return LayerBuilder(spec).build();
}

}  // namespace moediff
