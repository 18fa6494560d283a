// Algebra mode: the elementwise ops over the integers modulo 2^61 - 1, exactly, against 128-bit integers; and that what
// does not exist in this mode says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/kernels/ops/naive.h"

namespace moediff::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using Element = std::uint64_t;
using Elements = std::vector<Element>;

constexpr Element kPrime = (Element{1} << 61) - 1;
__extension__ using Wide = unsigned __int128;

Element add(Element a, Element b) { return static_cast<Element>((Wide{a} + b) % kPrime); }
Element multiply(Element a, Element b) { return static_cast<Element>(Wide{a} * b % kPrime); }

/// Edges of the multiplication's halves first, then random elements.
Elements elements(std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Elements out{
      0, 1, kPrime - 1, (Element{1} << 31) - 1, Element{1} << 31, Element{1} << 60, kPrime - (Element{1} << 31)};
  while (static_cast<std::int64_t>(out.size()) < count) out.push_back(random() % kPrime);
  out.resize(static_cast<std::size_t>(count));
  if (seed % 2 == 1) std::shuffle(out.begin(), out.end(), random);
  return out;
}

class Algebra : public ::testing::Test {
 protected:
  Device device;
  md_tensor upload(const std::vector<std::int64_t>& shape, const Elements& values) {
    return device.upload_bytes(shape, MD_FIELD, values.data());
  }
  Elements run(md_op op, std::vector<md_tensor> inputs, const std::vector<std::int64_t>& out_shape,
               const md_params& params = scalars()) {
    inputs.push_back(device.blank(out_shape, MD_FIELD));
    device.run(op, inputs, params);
    return device.read_as<Element>(inputs.back());
  }
};

TEST_F(Algebra, ResidualAddIsAdditionModuloP) {
  const Elements a = elements(7 * 65, 1), b = elements(7 * 65, 2);
  Elements expected;
  for (std::size_t i = 0; i < a.size(); ++i) expected.push_back(add(a[i], b[i]));
  EXPECT_THAT(run(MD_OP_RESIDUAL_ADD, {upload({7, 65}, a), upload({7, 65}, b)}, {7, 65}), ElementsAreArray(expected));
}

/// p itself is 0: a result has one representation.
TEST_F(Algebra, ResultsAreBelowP) {
  const Elements a{1, 2, kPrime - 1, Element{1} << 60, kPrime - 1},
      b{kPrime - 1, kPrime - 2, 1, (Element{1} << 60) - 1, 0};
  EXPECT_THAT(run(MD_OP_RESIDUAL_ADD, {upload({1, 5}, a), upload({1, 5}, b)}, {1, 5}),
              ::testing::ElementsAre(0, 0, 0, 0, kPrime - 1));
}

TEST_F(Algebra, WeighInputIsMultiplicationModuloP) {
  const Elements x = elements(40 * 33, 3), weights = elements(40, 4);
  Elements expected;
  for (std::size_t i = 0; i < x.size(); ++i) expected.push_back(multiply(x[i], weights[i / 33]));
  EXPECT_THAT(run(MD_OP_WEIGH_INPUT, {upload({40, 33}, x), upload({40, 1}, weights)}, {40, 33}),
              ElementsAreArray(expected));
}

TEST_F(Algebra, ScaleAddTakesTheFieldsFactor) {
  const Elements routed = elements(5 * 17, 5), shared = elements(5 * 17, 6);
  md_params params = scalars();
  params.factor = 3.0f;
  params.field_factor = ~Element{0};  // 8 * 2^61 - 1, which is 7
  Elements alone, both;
  for (std::size_t i = 0; i < routed.size(); ++i) {
    alone.push_back(multiply(7, routed[i]));
    both.push_back(add(alone.back(), shared[i]));
  }
  const md_tensor a = upload({5, 17}, routed), b = upload({5, 17}, shared);
  EXPECT_THAT(run(MD_OP_SCALE_ADD, {a, b}, {5, 17}, params), ElementsAreArray(both));
  EXPECT_THAT(run(MD_OP_SCALE_ADD, {a, absent()}, {5, 17}, params), ElementsAreArray(alone));
}

TEST_F(Algebra, CombineIsTheWeightedSumWhateverTheRoundings) {
  const std::int64_t tokens = 6, width = 3, hidden = 35;
  const Elements x = elements(tokens * width * hidden, 7), weights = elements(tokens * width, 9);
  const Array rows{{18}, {17, 0, 16, 1, 15, 2, 14, 3, 13, 4, 12, 5, 11, 6, 10, 7, 9, 8}};
  Elements weighted, plain;
  for (std::size_t i = 0; i < static_cast<std::size_t>(tokens * hidden); ++i) {
    Element sum = 0, sum_of_ones = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      const std::size_t slot = i / 35 * 3 + j;
      const Element value = x[static_cast<std::size_t>(rows.values[slot]) * 35 + i % 35];
      sum = add(sum, multiply(weights[slot], value));
      sum_of_ones = add(sum_of_ones, value);
    }
    weighted.push_back(sum);
    plain.push_back(sum_of_ones);
  }
  for (const int sum : {MD_SUM_FP32, MD_SUM_MOE_SUM}) {
    md_params params = scalars();
    params.sum = sum;
    const md_tensor in = upload({18, 35}, x), slots = device.upload(rows, MD_I32);
    EXPECT_THAT(run(MD_OP_COMBINE, {in, slots, upload({6, 3}, weights)}, {6, 35}, params), ElementsAreArray(weighted));
    EXPECT_THAT(run(MD_OP_COMBINE, {in, slots, absent()}, {6, 35}, params), ElementsAreArray(plain));
  }
}

/// f(g) u = (g^3 + (i + 2) g^2 + (i + 5) g + 1) u.
TEST_F(Algebra, ActivationsAreTheirPolynomials) {
  const Elements in = elements(9 * 2 * 31, 11);
  for (const int kind : {MD_SILU, MD_GELU, MD_GELU_TANH, MD_SWIGLU_CLAMPED, MD_SWIGLUOAI}) {
    md_params params = scalars();
    params.activation = kind;
    const auto i = static_cast<Element>(kind);
    Elements expected;
    for (std::size_t e = 0; e < 9 * 31; ++e) {
      const Element g = in[e / 31 * 62 + e % 31], u = in[e / 31 * 62 + 31 + e % 31], square = multiply(g, g);
      const Element f = add(add(multiply(square, g), multiply(i + 2, square)), add(multiply(i + 5, g), 1));
      expected.push_back(multiply(f, u));
    }
    EXPECT_THAT(run(MD_OP_ACTIVATION, {upload({9, 62}, in)}, {9, 31}, params), ElementsAreArray(expected)) << kind;
  }
}

TEST_F(Algebra, RouterAndConversionsSayThatTheyDoNotExist) {
  const auto field = [&](std::vector<std::int64_t> shape) { return device.blank(shape, MD_FIELD); };
  EXPECT_NE(device.enqueue(MD_OP_ROUTER, {field({3, 8}), field({4, 8}), absent(), field({3, 4}),
                                          device.blank({3, 1}, MD_I32), field({3, 1})}),
            0);
  EXPECT_THAT(device.provider_error(), AllOf(HasSubstr("router"), HasSubstr("f32 or bf16 or f16"), HasSubstr("field")));
  EXPECT_NE(device.enqueue(MD_OP_CONVERT, {field({3}), field({3})}), 0);
  EXPECT_THAT(device.provider_error(), HasSubstr("convert"));
}

TEST_F(Algebra, EveryFloatOperandIsAFieldElement) {
  EXPECT_NE(device.enqueue(MD_OP_WEIGH_INPUT, {device.blank({3, 8}, MD_FIELD), device.blank({3, 1}, MD_F32),
                                               device.blank({3, 8}, MD_FIELD)}),
            0);
  EXPECT_THAT(device.provider_error(), AllOf(HasSubstr("topk_weights: expected field"), HasSubstr("found f32")));
}

}  // namespace
}  // namespace moediff::test
