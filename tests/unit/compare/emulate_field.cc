// Algebra mode, with the compiler's 128-bit integers and no cleverness.
#include "tests/unit/compare/emulate.h"

namespace moediff::test {
namespace {

__extension__ using Wide = unsigned __int128;
constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;

std::uint64_t plus(std::uint64_t a, std::uint64_t b) { return (a + b) % kPrime; }
std::uint64_t times(std::uint64_t a, std::uint64_t b) { return static_cast<std::uint64_t>(Wide{a} * b % kPrime); }
std::uint64_t inverse(std::uint64_t a) {
  std::uint64_t result = 1;
  for (std::uint64_t e = kPrime - 2; e > 0; e /= 2, a = times(a, a)) {
    if (e % 2 == 1) result = times(result, a);
  }
  return result;
}

void product(const Step& step, const Views& v) {
  const ProductOperands at = product_operands(step.op);
  const auto view = [&](int operand) { return v[static_cast<std::size_t>(operand)]; };
  const View x = view(at.x), w = view(at.weight), out = view(at.out);
  const QuantSpec& q = step.params.quant;
  const bool scaled_x = view(at.x_scales).present(), scaled_w = view(at.weight_scales).present();
  const bool weighs = at.row_weights >= 0 && view(at.row_weights).present();
  const std::int64_t k = x.extent(1), n = out.extent(1);
  for (const ProductRow& r : product_rows(step, v)) {
    for (std::int64_t c = 0; c < n; ++c) {
      std::uint64_t sum = 0;
      for (std::int64_t i = k - 1; i >= 0; --i) {  // from the end: the order does not matter
        std::uint64_t term = times(x.element(r.source * k + i), w.element((r.expert * n + c) * k + i));
        if (scaled_x) term = times(term, view(at.x_scales).element(activation_scale(q, k, r.source, i)));
        if (scaled_w) {
          const View scales = view(at.weight_scales);
          const std::int64_t sn = scales.extent(scales.rank() - 2), sk = scales.extent(scales.rank() - 1);
          const std::int64_t s = weight_scale_row(q, step.params.halves, n, c) * sk + weight_scale_column(q, i);
          term = times(term, scales.element(r.expert * sn * sk + s));
        }
        sum = plus(sum, term);
      }
      if (weighs) sum = times(sum, view(at.row_weights).element(r.slot));
      out.set_element(r.at * n + c, sum);
    }
  }
}

std::uint64_t activation(ActivationKind kind, std::uint64_t g, std::uint64_t u) {
  const auto i = static_cast<std::uint64_t>(kind);
  const std::uint64_t square = times(g, g), cube = times(square, g);
  return times(plus(plus(cube, times(i + 2, square)), plus(times(i + 5, g), 1)), u);
}

std::uint64_t activated(const Step& step, const View& in, std::int64_t row, std::int64_t c, std::int64_t columns) {
  const std::int64_t gate = row * 2 * columns + c;
  return activation(step.params.expert.activation, in.element(gate), in.element(gate + columns));
}

void quantise(const Step& step, const Views& v) {
  const View &in = v[0], &codes = v[1], &scales = v[2];
  const std::int64_t rows = codes.extent(0), columns = codes.extent(1);
  std::vector<std::uint64_t> x, sums(static_cast<std::size_t>(scales.extent(0) * scales.extent(1)));
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    x.push_back(in.extent(1) == columns ? in.element(i) : activated(step, in, i / columns, i % columns, columns));
    std::uint64_t& sum =
        sums[static_cast<std::size_t>(activation_scale(step.params.quant, columns, i / columns, i % columns))];
    sum = plus(sum, x.back());
  }
  for (std::size_t g = 0; g < sums.size(); ++g) {
    sums[g] = plus(plus(times(sums[g], sums[g]), times(3, sums[g])), 7);
    scales.set_element(static_cast<std::int64_t>(g), sums[g]);
  }
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const auto g = static_cast<std::size_t>(activation_scale(step.params.quant, columns, i / columns, i % columns));
    codes.set_element(i, times(x[static_cast<std::size_t>(i)], inverse(sums[g])));
  }
}

void combine(const Views& v) {
  const View& out = v[3];
  const std::int64_t hidden = out.extent(1), width = v[1].extent(0) / out.extent(0);
  for (std::int64_t i = 0; i < out.extent(0) * hidden; ++i) {
    std::uint64_t sum = 0;
    for (std::int64_t j = 0; j < width; ++j) {
      const std::int64_t slot = i / hidden * width + j;
      const std::uint64_t y = v[0].element(v[1].get_int(slot) * hidden + i % hidden);
      sum = plus(sum, v[2].present() ? times(v[2].element(slot), y) : y);
    }
    out.set_element(i, sum);
  }
}

}  // namespace

void emulate_field(const Step& step, const Views& v) {
  const auto each = [&](const View& out, auto element) {
    for (std::int64_t i = 0; i < out.extent(0) * out.extent(1); ++i) out.set_element(i, element(i));
  };
  switch (step.op) {
    case OpKind::gemm1:
    case OpKind::gemm2:
    case OpKind::shared_gemm1:
    case OpKind::shared_gemm2:
      return product(step, v);
    case OpKind::activation:
    case OpKind::shared_activation:
      return each(v[1], [&](std::int64_t i) {
        return activated(step, v[0], i / v[1].extent(1), i % v[1].extent(1), v[1].extent(1));
      });
    case OpKind::combine:
      return combine(v);
    case OpKind::scale_add:
      return each(v[2], [&](std::int64_t i) {
        const std::uint64_t scaled = times(step.params.field_factor, v[0].element(i));
        return v[1].present() ? plus(scaled, v[1].element(i)) : scaled;
      });
    case OpKind::residual_add:
      return each(v[2], [&](std::int64_t i) { return plus(v[0].element(i), v[1].element(i)); });
    case OpKind::weigh_input:
      return each(v[2], [&](std::int64_t i) { return times(v[1].element(i / v[2].extent(1)), v[0].element(i)); });
    default:
      return quantise(step, v);
  }
}

}  // namespace moediff::test
