// Algebra mode of the matrix products and the quantisation: exact modulo 2^61 - 1, against sums in 128-bit integers.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "tests/unit/kernels/ops/device.h"

namespace moediff::test {
namespace {

__extension__ using Wide = unsigned __int128;
constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;

std::uint64_t times(std::uint64_t a, std::uint64_t b) { return static_cast<std::uint64_t>(Wide{a} * b % kPrime); }
std::uint64_t plus(std::uint64_t a, std::uint64_t b) { return (a + b) % kPrime; }

/// A matrix of random elements, some of them 0, 1 and p - 1, on the device and here.
struct Elements {
  std::vector<std::int64_t> shape;
  std::vector<std::uint64_t> values;
  md_tensor tensor;
};
Elements random_elements(Device& device, std::vector<std::int64_t> shape, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Elements out{std::move(shape), {}, {}};
  for (std::int64_t i = 0; i < element_count(out.shape); ++i) {
    constexpr std::uint64_t kCorners[] = {0, 1, kPrime - 1};
    out.values.push_back(random() % 8 == 0 ? kCorners[random() % 3] : random() % kPrime);
  }
  out.tensor = device.upload_bytes(out.shape, MD_FIELD, out.values.data());
  return out;
}

std::int64_t blocks(std::int64_t size, std::int64_t group) { return (size + group - 1) / group; }

/// One scheme's operands of a product [tokens, k] x [experts, n, k], and the exact element of it.
struct FieldGemm {
  int scheme;
  std::int64_t tokens, k, n, group;
  Elements a, weights, a_scales, weight_scales;

  std::uint64_t element(std::int64_t token, std::int64_t expert, std::int64_t row, std::uint64_t weight) const {
    std::uint64_t sum = 0;
    for (std::int64_t i = 0; i < k; ++i) {
      std::uint64_t product = times(a.values[token * k + i], weights.values[(expert * n + row) * k + i]);
      if (scheme != MD_SCHEME_NONE) product = times(product, times(a_scale(token, i), weight_scale(expert, row, i)));
      sum = plus(sum, product);
    }
    return times(sum, weight);
  }

  std::uint64_t a_scale(std::int64_t token, std::int64_t i) const {
    if (a_scales.values.empty()) return 1;
    const std::int64_t columns = a_scales.shape[1];
    return a_scales.values[scheme == MD_SCHEME_FP8_TENSOR ? 0 : token * columns + (columns == 1 ? 0 : i / group)];
  }

  /// Scales [experts, sn, sk]; halves are cut into blocks apart.
  std::uint64_t weight_scale(std::int64_t expert, std::int64_t row, std::int64_t i) const {
    const std::int64_t rows = weight_scales.shape[1], columns = weight_scales.shape[2];
    std::int64_t scale_row = row;
    if (scheme == MD_SCHEME_FP8_TENSOR) scale_row = 0;
    if (scheme == MD_SCHEME_FP8_BLOCK) {
      scale_row = row < n / 2 ? row / group : blocks(n / 2, group) + (row - n / 2) / group;
    }
    return weight_scales.values[(expert * rows + scale_row) * columns + (columns == 1 ? 0 : i / group)];
  }
};

constexpr std::int64_t kExperts = 3;

FieldGemm make(Device& device, int scheme, std::int64_t tokens, std::int64_t k, std::int64_t n) {
  FieldGemm g{scheme, tokens, k, n, scheme == MD_SCHEME_MXFP4 ? 32 : 24, {}, {}, {}, {}};
  g.a = random_elements(device, {tokens, k}, 1);
  g.weights = random_elements(device, {kExperts, n, k}, 2);
  const std::int64_t columns = blocks(k, g.group);
  switch (scheme) {
    case MD_SCHEME_NONE:
      return g;
    case MD_SCHEME_FP8_BLOCK:
      g.a_scales = random_elements(device, {tokens, columns}, 3);
      g.weight_scales = random_elements(device, {kExperts, 2 * blocks(n / 2, g.group), columns}, 4);
      return g;
    case MD_SCHEME_FP8_TENSOR:
      g.a_scales = random_elements(device, {1, 1}, 3);
      g.weight_scales = random_elements(device, {kExperts, 1, 1}, 4);
      return g;
    case MD_SCHEME_INT4_GROUP:
    case MD_SCHEME_MXFP4:
      g.weight_scales = random_elements(device, {kExperts, n, columns}, 4);
      return g;
    default:
      g.a_scales = random_elements(device, {tokens, 1}, 3);
      g.weight_scales = random_elements(device, {kExperts, n, 1}, 4);
      return g;
  }
}

class FieldSchemes : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(All, FieldSchemes, ::testing::Range(0, static_cast<int>(MD_SCHEME_MXFP4) + 1));

TEST_P(FieldSchemes, Gemm1IsExactForEveryNumberOfRanges) {
  Device device;
  for (const auto& [tokens, k, n] : {std::tuple(1, 1, 2), std::tuple(7, 100, 34), std::tuple(34, 49, 130)}) {
    const FieldGemm g = make(device, GetParam(), tokens, k, n);
    const Elements weights = random_elements(device, {tokens, 1}, 5);
    std::vector<std::int32_t> slots;
    for (std::int32_t t = tokens; t-- > 0;) slots.push_back(t);
    const std::vector<std::int32_t> offsets{0, tokens / 2, tokens / 2, tokens};
    for (const int splits : {1, 2, 5}) {
      const md_tensor out = device.blank({tokens, n}, MD_FIELD);
      const md_tensor workspace = splits > 1 ? device.blank({splits, tokens, n}, MD_FIELD) : absent();
      md_params params{};
      params.scheme = GetParam();
      params.group = g.group;
      params.halves = 1;
      params.split_k = splits;
      device.run(MD_OP_GEMM1,
                 {g.a.tensor, device.upload_bytes({tokens}, MD_I32, slots.data()),
                  device.upload_bytes({kExperts + 1}, MD_I32, offsets.data()), g.weights.tensor, out, workspace,
                  g.a_scales.tensor, g.weight_scales.tensor, weights.tensor, absent()},
                 params);
      const std::vector<std::uint64_t> actual = device.read_as<std::uint64_t>(out);
      for (std::int64_t r = 0; r < tokens; ++r) {
        for (std::int64_t c = 0; c < n; ++c) {
          const std::int32_t token = slots[r];
          ASSERT_EQ(actual[r * n + c], g.element(token, r < offsets[1] ? 0 : 2, c, weights.values[token]))
              << "row " << r << " column " << c << " splits " << splits;
        }
      }
    }
  }
}

/// Codes times the scale are the elements again, and the scale is the polynomial of the sum.
void expect_quantised(const std::vector<std::uint64_t>& x, const std::vector<std::uint64_t>& codes,
                      const std::vector<std::uint64_t>& scales, std::int64_t columns,
                      const std::function<std::size_t(std::size_t)>& scale_of) {
  ASSERT_EQ(codes.size(), x.size());
  std::vector<std::uint64_t> sums(scales.size(), 0);
  for (std::size_t i = 0; i < x.size(); ++i) sums[scale_of(i)] = plus(sums[scale_of(i)], x[i]);
  for (std::size_t s = 0; s < scales.size(); ++s) {
    ASSERT_EQ(scales[s], plus(plus(times(sums[s], sums[s]), times(3, sums[s])), 7)) << "scale " << s;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(times(codes[i], scales[scale_of(i)]), x[i]) << "row " << i / columns << " column " << i % columns;
  }
}

TEST(FieldQuantize, CodesTimesScalesAreTheElementsForGroupsRowsAndTheWholeTensor) {
  Device device;
  for (const std::int64_t columns : {50, 700}) {
    const Elements x = random_elements(device, {5, columns}, 6);
    for (const int scheme :
         {MD_SCHEME_FP8_BLOCK, MD_SCHEME_FP8_TENSOR, MD_SCHEME_FP8_CHANNEL, MD_SCHEME_INT8_CHANNEL}) {
      const bool grouped = scheme == MD_SCHEME_FP8_BLOCK, whole = scheme == MD_SCHEME_FP8_TENSOR;
      md_params params{};
      params.scheme = scheme;
      params.group = 24;
      const std::int64_t groups = grouped ? blocks(columns, 24) : 1;
      const md_tensor codes = device.blank({5, columns}, MD_FIELD),
                      scales = device.blank({whole ? 1 : 5, groups}, MD_FIELD);
      device.run(MD_OP_QUANTIZE_A1, {x.tensor, codes, scales}, params);
      expect_quantised(x.values, device.read_as<std::uint64_t>(codes), device.read_as<std::uint64_t>(scales), columns,
                       [&](std::size_t i) {
                         const auto row = i / columns, group = grouped ? i % columns / 24 : 0;
                         return whole ? 0 : row * groups + group;
                       });
    }
  }
}

TEST(FieldQuantize, TheFusedOpQuantisesThePolynomialOfTheGateTimesUp) {
  Device device;
  constexpr std::int64_t kInter = 31;
  const Elements x = random_elements(device, {4, 2 * kInter}, 7);
  for (int kind = MD_SILU; kind <= MD_SWIGLUOAI; ++kind) {
    std::vector<std::uint64_t> act;
    for (std::int64_t i = 0; i < 4 * kInter; ++i) {
      const std::uint64_t g = x.values[i / kInter * 2 * kInter + i % kInter];
      const std::uint64_t up = x.values[i / kInter * 2 * kInter + kInter + i % kInter];
      const std::uint64_t square = times(g, g), k = static_cast<std::uint64_t>(kind);
      const std::uint64_t f = plus(plus(times(square, g), times(k + 2, square)), plus(times(k + 5, g), 1));
      act.push_back(times(f, up));
    }
    md_params params{};
    params.scheme = MD_SCHEME_FP8_CHANNEL;
    params.activation = kind;
    const md_tensor codes = device.blank({4, kInter}, MD_FIELD), scales = device.blank({4, 1}, MD_FIELD);
    device.run(MD_OP_ACTIVATION_QUANTIZE, {x.tensor, codes, scales}, params);
    expect_quantised(act, device.read_as<std::uint64_t>(codes), device.read_as<std::uint64_t>(scales), kInter,
                     [](std::size_t i) { return i / kInter; });
  }
}

}  // namespace
}  // namespace moediff::test
