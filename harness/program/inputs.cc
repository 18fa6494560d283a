#include "harness/program/inputs.h"

#include <cstring>

#include "harness/core/hash.h"
#include "harness/core/safetensors.h"
#include "harness/model/field.h"
#include "harness/program/build.h"
#include "harness/program/input_parts.h"

namespace moediff {
namespace {

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

/// Algebra mode: the routing weights times the factor, for Programs in which the router applies it.
void scale_weights(const Case& spec, Inputs& inputs) {
  const unsigned __int128 factor = field_factor(spec);
  Tensor scaled = inputs["topk_weights"];
  for (std::uint64_t& element : scaled.as<std::uint64_t>())
    element = static_cast<std::uint64_t>(factor * element % kFieldPrime);
  inputs["topk_weights_scaled"] = std::move(scaled);
}

}  // namespace

GroupInputs make_inputs(const Case& spec) {
  GroupInputs group;
  if (spec.input.kind == InputSource::Kind::generated) {
    generate_inputs(spec, group.tensors);
  } else {
    load_capture(spec, group);
  }
  if (spec.arithmetic == Arithmetic::field) scale_weights(spec, group.tensors);
  add_fused(spec, group.tensors);
  vary(spec, group.tensors);
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
