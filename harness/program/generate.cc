// Generated inputs: every element a pure function of (seed, tensor, index). Weights of a quantised scheme are drawn as
// codes and scales, with the magnitudes that a quantised trained layer has.
#include <algorithm>
#include <array>
#include <cmath>

#include "harness/core/check.h"
#include "harness/core/formats.h"
#include "harness/core/random.h"
#include "harness/model/field.h"
#include "harness/program/input_parts.h"
#include "harness/program/quant_layout.h"

namespace moediff {
namespace {

/// Elements of one tensor: `columns` is the length of a dot product, along which values may cancel.
struct Draw {
  const Case& spec;
  std::uint64_t key;
  std::int64_t columns;
  bool weight;

  double uniform(std::size_t i, std::uint64_t salt) const { return random_uniform(key ^ salt, i); }
  double normal(std::size_t i) const { return random_normal(key, i); }
  bool odd(std::size_t i) const { return i % static_cast<std::size_t>(columns) % 2 == 1; }
  /// Of unit spread, but for the distributions that are about spread.
  double value(std::size_t i) const;
};

double Draw::value(std::size_t i) const {
  const bool narrow = spec.dtype == DType::f16;
  switch (spec.input.distribution) {
    case Distribution::integers:
      // Weights are mostly zero, so that sums of thousands stay small.
      if (weight && uniform(i, 0x0dd5) >= 0.125) return 0;
      return std::floor(random_uniform(key, i) * 5.0) - 2.0;
    case Distribution::heavy_tailed:
      return normal(i) / std::sqrt(std::max(uniform(i, 0x7a11), narrow ? 1e-2 : 1e-4));
    case Distribution::cancelling:
      // Pairs of columns: equal activations, weights of nearly opposite value.
      if (!odd(i)) return normal(i);
      return weight ? -normal(i - 1) * (1 + 0x1p-5 * normal(i)) : normal(i - 1);
    case Distribution::subnormal:
      // The activation multiplies two values of this size, which is where the smallest normal number is passed.
      return weight ? normal(i) : std::ldexp(normal(i), narrow ? -8 : -65);
    case Distribution::huge_range: {
      const double decades = weight ? 3 : narrow ? 3 : 20;
      return std::ldexp(normal(i), static_cast<int>(std::floor((2 * uniform(i, 0x4a6e) - 1) * decades)));
    }
    case Distribution::normal:
    case Distribution::near_tie:
      break;
  }
  return normal(i);
}

class Generator {
 public:
  Generator(const Case& spec, Inputs& inputs) : spec_(spec), inputs_(inputs) {}

  void real(const std::string& name, DType dtype, Shape shape, double scale, bool weight) {
    const Draw draw{spec_, stream_key(spec_.seed, name), shape.back(), weight};
    const double factor = integers() ? exact_scale(name) : scale;
    std::vector<double> values(static_cast<std::size_t>(count(shape)));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = draw.value(i) * factor;
    inputs_[name] = from_doubles(dtype, std::move(shape), values);
  }

  void field(const std::string& name, Shape shape) {
    const std::uint64_t key = stream_key(spec_.seed, name);
    Tensor tensor(DType::field, std::move(shape));
    const auto elements = tensor.as<std::uint64_t>();
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = random_bits(key, i) % kFieldPrime;
    inputs_[name] = std::move(tensor);
  }

  /// A weight [..., n, k] in the scheme's formats, of spread `scale`.
  void weight(const std::string& name, const QuantSpec& quant, Shape shape, double scale, bool halves) {
    const std::size_t rank = shape.size();
    const std::int64_t n = shape[rank - 2], k = shape[rank - 1];
    const WeightLayout layout = weight_layout(quant, dtype(), n, k, halves);
    Shape scales = shape, offset = shape;
    scales[rank - 2] = layout.sn;
    scales[rank - 1] = layout.sk;
    offset[rank - 1] = 1;
    if (is_field()) {
      field(name, shape);
      if (layout.scaled) field(name + "_scales", scales);
    } else if (!layout.scaled) {
      real(name, spec_.dtype, shape, scale, true);
    } else {
      codes(name, quant, layout, std::move(shape));
      draw_scales(name + "_scales", quant, layout, std::move(scales), scale);
    }
    if (layout.offset) inputs_[name + "_offset"] = Tensor(layout.scales, std::move(offset));  // symmetric: zeros
  }

  DType dtype() const { return is_field() ? DType::field : spec_.dtype; }
  bool is_field() const { return spec_.arithmetic == Arithmetic::field; }

 private:
  bool integers() const { return spec_.input.distribution == Distribution::integers; }

  /// A power of two that keeps the second product within f16.
  static double exact_scale(const std::string& name) { return name.find("w2") == std::string::npos ? 1.0 : 0x1p-6; }

  /// Four standard deviations reach the largest code.
  static double code_spread(CodeFormat format) {
    switch (format) {
      case CodeFormat::fp8:
        return largest(DType::f8_e4m3fn) / 4;
      case CodeFormat::int8:
        return 127.0 / 4;
      case CodeFormat::int4:
      case CodeFormat::fp4:
      case CodeFormat::none:
        break;
    }
    return 2;
  }

  void codes(const std::string& name, const QuantSpec& quant, const WeightLayout& layout, Shape shape) {
    const CodeFormat format = row(quant.scheme).weight;
    const Draw draw{spec_, stream_key(spec_.seed, name), shape.back(), true};
    const double spread = integers() ? 1.0 : code_spread(format);
    const std::int64_t k = shape.back(), rows = count(shape) / std::max<std::int64_t>(k, 1);
    shape.back() = layout.columns;
    Tensor tensor(layout.codes, std::move(shape));
    const auto bytes = tensor.as<std::uint8_t>();
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < k; ++c) {
        const double value = draw.value(static_cast<std::size_t>(r * k + c)) * spread;
        const std::uint8_t code = code_of(format, quant, value);
        if (layout.codes != DType::u8) {
          bytes[static_cast<std::size_t>(r * k + c)] = code;
        } else {
          std::uint8_t& pair = bytes[static_cast<std::size_t>(r * layout.columns + c / 2)];
          pair = static_cast<std::uint8_t>(c % 2 == 0 ? code : pair | code << 4);
        }
      }
    }
    inputs_[name] = std::move(tensor);
  }

  // fp8 weights are drawn as a checkpoint has them, in e4m3fn; a gfx942 loader turns the byte of -0, which is NaN in
  // fnuz, into 0 and doubles the scales (draw_scales), as every other byte stands for half its value there.
  static std::uint8_t code_of(CodeFormat format, const QuantSpec& quant, double value) {
    switch (format) {
      case CodeFormat::fp8: {
        const double most = largest(DType::f8_e4m3fn);
        const auto byte = static_cast<std::uint8_t>(encode(DType::f8_e4m3fn, std::clamp(value, -most, most)));
        return quant.fp8 == Fp8Kind::e4m3fnuz && byte == 0x80 ? std::uint8_t{0} : byte;
      }
      case CodeFormat::int8:
        return static_cast<std::uint8_t>(static_cast<std::int8_t>(std::clamp(std::round(value), -127.0, 127.0)));
      case CodeFormat::int4:
        return static_cast<std::uint8_t>(std::clamp(std::round(value), -8.0, 7.0) + 8);
      case CodeFormat::fp4:
        return fp4_code(value);
      case CodeFormat::none:
        break;
    }
    check_failed(__FILE__, __LINE__, "the scheme has codes", "");
  }

  /// The nearest e2m1 magnitude.
  static std::uint8_t fp4_code(double value) {
    constexpr std::array<double, 8> kMagnitudes{0, 0.5, 1, 1.5, 2, 3, 4, 6};
    std::uint8_t best = 0;
    for (std::uint8_t i = 1; i < kMagnitudes.size(); ++i) {
      if (std::fabs(std::fabs(value) - kMagnitudes[i]) < std::fabs(std::fabs(value) - kMagnitudes[best])) best = i;
    }
    return static_cast<std::uint8_t>(value < 0 ? best | 8 : best);
  }

  void draw_scales(const std::string& name, const QuantSpec& quant, const WeightLayout& layout, Shape shape,
                   double scale) {
    const std::uint64_t key = stream_key(spec_.seed, name);
    const CodeFormat format = row(quant.scheme).weight;
    const bool power = integers() || quant.scales == ScaleKind::ue8m0 || layout.scales == DType::f8_e8m0;
    std::vector<double> values(static_cast<std::size_t>(count(shape)));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double spread = 0.5 + random_uniform(key, i);
      const double drawn = integers() ? 2 * spread * exact_scale(name) : scale / code_spread(format) * spread;
      values[i] = power ? std::exp2(std::floor(std::log2(drawn))) : drawn;
      if (format == CodeFormat::fp8 && quant.fp8 == Fp8Kind::e4m3fnuz) values[i] *= 2;
    }
    inputs_[name] = from_doubles(layout.scales, std::move(shape), values);
  }

  const Case& spec_;
  Inputs& inputs_;
};

/// Rows e and e + 1 of the gate alike, but for one element that differs by about a unit of the last place.
void pair_gate_rows(const Case& spec, Tensor& gate) {
  std::vector<double> values = to_doubles(gate);
  const auto h = static_cast<std::size_t>(spec.shape.hidden);
  const double nudge = 1 + (spec.dtype == DType::f32 ? 0x1p-20 : 2 * unit_roundoff(spec.dtype));
  for (std::size_t e = 1; e < static_cast<std::size_t>(spec.shape.experts); e += 2) {
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>((e - 1) * h), h,
                values.begin() + static_cast<std::ptrdiff_t>(e * h));
    values[e * h + e % h] *= nudge;
  }
  gate = from_doubles(gate.dtype, gate.shape, values);
}

/// The code that stands for `value` in the first column of every gate row of a w13: as a number, or as the low nibble.
void set_first_column(const Case& spec, Tensor& w13, double value) {
  const std::size_t rank = w13.shape.size();
  const std::int64_t rows = w13.shape[rank - 2], bytes = w13.shape[rank - 1] * size_of(w13.dtype);
  const bool packed = w13.dtype == DType::u8;
  const bool fp4 = spec.quant.scheme == QuantScheme::mxfp4;
  const std::array<double, 1> one{value};
  const Tensor code = packed ? Tensor(DType::u8, {1}) : from_doubles(w13.dtype, {1}, one);
  for (std::int64_t r = 0; r < count(w13.shape) / w13.shape[rank - 1]; ++r) {
    if (r % rows >= rows / 2) continue;
    std::byte* first = w13.data.data() + r * bytes;
    if (packed) {
      const auto nibble = static_cast<unsigned>(fp4 ? 7 : value + 8);  // e2m1 7 is 6
      *first = static_cast<std::byte>((std::to_integer<unsigned>(*first) & 0xf0) | nibble);
    } else {
      std::copy(code.data.begin(), code.data.end(), first);
    }
  }
}

/// A constant first column of the tokens, and gate rows that make much of it: experts that no token chooses.
void make_idle(const Case& spec, Inputs& inputs) {
  constexpr double kColumn = 4, kGate = -1000, kBias = -10;
  const std::int64_t first = spec.shape.experts - spec.input.idle_experts;
  const auto set = [&](const char* name, std::int64_t begin, std::int64_t stride, double value) {
    std::vector<double> values = to_doubles(inputs[name]);
    for (std::size_t i = static_cast<std::size_t>(begin); i < values.size(); i += static_cast<std::size_t>(stride))
      values[i] = value;
    inputs[name] = from_doubles(inputs[name].dtype, inputs[name].shape, values);
  };
  set("hidden_states", 0, spec.shape.hidden, kColumn);
  set("gate_weight", first * spec.shape.hidden, spec.shape.hidden, kGate);
  if (inputs.count("gate_bias") > 0) set("gate_bias", first, 1, kBias);
}

/// Integers only: a constant first column of the tokens that gate rows make much of, so that every gate is far above
/// zero, where a sigmoid is 1 and the activation the product of two integers: the linear stages after it are exact too.
void make_gates_large(const Case& spec, Inputs& inputs) {
  constexpr double kColumn = 64, kGate = 6;
  const auto h = static_cast<std::size_t>(spec.shape.hidden);
  std::vector<double> hidden = to_doubles(inputs["hidden_states"]), gate = to_doubles(inputs["gate_weight"]);
  for (std::size_t i = 0; i < hidden.size(); i += h) hidden[i] = kColumn;
  for (std::size_t i = 0; i < gate.size(); i += h) gate[i] = 0;
  inputs["hidden_states"] = from_doubles(spec.dtype, inputs["hidden_states"].shape, hidden);
  inputs["gate_weight"] = from_doubles(spec.dtype, inputs["gate_weight"].shape, gate);
  for (const char* name : {"w13", "shared_w13"}) {
    const auto found = inputs.find(name);
    if (found != inputs.end()) set_first_column(spec, found->second, kGate);
  }
}

/// Algebra mode: top_k distinct experts a token, the lowest of a random order; and their weights.
void draw_routing(const Case& spec, Generator& generator, Inputs& inputs) {
  const MoeShape& s = spec.shape;
  const std::uint64_t key = stream_key(spec.seed, "topk_ids");
  const std::int64_t busy = s.experts - spec.input.idle_experts;
  Tensor ids(DType::i32, {spec.tokens, s.top_k});
  for (std::int64_t t = 0; t < spec.tokens; ++t) {
    std::vector<std::pair<std::uint64_t, std::int32_t>> order;
    for (std::int64_t e = 0; e < busy; ++e) {
      order.emplace_back(random_bits(key, static_cast<std::uint64_t>(t * s.experts + e)), static_cast<std::int32_t>(e));
    }
    std::sort(order.begin(), order.end());
    for (std::int64_t j = 0; j < s.top_k; ++j)
      ids.as<std::int32_t>()[static_cast<std::size_t>(t * s.top_k + j)] = order[static_cast<std::size_t>(j)].second;
  }
  inputs["topk_ids"] = std::move(ids);
  generator.field("topk_weights", {spec.tokens, s.top_k});
}

}  // namespace

void generate_inputs(const Case& spec, Inputs& inputs) {
  const MoeShape& s = spec.shape;
  const double by_hidden = 1.0 / std::sqrt(static_cast<double>(s.hidden)),
               by_inter = 1.0 / std::sqrt(static_cast<double>(s.inter));
  Generator generator(spec, inputs);
  if (generator.is_field()) {
    generator.field("hidden_states", {spec.tokens, s.hidden});
    draw_routing(spec, generator, inputs);
  } else {
    generator.real("hidden_states", spec.dtype, {spec.tokens, s.hidden}, 1.0, false);
    generator.real("gate_weight", spec.dtype, {s.experts, s.hidden}, by_hidden, true);
    if (spec.router.bias) generator.real("gate_bias", DType::f32, {s.experts}, spec.input.bias_scale, true);
    if (spec.input.distribution == Distribution::near_tie) pair_gate_rows(spec, inputs["gate_weight"]);
    if (spec.input.idle_experts > 0) make_idle(spec, inputs);
  }
  generator.weight("w13", spec.quant, {s.experts, 2 * s.inter, s.hidden}, by_hidden, true);
  generator.weight("w2", spec.quant, {s.experts, s.hidden, s.inter}, by_inter, false);
  const bool exact = spec.input.distribution == Distribution::integers && !generator.is_field();
  if (s.n_shared == 0) {
    if (exact) make_gates_large(spec, inputs);
    return;
  }
  const QuantSpec shared = spec.quant.shared == SharedWeights::model ? QuantSpec{} : spec.quant;
  generator.weight("shared_w13", shared, {2 * s.n_shared * s.inter, s.hidden}, by_hidden, true);
  generator.weight("shared_w2", shared, {s.hidden, s.n_shared * s.inter}, by_inter, false);
  if (exact) make_gates_large(spec, inputs);
}

}  // namespace moediff
