// Products of every scheme, in the order of roundings that the contract gives.
#include <algorithm>
#include <cmath>

#include "tests/unit/compare/emulate.h"

namespace moediff::test {
namespace {

const View* maybe(const Views& v, int operand) {
  return operand >= 0 && v[static_cast<std::size_t>(operand)].present() ? &v[static_cast<std::size_t>(operand)]
                                                                        : nullptr;
}

/// Everything one dot product reads.
struct Product {
  const Step& step;
  DType model;
  const View &x, &weight;
  const View *x_scales, *weight_scales, *row_weights;
  std::int64_t k, n;

  QuantScheme scheme() const { return weight_scales == nullptr ? QuantScheme::none : step.params.quant.scheme; }
  float scale_of_x(std::int64_t row, std::int64_t i) const {
    return x_scales->get(activation_scale(step.params.quant, k, row, i));
  }
  float scale_of_weight(std::int64_t expert, std::int64_t row, std::int64_t i) const {
    const std::size_t rank = weight_scales->rank();
    const std::int64_t sn = weight_scales->extent(rank - 2), sk = weight_scales->extent(rank - 1);
    const std::int64_t at = weight_scale_row(step.params.quant, step.params.halves, n, row) * sk +
                            weight_scale_column(step.params.quant, i);
    return weight_scales->get(expert * sn * sk + at);
  }
  float code(std::int64_t expert, std::int64_t row, std::int64_t i) const {
    const std::int64_t at = expert * n + row;
    if (weight.dtype() != DType::u8) return weight.get(at * k + i);
    const auto byte = static_cast<unsigned>(weight.get(at * ((k + 1) / 2) + i / 2));
    const unsigned nibble = i % 2 == 0 ? byte & 15 : byte >> 4;
    constexpr float kFp4[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    if (scheme() == QuantScheme::int4_group) return static_cast<float>(nibble) - 8;
    return nibble < 8 ? kFp4[nibble] : -kFp4[nibble - 8];
  }
  float number(std::int64_t expert, std::int64_t row, std::int64_t i) const {
    const bool dequantises = scheme() == QuantScheme::int4_group || scheme() == QuantScheme::mxfp4;
    const float c = code(expert, row, i);
    return dequantises ? stored_as(model, c * scale_of_weight(expert, row, i)) : c;
  }
};

float by_blocks(const Product& p, const ProductRow& r, std::int64_t c, std::int64_t begin, std::int64_t end) {
  const std::int64_t block = p.step.params.quant.group;
  float sum = 0;
  for (std::int64_t at = begin; at < end; at += block) {
    float dot = 0;
    for (std::int64_t i = at; i < std::min(at + block, end); ++i)
      dot = std::fma(p.x.get(r.source * p.k + i), p.code(r.expert, c, i), dot);
    sum = sum + (dot * p.scale_of_x(r.source, at)) * p.scale_of_weight(r.expert, c, at);
  }
  return sum;
}

float plain(const Product& p, const ProductRow& r, std::int64_t c, std::int64_t begin, std::int64_t end) {
  float sum = 0;
  for (std::int64_t i = begin; i < end; ++i) sum = std::fma(p.x.get(r.source * p.k + i), p.number(r.expert, c, i), sum);
  return sum;
}

float of_integers(const Product& p, const ProductRow& r, std::int64_t c, std::int64_t begin, std::int64_t end) {
  std::int32_t sum = 0;
  for (std::int64_t i = begin; i < end; ++i)
    sum += static_cast<std::int32_t>(p.x.get(r.source * p.k + i)) * static_cast<std::int32_t>(p.code(r.expert, c, i));
  return static_cast<float>(sum);
}

/// One K range with its scales and its routing weight.
float range(const Product& p, const ProductRow& r, std::int64_t c, std::int64_t begin, std::int64_t end) {
  const bool weighs = p.row_weights != nullptr;
  const float w = weighs ? p.row_weights->get(r.slot) : 1;
  switch (p.scheme()) {
    case QuantScheme::fp8_block: {
      const float sum = by_blocks(p, r, c, begin, end);
      return weighs ? sum * w : sum;
    }
    case QuantScheme::fp8_tensor:
    case QuantScheme::fp8_channel:
    case QuantScheme::int8_channel: {
      const bool integers = p.scheme() == QuantScheme::int8_channel;
      float sum = integers ? of_integers(p, r, c, begin, end) : plain(p, r, c, begin, end);
      if (weighs) sum = sum * w;
      return (sum * p.scale_of_x(r.source, 0)) * p.scale_of_weight(r.expert, c, 0);
    }
    default: {
      const float sum = plain(p, r, c, begin, end);
      return weighs ? sum * w : sum;
    }
  }
}

float split(const Product& p, const ProductRow& r, std::int64_t c) {
  const std::int64_t splits = p.step.params.split_k, block = p.step.params.quant.group;
  std::int64_t length = (p.k + splits - 1) / splits;
  if (p.scheme() == QuantScheme::fp8_block) length = (length + block - 1) / block * block;
  float total = 0;
  for (std::int64_t begin = 0; begin < p.k; begin += length) {
    const float partial = range(p, r, c, begin, std::min(begin + length, p.k));
    total = begin == 0 ? partial : total + partial;
  }
  return total;
}

}  // namespace

std::int64_t weight_scale_row(const QuantSpec& quant, bool halves, std::int64_t rows, std::int64_t n) {
  switch (quant.scheme) {
    case QuantScheme::fp8_tensor:
      return 0;
    case QuantScheme::fp8_block: {
      const std::int64_t half = halves ? rows / 2 : rows;
      return n / half * ((half + quant.group - 1) / quant.group) + n % half / quant.group;
    }
    default:
      return n;
  }
}

std::int64_t weight_scale_column(const QuantSpec& quant, std::int64_t k) {
  if (quant.scheme == QuantScheme::fp8_block || quant.scheme == QuantScheme::int4_group) return k / quant.group;
  return quant.scheme == QuantScheme::mxfp4 ? k / 32 : 0;
}

std::int64_t activation_scale(const QuantSpec& quant, std::int64_t columns, std::int64_t row, std::int64_t k) {
  if (quant.scheme == QuantScheme::fp8_tensor) return 0;
  if (quant.scheme != QuantScheme::fp8_block) return row;
  return row * ((columns + quant.group - 1) / quant.group) + k / quant.group;
}

ProductOperands product_operands(OpKind op) {
  const auto at = [&](std::string_view slot) { return slot_index(op, slot); };
  const auto& slots = row(op).slots;
  const bool shared = op == OpKind::shared_gemm1 || op == OpKind::shared_gemm2;
  switch (op) {
    case OpKind::router:
      return {0, 1, 3, -1, -1, -1, -1, -1};
    case OpKind::gemm1:
      return {0, 3, 4, at("a1_scales"), at("w13_scales"), 1, 2, at("topk_weights")};
    case OpKind::gemm2:
      return {0, 2, 3, at("a2_scales"), at("w2_scales"), 4, 1, 5};
    default:
      break;
  }
  const bool first = shared && slots[3].name == "workspace";
  return {0, 1, 2, first ? at("a1_scales") : at("a2_scales"), first ? at("w13_scales") : at("w2_scales"), -1, -1, -1};
}

std::vector<ProductRow> product_rows(const Step& step, const Views& v) {
  const ProductOperands at = product_operands(step.op);
  const View &x = v[static_cast<std::size_t>(at.x)], &out = v[static_cast<std::size_t>(at.out)];
  const View *offsets = maybe(v, at.offsets), *slots = maybe(v, at.slots);
  std::vector<ProductRow> rows;
  for (std::int64_t r = 0; r < out.extent(0); ++r) {
    ProductRow row{r, r, 0, slots == nullptr ? -1 : slots->get_int(r)};
    if (step.op == OpKind::gemm1) row.source = row.slot / (out.extent(0) / x.extent(0));
    if (offsets != nullptr) {
      row.expert = -1;
      for (std::int64_t e = 0; e + 1 < offsets->extent(0); ++e) {
        if (offsets->get_int(e) <= r && r < offsets->get_int(e + 1)) row.expert = e;
      }
    }
    if (row.expert >= 0) rows.push_back(row);  // a row of nobody stays as it was
  }
  return rows;
}

void emulate_product(const Step& step, DType model, const Views& v) {
  const ProductOperands at = product_operands(step.op);
  const View& out = v[static_cast<std::size_t>(at.out)];
  const Product p{step,
                  model,
                  v[static_cast<std::size_t>(at.x)],
                  v[static_cast<std::size_t>(at.weight)],
                  maybe(v, at.x_scales),
                  maybe(v, at.weight_scales),
                  maybe(v, at.row_weights),
                  v[static_cast<std::size_t>(at.x)].extent(1),
                  out.extent(1)};
  for (const ProductRow& r : product_rows(step, v)) {
    for (std::int64_t c = 0; c < p.n; ++c) out.set(r.at * p.n + c, split(p, r, c));
  }
}

}  // namespace moediff::test
