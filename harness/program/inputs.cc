#include "harness/program/inputs.h"

#include <cmath>
#include <cstring>
#include <functional>

#include "harness/core/hash.h"
#include "harness/core/random.h"
#include "harness/core/safetensors.h"

namespace moediff {
namespace {

// Generated values have the magnitudes of trained layers: unit activations, weights that keep the variance. "integers"
// are small enough that every linear stage is exact in fp32.
Tensor generate(const Case& spec, const std::string& name, DType dtype, Shape shape, double scale) {
  const std::uint64_t key = stream_key(spec.seed, name);
  std::vector<double> values(static_cast<std::size_t>(count(shape)));
  const bool integers = spec.input.distribution == "integers";
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = integers ? std::floor(random_uniform(key, i) * 5.0) - 2.0 : random_normal(key, i) * scale;
  }
  return from_doubles(dtype, std::move(shape), values);
}

void generate_all(const Case& spec, Inputs& inputs) {
  const MoeShape& s = spec.shape;
  const double by_hidden = 1.0 / std::sqrt(static_cast<double>(s.hidden)),
               by_inter = 1.0 / std::sqrt(static_cast<double>(s.inter));
  const auto add = [&](const char* name, DType dtype, Shape shape, double scale) {
    inputs[name] = generate(spec, name, dtype, std::move(shape), scale);
  };
  add("hidden_states", spec.dtype, {spec.tokens, s.hidden}, 1.0);
  add("gate_weight", spec.dtype, {s.experts, s.hidden}, by_hidden);
  add("gate_bias", DType::f32, {s.experts}, spec.input.bias_scale);
  add("w13", spec.dtype, {s.experts, 2 * s.inter, s.hidden}, by_hidden);
  add("w2", spec.dtype, {s.experts, s.hidden, s.inter}, by_inter);
  if (s.n_shared == 0) return;
  add("shared_w13", spec.dtype, {2 * s.n_shared * s.inter, s.hidden}, by_hidden);
  add("shared_w2", spec.dtype, {s.hidden, s.n_shared * s.inter}, by_inter);
}

Tensor convert(const Tensor& tensor, DType dtype, Shape shape) {
  return from_doubles(dtype, std::move(shape), to_doubles(tensor));
}

void append(Tensor& all, std::size_t& at, const Tensor& part) {
  std::memcpy(all.data.data() + at, part.data.data(), part.data.size());
  at += part.data.size();
}

// Stacks gate_proj and up_proj into w13, expert by expert, as vLLM's loader does.
void load_experts(const Case& spec, const SafetensorsFile& file, Inputs& inputs) {
  const MoeShape& s = spec.shape;
  Tensor w13(spec.dtype, {s.experts, 2 * s.inter, s.hidden}), w2(spec.dtype, {s.experts, s.hidden, s.inter});
  std::size_t at13 = 0, at2 = 0;
  for (std::int64_t e = 0; e < s.experts; ++e) {
    const std::string prefix = spec.input.weights_prefix + "experts." + std::to_string(e) + ".";
    append(w13, at13,
           convert(file.read(prefix + "gate_proj.weight", {s.inter, s.hidden}), spec.dtype, {s.inter, s.hidden}));
    append(w13, at13,
           convert(file.read(prefix + "up_proj.weight", {s.inter, s.hidden}), spec.dtype, {s.inter, s.hidden}));
    append(w2, at2,
           convert(file.read(prefix + "down_proj.weight", {s.hidden, s.inter}), spec.dtype, {s.hidden, s.inter}));
  }
  inputs["w13"] = std::move(w13);
  inputs["w2"] = std::move(w2);
}

void load_weights(const Case& spec, Inputs& inputs) {
  const MoeShape& s = spec.shape;
  const SafetensorsFile file(spec.input.checkpoint);
  const std::string& p = spec.input.weights_prefix;
  inputs["gate_weight"] =
      convert(file.read(p + "gate.weight", {s.experts, s.hidden}), spec.dtype, {s.experts, s.hidden});
  inputs["gate_bias"] = convert(file.read(p + "gate.e_score_correction_bias", {s.experts}), DType::f32, {s.experts});
  load_experts(spec, file, inputs);
  if (s.n_shared == 0) return;
  const std::int64_t inter = s.n_shared * s.inter;
  Tensor w13(spec.dtype, {2 * inter, s.hidden});
  std::size_t at = 0;
  append(w13, at,
         convert(file.read(p + "shared_experts.gate_proj.weight", {inter, s.hidden}), spec.dtype, {inter, s.hidden}));
  append(w13, at,
         convert(file.read(p + "shared_experts.up_proj.weight", {inter, s.hidden}), spec.dtype, {inter, s.hidden}));
  inputs["shared_w13"] = std::move(w13);
  inputs["shared_w2"] =
      convert(file.read(p + "shared_experts.down_proj.weight", {s.hidden, inter}), spec.dtype, {s.hidden, inter});
}

// Reads the first `tokens` rows of a capture's tensor [rows, hidden].
Tensor read_rows(const Case& spec, const SafetensorsFile& file, const std::string& name) {
  const Tensor all = file.read(name);
  if (all.shape.size() != 2 || all.shape[1] != spec.shape.hidden || all.shape[0] < spec.tokens) {
    throw UserError(Error{
        {file.path(), 0, 0},
        name + " " + to_string(all.shape),
        "the case needs [at least " + std::to_string(spec.tokens) + ", " + std::to_string(spec.shape.hidden) + "]",
        "lower `tokens` or name another tensor in " + spec.input.place.file + ":" +
            std::to_string(spec.input.place.line)});
  }
  return slice_rows(all, 0, spec.tokens);
}

void load_capture(const Case& spec, GroupInputs& group) {
  const SafetensorsFile file(spec.input.capture);
  const Tensor hidden = read_rows(spec, file, spec.input.hidden_states);
  group.tensors["hidden_states"] = convert(hidden, spec.dtype, hidden.shape);
  load_weights(spec, group.tensors);
  if (spec.dtype != DType::f32 || spec.input.expected_prefix.empty()) return;
  group.captured_output = read_rows(spec, file, spec.input.expected_prefix + "f64.moe_out");
}

// Shared expert j is rows [j*I, (j+1)*I) of the shared gate and up projections, columns of the down projection.
void add_fused(const Case& spec, Inputs& inputs) {
  const MoeShape& s = spec.shape;
  const std::int64_t element = size_of(spec.dtype), row = s.hidden * element, half = s.inter * row,
                     all = s.n_shared * half;
  Tensor w13(spec.dtype, {s.experts + s.n_shared, 2 * s.inter, s.hidden}),
      w2(spec.dtype, {s.experts + s.n_shared, s.hidden, s.inter});
  std::byte* to13 = std::copy(inputs["w13"].data.begin(), inputs["w13"].data.end(), w13.data.data());
  std::byte* to2 = std::copy(inputs["w2"].data.begin(), inputs["w2"].data.end(), w2.data.data());
  const std::byte* from13 = inputs["shared_w13"].data.data();
  const std::byte* from2 = inputs["shared_w2"].data.data();
  for (std::int64_t j = 0; j < s.n_shared; ++j) {
    to13 = std::copy_n(from13 + j * half, half, to13);
    to13 = std::copy_n(from13 + all + j * half, half, to13);
    for (std::int64_t h = 0; h < s.hidden; ++h) {
      to2 = std::copy_n(from2 + (h * s.n_shared + j) * s.inter * element, s.inter * element, to2);
    }
  }
  inputs["w13_fused"] = std::move(w13);
  inputs["w2_fused"] = std::move(w2);
  Tensor ids(DType::i32, {spec.tokens, s.n_shared}), weights(DType::f32, {spec.tokens, s.n_shared});
  for (std::int64_t i = 0; i < spec.tokens * s.n_shared; ++i) {
    ids.as<std::int32_t>()[i] = static_cast<std::int32_t>(s.experts + i % s.n_shared);
    weights.as<float>()[i] = 1.0f;
  }
  inputs["shared_ids"] = std::move(ids);
  inputs["shared_weights"] = std::move(weights);
}

}  // namespace

GroupInputs make_inputs(const Case& spec) {
  GroupInputs group;
  if (spec.input.kind == InputSource::Kind::generated) {
    generate_all(spec, group.tensors);
  } else {
    load_capture(spec, group);
  }
  if (spec.shape.n_shared > 0) add_fused(spec, group.tensors);
  return group;
}

std::uint64_t hash(const Inputs& inputs) {
  Hasher hasher;
  for (const auto& [name, tensor] : inputs) {
    hasher.add(name).add(to_string(tensor.dtype));
    for (const std::int64_t extent : tensor.shape) hasher.add(extent);
    hasher.add(std::span<const std::byte>(tensor.data));
  }
  return hasher.value();
}

}  // namespace moediff
