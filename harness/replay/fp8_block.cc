// Reading a quantised block, sizes first, and dequantising it.
#include "harness/replay/fp8_block.h"

#include <algorithm>

#include "harness/replay/fp8.h"
#include "reference/formats.h"

namespace moediff {
namespace {

constexpr std::int64_t kMaxWidth = 65536, kMaxExperts = 4096, kMaxShared = 64;
constexpr std::int64_t kMaxRows = std::int64_t{1} << 27;  // elements of the largest intermediate

MoeShape read_shape(ReplayFile& file, bool with_router) {
  const ReplayConfig& config = file.config();
  MoeShape shape;
  shape.hidden = config.integer({"hidden_size"}, 1, kMaxWidth);
  shape.inter = config.integer({"moe_intermediate_size"}, 1, kMaxWidth);
  shape.experts = config.integer({"n_routed_experts", "num_experts"}, 1, kMaxExperts);
  shape.top_k = config.integer({"num_experts_per_tok", "top_k"}, 1, shape.experts);
  if (!with_router) return shape;
  shape.n_group = config.integer({"n_group"}, 1, shape.experts, 1);
  shape.topk_group = config.integer({"topk_group"}, 1, shape.n_group, shape.n_group);
  shape.n_shared = config.integer({"n_shared_experts"}, 0, kMaxShared, 0);
  shape.norm_topk_prob = config.boolean({"norm_topk_prob"}, true);
  shape.routed_scaling_factor = config.real({"routed_scaling_factor"}, 1e-6, 1e6, 1.0);
  if (shape.experts % shape.n_group != 0 || shape.top_k > shape.topk_group * (shape.experts / shape.n_group)) {
    file.mistakes().add(std::to_string(shape.n_group) + " groups",
                        "'n_group' must divide the experts, and 'topk_group' groups must hold the experts of a token",
                        "correct it in the file's metadata");
  }
  return shape;
}

QuantisedMatrix read_matrix(ReplayFile& file, const std::string& name, std::int64_t n, std::int64_t k,
                            const QuantSpec& quant) {
  const Shape scales{(n + quant.group - 1) / quant.group, (k + quant.group - 1) / quant.group};
  return {n, k, file.bytes(name + ".weight", {n, k}, quant.fp8_dtype()),
          file.reals(name + ".weight_scale_inv", scales)};
}

QuantisedExpert read_expert(ReplayFile& file, const std::string& prefix, std::int64_t inter, std::int64_t hidden,
                            const QuantSpec& quant) {
  return {read_matrix(file, prefix + "gate_proj", inter, hidden, quant),
          read_matrix(file, prefix + "up_proj", inter, hidden, quant),
          read_matrix(file, prefix + "down_proj", hidden, inter, quant)};
}

std::vector<double> values_of(const QuantisedMatrix& matrix, const QuantSpec& quant, DType model) {
  const std::int64_t sn = (matrix.n + quant.group - 1) / quant.group;
  const std::int64_t sk = (matrix.k + quant.group - 1) / quant.group;
  std::vector<double> values =
      reference::weight_values({matrix.n, matrix.k, matrix.codes, matrix.scales, sn, sk}, quant, false, DType::f32);
  if (model == DType::f64) return values;
  for (double& value : values) value = reference::round_to(model, reference::round_to(DType::f32, value));
  return values;
}

/// Gate rows, then up rows.
reference::Matrix w13_of(const QuantisedExpert& expert, const QuantSpec& quant, DType model) {
  std::vector<double> values = values_of(expert.gate, quant, model);
  const std::vector<double> up = values_of(expert.up, quant, model);
  values.insert(values.end(), up.begin(), up.end());
  return {values, 2 * expert.gate.n, expert.gate.k};
}
reference::Matrix w2_of(const QuantisedExpert& expert, const QuantSpec& quant, DType model) {
  return {values_of(expert.down, quant, model), expert.down.n, expert.down.k};
}

}  // namespace

QuantisedBlock load_quantised_block(ReplayFile& file, bool with_router) {
  QuantisedBlock block;
  block.shape = read_shape(file, with_router);
  block.quant.scheme = QuantScheme::fp8_block;
  block.quant.fp8 = read_fp8_kind(file);
  block.quant.group = read_block(file);
  block.quant = resolved(block.quant);
  block.tokens = file.shape("hidden_states", 2)[0];
  const MoeShape& s = block.shape;
  if (block.tokens * s.top_k * std::max(2 * s.inter, s.hidden) > kMaxRows) {
    file.mistakes().add(std::to_string(block.tokens) + " tokens", "the case must be of a size that can be replayed",
                        "use fewer tokens");
  }
  file.throw_if_mistaken();  // sizes are used from here on

  block.x = file.reals("hidden_states", {block.tokens, s.hidden});
  for (std::int64_t e = 0; e < s.experts; ++e) {
    block.experts.push_back(read_expert(file, "experts." + std::to_string(e) + ".", s.inter, s.hidden, block.quant));
  }
  if (with_router) {
    block.gate_weight = file.reals("gate.weight", {s.experts, s.hidden});
    if (file.has("gate.e_score_correction_bias")) block.bias = file.reals("gate.e_score_correction_bias", {s.experts});
  }
  if (s.n_shared > 0) {
    block.shared = read_expert(file, "shared_experts.", s.n_shared * s.inter, s.hidden, block.quant);
  }
  file.throw_if_mistaken();
  return block;
}

MoeWeights dequantised(const QuantisedBlock& block, DType model) {
  const MoeShape& s = block.shape;
  MoeWeights out;
  out.hidden = s.hidden, out.inter = s.inter, out.experts = s.experts, out.shared_inter = s.n_shared * s.inter;
  for (const QuantisedExpert& expert : block.experts) {
    out.w13.push_back(w13_of(expert, block.quant, model));
    out.w2.push_back(w2_of(expert, block.quant, model));
  }
  if (s.n_shared == 0) return out;
  out.shared_w13 = w13_of(block.shared, block.quant, model);
  out.shared_w2 = w2_of(block.shared, block.quant, model);
  return out;
}

MoeArithmetic arithmetic_of(const QuantSpec& quant, bool quantise, DType model) {
  MoeArithmetic arithmetic;
  arithmetic.model = model;
  if (quantise) arithmetic.quant = arithmetic.shared_quant = quant;
  return arithmetic;
}

DType dtype_of(const std::string& precision) {
  if (precision == "bf16") return DType::bf16;
  return precision == "f32" ? DType::f32 : DType::f64;
}

std::vector<double> rounded(std::vector<double> values, DType dtype) {
  for (double& value : values) value = reference::round_to(dtype, value);
  return values;
}

}  // namespace moediff
