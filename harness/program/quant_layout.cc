#include "harness/program/quant_layout.h"

#include "harness/core/formats.h"

namespace moediff {
namespace {

std::int64_t blocks(std::int64_t extent, std::int64_t block) { return (extent + block - 1) / block; }

DType code_dtype(const QuantSpec& spec, CodeFormat format, DType model) {
  if (model == DType::field) return DType::field;
  switch (format) {
    case CodeFormat::fp8:
      return spec.fp8_dtype();
    case CodeFormat::int8:
      return DType::i8;
    case CodeFormat::int4:
    case CodeFormat::fp4:
      return DType::u8;
    case CodeFormat::none:
      break;
  }
  return model;
}

DType weight_scale_dtype(const QuantSpec& spec, DType model) {
  if (model == DType::field || spec.scheme == QuantScheme::int4_group) return model;
  return spec.scheme == QuantScheme::mxfp4 ? DType::f8_e8m0 : DType::f32;
}

}  // namespace

WeightLayout weight_layout(const QuantSpec& spec, DType model, std::int64_t n, std::int64_t k, bool halves) {
  const QuantRow& scheme = row(spec.scheme);
  WeightLayout layout;
  layout.codes = code_dtype(spec, scheme.weight, model);
  const bool packed = layout.codes == DType::u8;
  layout.columns = packed ? blocks(k, 2) : k;
  layout.scales = weight_scale_dtype(spec, model);
  layout.scaled = scheme.weight_scales != WeightScales::none;
  layout.offset = spec.scheme == QuantScheme::int8_channel;
  switch (scheme.weight_scales) {
    case WeightScales::none:
      break;
    case WeightScales::tensor:
      layout.sn = layout.sk = 1;
      break;
    case WeightScales::channel:
      layout.sn = n;
      layout.sk = 1;
      break;
    case WeightScales::block:
      layout.sn = halves ? 2 * blocks(n / 2, spec.group) : blocks(n, spec.group);
      layout.sk = blocks(k, spec.group);
      break;
    case WeightScales::group:
      layout.sn = n;
      layout.sk = blocks(k, spec.scheme == QuantScheme::mxfp4 ? kMxGroup : spec.group);
      break;
  }
  return layout;
}

ActivationLayout activation_layout(const QuantSpec& spec, DType model, std::int64_t k) {
  const QuantRow& scheme = row(spec.scheme);
  ActivationLayout layout;
  layout.quantised = scheme.activation != ActivationScales::none;
  if (!layout.quantised) return layout;
  layout.codes = code_dtype(spec, scheme.weight, model);
  layout.scales = model == DType::field ? model : DType::f32;
  layout.whole = scheme.activation == ActivationScales::tensor;
  if (scheme.activation == ActivationScales::token_group) layout.scale_columns = blocks(k, spec.group);
  return layout;
}

double resolved_fmax(const QuantSpec& spec) {
  if (spec.fmax > 0) return spec.fmax;
  switch (row(spec.scheme).weight) {
    case CodeFormat::fp8:
      return largest(spec.fp8_dtype());
    case CodeFormat::int8:
      return 127;
    case CodeFormat::none:
    case CodeFormat::int4:
    case CodeFormat::fp4:
      break;
  }
  return 0;
}

}  // namespace moediff
