// One MoE layer as a Program. Three choreographies, told apart by `effective_stream` and `chunk`:
//
//   none    main:  router, then routed and shared experts in the order asked for, then scale_add
//   aux     main:  clone_hidden, fork, router, routed experts, join, scale_add
//           aux:   (fork) shared experts from the clone (join)
//   fused   main:  router, routed experts with the shared ones as ids L..L+S-1 of weight 1; combine is the result
//   chunked (none or fused) the router once on the whole batch, then every chunk through persistent staging buffers
//
// Sources: vLLM v1 FusedMoE.forward_impl and forward_impl_chunked after vllm#28942; vLLM#24097 for the fused form.
#include "harness/program/build.h"

#include <algorithm>

#include "harness/core/check.h"
#include "harness/program/builder.h"

namespace moediff {
namespace {

constexpr int kMain = 0, kAux = 1;

class LayerBuilder {
 public:
  explicit LayerBuilder(const Case& spec)
      : spec_(spec),
        shape_(spec.shape),
        fused_(spec.effective_stream == StreamMode::fused),
        aux_(spec.effective_stream == StreamMode::aux),
        shared_(shape_.n_shared > 0 && !fused_),
        width_(shape_.top_k + (fused_ ? shape_.n_shared : 0)),
        batch_(spec.chunk > 0 ? std::min(spec.chunk, spec.tokens) : spec.tokens),
        b_(aux_ ? std::vector<std::string>{"main", "aux"} : std::vector<std::string>{"main"}) {}

  Program build() {
    add_inputs();
    add_intermediates();
    if (aux_) {
      clone_and_fork();
      if (spec_.order == IssueOrder::shared_first) run_shared(kAux, clone_, -1, 0);
    }
    run_router();
    if (spec_.chunk > 0) {
      for (std::int64_t begin = 0; begin < spec_.tokens; begin += batch_) run_chunk(begin);
    } else {
      run_batch(hidden_, -1, 0);
    }
    if (spec_.residual) run_residual();
    free_pooled();
    return finish();
  }

 private:
  void add_inputs() {
    const DType x = spec_.dtype;
    const std::int64_t e = shape_.experts + (fused_ ? shape_.n_shared : 0), h = shape_.hidden, i = shape_.inter;
    const std::string suffix = fused_ ? "_fused" : "";
    hidden_ = b_.add_own("hidden_states", x, {spec_.tokens, h}, BufferKind::input, "hidden_states");
    gate_weight_ = b_.add_own("gate_weight", x, {shape_.experts, h}, BufferKind::weight, "gate_weight");
    gate_bias_ = b_.add_own("gate_bias", DType::f32, {shape_.experts}, BufferKind::weight, "gate_bias");
    w13_ = b_.add_own("w13", x, {e, 2 * i, h}, BufferKind::weight, "w13" + suffix);
    w2_ = b_.add_own("w2", x, {e, h, i}, BufferKind::weight, "w2" + suffix);
    if (shared_) {
      shared_w13_ = b_.add_own("shared_w13", x, {2 * shape_.n_shared * i, h}, BufferKind::weight, "shared_w13");
      shared_w2_ = b_.add_own("shared_w2", x, {h, shape_.n_shared * i}, BufferKind::weight, "shared_w2");
    }
  }

  // The top-k buffers are `width_` columns wide; fused shared experts own the last ones, which nobody writes.
  void add_intermediates() {
    router_logits_ = b_.add_own("router_logits", DType::f32, {spec_.tokens, shape_.experts}, BufferKind::activation);
    topk_ids_ = add_topk("topk_ids", DType::i32, "shared_ids");
    topk_weights_ = add_topk("topk_weights", DType::f32, "shared_weights");
    const std::int64_t rows = batch_ * width_, x = size_of(spec_.dtype);
    const auto activation = [&](const char* name, std::int64_t bytes) {
      return b_.add_buffer(name, BufferKind::activation, bytes);
    };
    offsets_buffer_ = activation("expert_offsets", (experts() + 1) * 4);
    slots_buffer_ = activation("sorted_slots", rows * 4);
    rows_buffer_ = activation("slot_rows", rows * 4);
    gemm1_buffer_ = activation("gemm1_out", rows * 2 * shape_.inter * x);
    act_buffer_ = activation("act_out", rows * shape_.inter * x);
    gemm2_buffer_ = activation("gemm2_out", rows * shape_.hidden * x);
    if (spec_.chunk > 0) staging_buffer_ = activation("staging_hidden", batch_ * shape_.hidden * x);
    if (shared_) {
      const std::int64_t inter = shape_.n_shared * shape_.inter;
      shared_gemm1_buffer_ = activation("shared_gemm1_out", batch_ * 2 * inter * x);
      shared_act_buffer_ = activation("shared_act_out", batch_ * inter * x);
      shared_out_buffer_ = activation("shared_out", batch_ * shape_.hidden * x);
    }
    add_workspaces(rows);
    const std::int64_t out_bytes = spec_.tokens * shape_.hidden * x;
    if (!fused_ || !spec_.in_place || spec_.chunk > 0) moe_out_buffer_ = activation("moe_out", out_bytes);
    if (!spec_.in_place && !fused_) {
      routed_buffer_ = b_.add_buffer("routed_out", BufferKind::activation, batch_ * shape_.hidden * x, /*pooled=*/true);
    }
  }

  void add_workspaces(std::int64_t rows) {
    if (spec_.split_k <= 1) return;
    const std::int64_t splits = spec_.split_k;
    gemm1_workspace_ = b_.add_buffer("gemm1_workspace", BufferKind::workspace, splits * rows * 2 * shape_.inter * 4);
    if (!shared_) return;
    shared_workspace_ = b_.add_buffer("shared_gemm1_workspace", BufferKind::workspace,
                                      splits * batch_ * 2 * shape_.n_shared * shape_.inter * 4);
  }

  std::vector<int> add_topk(const char* name, DType dtype, const char* constant) {
    const std::int64_t element = size_of(dtype);
    const int buffer = b_.add_buffer(name, BufferKind::activation, spec_.tokens * width_ * element);
    std::vector<int> values{b_.add_value(name, dtype, {spec_.tokens, shape_.top_k}, buffer, {0, width_ * element, 0})};
    if (fused_) {
      values.push_back(b_.add_value(constant, dtype, {spec_.tokens, shape_.n_shared}, buffer,
                                    {0, width_ * element, shape_.top_k * element}, constant));
    }
    return values;
  }

  std::int64_t experts() const { return shape_.experts + (fused_ ? shape_.n_shared : 0); }

  // The clone protects the shared experts from an in-place routed kernel; it is made before the fork, on main, so that
  // the fork orders it (vllm#28430 had it after: STREAM-1).
  void clone_and_fork() {
    clone_ = b_.add_own("hidden_clone", spec_.dtype, {spec_.tokens, shape_.hidden}, BufferKind::activation, "", true);
    b_.alloc(b_.program.values[static_cast<std::size_t>(clone_)].buffer, kMain);
    b_.copy("clone_hidden", kMain, b_.whole(hidden_), b_.whole(clone_));
    b_.wait("fork", kMain, kAux);
  }

  void run_router() {
    OpParams params;
    params.top_k = static_cast<int>(shape_.top_k);
    params.n_group = static_cast<int>(shape_.n_group);
    params.topk_group = static_cast<int>(shape_.topk_group);
    params.norm_topk_prob = shape_.norm_topk_prob;
    params.factor = fused_ ? shape_.routed_scaling_factor : 1.0;  // AITER folds the factor into the routed weights
    b_.call(OpKind::router, kMain,
            {b_.whole(hidden_), b_.whole(gate_weight_), b_.whole(gate_bias_), b_.whole(router_logits_),
             b_.whole(topk_ids_[0]), b_.whole(topk_weights_[0])},
            params);
  }

  void run_chunk(std::int64_t begin) {
    const std::int64_t rows = std::min(batch_, spec_.tokens - begin);
    const int chunk = static_cast<int>(begin / batch_);
    const int staging =
        add_chunk_value("staging_hidden", spec_.dtype, {rows, shape_.hidden}, staging_buffer_, chunk, begin);
    b_.copy("stage_hidden", kMain, b_.rows(hidden_, begin, begin + rows), b_.whole(staging), chunk);
    run_batch(staging, chunk, begin);
  }

  // One batch (or chunk) of rows that lie in value `x`; `begin` is its first token.
  void run_batch(int x, int chunk, std::int64_t begin) {
    int shared_out = shared_out_;
    if (shared_ && !aux_ && spec_.order == IssueOrder::shared_first) shared_out = run_shared(kMain, x, chunk, begin);
    const int routed = run_routed(x, chunk, begin);
    if (shared_ && spec_.order == IssueOrder::routed_first) {
      shared_out = run_shared(aux_ ? kAux : kMain, aux_ ? clone_ : x, chunk, begin);
    }
    if (aux_) b_.wait("join", kAux, kMain);
    if (fused_) {
      b_.program.outputs.push_back(fused_output(routed, chunk, begin));
      return;
    }
    const std::int64_t rows = b_.program.values[static_cast<std::size_t>(x)].shape[0];
    const int out =
        add_chunk_value("moe_out", spec_.dtype, {rows, shape_.hidden}, moe_out_buffer_, chunk, begin, begin);
    OpParams params;
    params.factor = shape_.routed_scaling_factor;
    b_.call(OpKind::scale_add, kMain, {b_.whole(routed), shared_ ? b_.whole(shared_out) : Operand{}, b_.whole(out)},
            params, chunk);
    b_.program.outputs.push_back(out);
  }

  // In place and chunked, the fused result lies in the staging buffer and must be copied out.
  int fused_output(int routed, int chunk, std::int64_t begin) {
    if (chunk < 0 || !spec_.in_place) return routed;
    const Shape shape = b_.program.values[static_cast<std::size_t>(routed)].shape;
    const int out = add_chunk_value("moe_out", spec_.dtype, shape, moe_out_buffer_, chunk, begin, begin);
    b_.copy("unstage_output", kMain, b_.whole(routed), b_.whole(out), chunk);
    return out;
  }

  int run_routed(int x, int chunk, std::int64_t begin) {
    const std::int64_t tokens = b_.program.values[static_cast<std::size_t>(x)].shape[0], rows = tokens * width_;
    const DType t = spec_.dtype;
    const auto value = [&](const char* name, DType dtype, Shape shape, int buffer) {
      return add_chunk_value(name, dtype, std::move(shape), buffer, chunk, begin);
    };
    const int offsets = value("expert_offsets", DType::i32, {experts() + 1}, offsets_buffer_);
    const int slots = value("sorted_slots", DType::i32, {rows}, slots_buffer_);
    const int slot_rows = value("slot_rows", DType::i32, {rows}, rows_buffer_);
    const int gemm1 = value("gemm1_out", t, {rows, 2 * shape_.inter}, gemm1_buffer_);
    const int act = value("act_out", t, {rows, shape_.inter}, act_buffer_);
    const int gemm2 = value("gemm2_out", t, {rows, shape_.hidden}, gemm2_buffer_);
    const auto topk = [&](const std::vector<int>& values) {
      return b_.side_by_side(values, width_, begin, begin + tokens);
    };

    b_.call(OpKind::dispatch, kMain, {topk(topk_ids_), b_.whole(offsets), b_.whole(slots), b_.whole(slot_rows)}, {},
            chunk);
    OpParams split;
    split.split_k = spec_.split_k;
    b_.call(OpKind::gemm1, kMain,
            {b_.whole(x), b_.whole(slots), b_.whole(offsets), b_.whole(w13_), b_.whole(gemm1),
             workspace(gemm1_workspace_, "gemm1_workspace", rows, 2 * shape_.inter, chunk)},
            split, chunk);
    b_.call(OpKind::activation, kMain, {b_.whole(gemm1), b_.whole(act)}, {}, chunk);
    b_.call(OpKind::gemm2, kMain, {b_.whole(act), b_.whole(offsets), b_.whole(w2_), b_.whole(gemm2)}, {}, chunk);
    if (routed_buffer_ >= 0 && !routed_allocated_) {
      b_.alloc(routed_buffer_, kMain);
      routed_allocated_ = true;
    }
    const int routed = add_routed_out(x, tokens, chunk, begin);
    b_.call(OpKind::combine, kMain, {b_.whole(gemm2), b_.whole(slot_rows), topk(topk_weights_), b_.whole(routed)}, {},
            chunk);
    return routed;
  }

  // Where combine writes: over its own input (in place), to the pooled routed_out, or straight to the result (fused).
  int add_routed_out(int x, std::int64_t tokens, int chunk, std::int64_t begin) {
    const char* name = fused_ && !(spec_.in_place && chunk >= 0) ? "moe_out" : "routed_out";
    const Shape shape{tokens, shape_.hidden};
    if (spec_.in_place) {
      return add_chunk_value(name, spec_.dtype, shape, b_.program.values[static_cast<std::size_t>(x)].buffer, chunk,
                             begin);
    }
    if (fused_) return add_chunk_value(name, spec_.dtype, shape, moe_out_buffer_, chunk, begin, begin);
    return add_chunk_value(name, spec_.dtype, shape, routed_buffer_, chunk, begin);
  }

  int run_shared(int stream, int x, int chunk, std::int64_t begin) {
    const std::int64_t rows = b_.program.values[static_cast<std::size_t>(x)].shape[0];
    const std::int64_t inter = shape_.n_shared * shape_.inter;
    const auto value = [&](const char* name, std::int64_t columns, int buffer) {
      return add_chunk_value(name, spec_.dtype, {rows, columns}, buffer, chunk, begin);
    };
    const int gemm1 = value("shared_gemm1_out", 2 * inter, shared_gemm1_buffer_);
    const int act = value("shared_act_out", inter, shared_act_buffer_);
    const int out = value("shared_out", shape_.hidden, shared_out_buffer_);
    OpParams split;
    split.split_k = spec_.split_k;
    b_.call(OpKind::shared_gemm1, stream,
            {b_.whole(x), b_.whole(shared_w13_), b_.whole(gemm1),
             workspace(shared_workspace_, "shared_gemm1_workspace", rows, 2 * inter, chunk)},
            split, chunk);
    b_.call(OpKind::shared_activation, stream, {b_.whole(gemm1), b_.whole(act)}, {}, chunk);
    b_.call(OpKind::shared_gemm2, stream, {b_.whole(act), b_.whole(shared_w2_), b_.whole(out)}, {}, chunk);
    return shared_out_ = out;
  }

  Operand workspace(int buffer, const char* name, std::int64_t rows, std::int64_t columns, int chunk) {
    if (buffer < 0) return {};
    const int value = add_chunk_value(name, DType::f32, {spec_.split_k, rows, columns}, buffer, chunk, 0);
    return b_.whole(value);
  }

  void run_residual() {
    const int out = b_.add_own("layer_out", spec_.dtype, {spec_.tokens, shape_.hidden}, BufferKind::activation);
    Operand moe = b_.whole(b_.program.outputs.front());
    moe.shape[0] = moe.region.rows = spec_.tokens;
    moe.values = b_.program.outputs;
    b_.call(OpKind::residual_add, kMain, {moe, b_.whole(hidden_), b_.whole(out)});
    b_.program.outputs = {out};
  }

  void free_pooled() {
    if (clone_ >= 0) b_.free(b_.program.values[static_cast<std::size_t>(clone_)].buffer, kMain);
    if (routed_allocated_) b_.free(routed_buffer_, kMain);
  }

  int add_chunk_value(const char* name, DType dtype, Shape shape, int buffer, int chunk, std::int64_t first_token,
                      std::int64_t row_begin = 0) {
    const int value = b_.add_value(name, dtype, std::move(shape), buffer, {row_begin, 0, 0});
    b_.program.values.back().chunk = chunk;
    b_.program.values.back().row_offset = static_cast<int>(first_token);
    return value;
  }

  Program finish() {
    b_.program.shape = shape_;
    b_.program.tokens = spec_.tokens;
    b_.program.dtype = spec_.dtype;
    b_.program.shared_fused = fused_;
    validate(b_.program);
    return std::move(b_.program);
  }

  const Case& spec_;
  const MoeShape& shape_;
  const bool fused_, aux_, shared_;
  const std::int64_t width_, batch_;
  ProgramBuilder b_;
  int hidden_ = -1, gate_weight_ = -1, gate_bias_ = -1, w13_ = -1, w2_ = -1, shared_w13_ = -1, shared_w2_ = -1;
  int router_logits_ = -1, clone_ = -1, shared_out_ = -1;
  std::vector<int> topk_ids_, topk_weights_;
  int offsets_buffer_ = -1, slots_buffer_ = -1, rows_buffer_ = -1, gemm1_buffer_ = -1, act_buffer_ = -1,
      gemm2_buffer_ = -1;
  int staging_buffer_ = -1, shared_gemm1_buffer_ = -1, shared_act_buffer_ = -1, shared_out_buffer_ = -1;
  int moe_out_buffer_ = -1, routed_buffer_ = -1, gemm1_workspace_ = -1, shared_workspace_ = -1;
  bool routed_allocated_ = false;
};

}  // namespace

Program build_moe_layer(const Case& spec) {
  CHECK(spec.tokens >= 0 && spec.shape.hidden > 0, "cases are validated before programs are built");
  return LayerBuilder(spec).build();
}

}  // namespace moediff
