// The two chains of an MoE layer's experts, as calls of a Program: routed (dispatch … combine) and shared.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/program/builder.h"
#include "harness/program/quant_layout.h"
#include "harness/scenario/case.h"

namespace moediff {

/// A weight as values of the Program; -1: there is none.
struct WeightValues {
  int codes = -1, scales = -1, offset = -1;
};

/// What the builders of one layer share: the case, derived facts, and the Program under construction.
struct LayerContext {
  explicit LayerContext(const Case& layer);

  const Case& spec;
  const MoeShape& shape;
  const bool fused, aux, shared;  ///< shared experts fused into the routed ones, on a stream of their own, at all apart
  const bool field;               ///< algebra mode
  const DType x;                  ///< dtype of activations: the model dtype, or field
  const DType weights_dtype;      ///< of topk_weights
  const std::int64_t tokens, width, batch;  ///< rows of the case, columns of the top-k buffers, rows of a chunk
  ProgramBuilder b;
  std::map<std::string, int> buffers;  ///< of intermediates, by the name of the values they hold
  WeightValues w13, w2, shared_w13, shared_w2;
  std::vector<int> topk_ids,
      topk_weights;  ///< the columns that the router writes, and the constant ones of fused experts
  bool routed_allocated = false;

  std::int64_t experts() const { return shape.experts + (fused ? shape.n_shared : 0); }
  std::int64_t shared_inter() const { return shape.n_shared * shape.inter; }
  /// Quantisation of the routed and of the shared experts.
  QuantSpec quant() const;
  QuantSpec shared_quant() const;

  int add_buffer(const std::string& name, std::int64_t bytes, BufferKind kind = BufferKind::activation,
                 bool pooled = false);
  bool has_buffer(const std::string& name) const { return buffers.count(name) > 0; }
  /// A value of a chunk (-1: not chunked) whose first token is `begin`, in the buffer of its name.
  int add_value(const std::string& name, DType dtype, Shape shape, int chunk, std::int64_t begin);
  int add_value_in(const std::string& name, DType dtype, Shape shape, int buffer, int chunk, std::int64_t begin,
                   std::int64_t row_begin = 0);
  const Value& value(int index) const { return b.program.values[static_cast<std::size_t>(index)]; }
  Operand maybe(int index) const { return index < 0 ? Operand{} : b.whole(index); }
};

/// Buffers of the chains' intermediates.
void add_expert_buffers(LayerContext& layer);
/// Weights, with their scales and offsets.
void add_expert_weights(LayerContext& layer);

/// Calls from dispatch to combine for the rows of value `x`; returns the value that combine writes.
int add_routed_chain(LayerContext& layer, int x, int chunk, std::int64_t begin);
/// Calls of the shared experts on `stream`; returns shared_out.
int add_shared_chain(LayerContext& layer, int stream, int x, int chunk, std::int64_t begin);

}  // namespace moediff
