// Arithmetic modulo 2^61 - 1 and the stages in it, against the % operator and against each other: what is equal in
// exact arithmetic is equal here, what differs differs.
#include "reference/algebra.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace moediff::reference::algebra {
namespace {

using testing::ElementsAre;
__extension__ using Wide = unsigned __int128;

/// The definition of a product, by long division.
Element product(Element a, Element b) { return static_cast<Element>(static_cast<Wide>(a) * b % kPrime); }
Element sum(Element a, Element b) { return static_cast<Element>((static_cast<Wide>(a) + b) % kPrime); }

std::vector<Element> elements(std::int64_t count, std::uint64_t seed) {
  std::vector<Element> out;
  while (static_cast<std::int64_t>(out.size()) < count) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    out.push_back((seed >> 2) % kPrime);
  }
  return out;
}

QuantSpec spec_of(QuantScheme scheme, std::int64_t group) {
  QuantSpec spec;
  spec.scheme = scheme;
  spec.group = group;
  return spec;
}

TEST(Field, MultipliesAndAddsAsLongDivisionDoes) {
  std::vector<Element> values = elements(60, 1);
  for (const Element edge : {Element{0}, Element{1}, kPrime - 1, kPrime - 2, Element{1} << 60}) values.push_back(edge);
  for (const Element a : values) {
    for (const Element b : values) {
      ASSERT_EQ(multiply(a, b), product(a, b)) << a << " " << b;
      ASSERT_EQ(add(a, b), sum(a, b)) << a << " " << b;
    }
  }
  EXPECT_EQ(multiply(12345678901234567u, 2000000000000000003u), 730756499927229023u);
}

TEST(Field, InvertsEverythingButZero) {
  EXPECT_EQ(inverse(0), 0u);
  EXPECT_EQ(inverse(1), 1u);
  EXPECT_EQ(inverse(2), Element{1} << 60);
  EXPECT_EQ(inverse(3), 1537228672809129301u);
  EXPECT_EQ(inverse(12345678901234567u), 1606132377411947058u);
  for (const Element a : elements(20, 2)) EXPECT_EQ(product(a, inverse(a)), 1u);
}

TEST(Field, HasAPolynomialForEachActivation) {
  EXPECT_EQ(activation(ActivationKind::silu, 10), 1000u + 2 * 100 + 5 * 10 + 1);
  EXPECT_EQ(activation(ActivationKind::gelu, 10), 1000u + 3 * 100 + 6 * 10 + 1);
  EXPECT_EQ(activation(ActivationKind::swigluoai, 10), 1000u + 6 * 100 + 9 * 10 + 1);
  EXPECT_EQ(activation(ActivationKind::silu, kPrime - 1), kPrime - 3);  // -1 + 2 - 5 + 1
  EXPECT_EQ(scale_of_sum(10), 137u);
}

TEST(FieldActivation, MultipliesTheGatesPolynomialByUp) {
  const std::vector<Element> gate_up{0, 10, 3, 5, 1, 2, 7, kPrime - 1};
  EXPECT_THAT(gated_activation(ActivationKind::silu, gate_up, 2, 2),
              ElementsAre(3, 5 * 1251, 7 * 9, kPrime - (8 + 8 + 10 + 1)));
  EXPECT_THROW(gated_activation(ActivationKind::silu, gate_up, 2, 3), std::logic_error);
}

TEST(FieldCombine, AddsWeightedRowsAndRowsWithoutWeights) {
  const std::vector<Element> x{1, 2, 10, 20, 100, 200};
  const std::vector<std::int32_t> rows{2, 0, 1, 1};
  EXPECT_THAT(combine(x, rows, std::vector<Element>{2, 3, 1, kPrime - 1}, 2, 2, 2), ElementsAre(203, 406, 0, 0));
  EXPECT_THAT(combine(x, rows, {}, 2, 2, 2), ElementsAre(101, 202, 20, 40));
  EXPECT_THROW(combine(x, std::vector<std::int32_t>{3}, {}, 1, 1, 2), std::logic_error);
}

TEST(FieldScaleAdd, MultipliesOnlyTheRoutedPart) {
  const std::vector<Element> routed{1, 2}, shared{10, kPrime - 6};
  EXPECT_THAT(scale_add(routed, shared, 3), ElementsAre(13, 0));
  EXPECT_THAT(scale_add(routed, {}, 3), ElementsAre(3, 6));
  EXPECT_THROW(scale_add(routed, std::vector<Element>(3), 1), std::logic_error);
}

TEST(FieldWeighRows, MultipliesEachRowByItsWeight) {
  EXPECT_THAT(weigh_rows(std::vector<Element>{1, 2, 3, 4}, std::vector<Element>{10, 5}, 2),
              ElementsAre(10, 20, 15, 20));
  EXPECT_THROW(weigh_rows(std::vector<Element>{1, 2, 3}, std::vector<Element>{10, 5}, 2), std::logic_error);
}

TEST(FieldQuantise, MakesScalesFromTheSumsOfGroups) {
  const std::vector<Element> x{1, 2, 3, 4, 5, 6};  // groups 1 2 | 3 and 4 5 | 6
  const Quantised out = quantise(x, 2, 3, spec_of(QuantScheme::fp8_block, 2));
  EXPECT_THAT(out.scale, ElementsAre(9 + 9 + 7, 9 + 9 + 7, 81 + 27 + 7, 36 + 18 + 7));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Element scale = out.scale[i / 3 * 2 + i % 3 / 2];
    EXPECT_EQ(product(out.code[i], scale), x[i]);
  }
  EXPECT_THAT(quantise(x, 2, 3, spec_of(QuantScheme::fp8_channel, 2)).scale, ElementsAre(36 + 18 + 7, 225 + 45 + 7));
  EXPECT_THAT(quantise(x, 2, 3, spec_of(QuantScheme::fp8_tensor, 2)).scale, ElementsAre(441 + 63 + 7));
}

/// Three tokens, two experts, seven columns: ragged for groups of 3 and 32.
struct Job {
  static constexpr std::int64_t kTokens = 3, kExperts = 2, kN = 6, kK = 7;
  std::vector<Element> x = elements(kTokens * kK, 3), weight = elements(kExperts * kN * kK, 4);
  std::vector<std::int32_t> source{2, 0, 1, 2}, offsets{0, 1, 4};
  std::vector<Element> row_weights = elements(4, 5);

  Linear linear() const {
    Linear out;
    out.x = x;
    out.weight = weight;
    out.n = kN;
    out.k = kK;
    out.source = source;
    out.offsets = offsets;
    return out;
  }
};

TEST(FieldLinear, IsTheSumOfProductsOfARowWithItsExpert) {
  const Job job;
  Linear weighted = job.linear();
  weighted.row_weights = job.row_weights;
  const std::vector<Element> plain = linear(job.linear()), out = linear(weighted);
  for (std::int64_t r = 0; r < 4; ++r) {
    for (std::int64_t n = 0; n < Job::kN; ++n) {
      Element expected = 0;
      const std::int64_t expert = r == 0 ? 0 : 1;
      for (std::int64_t k = Job::kK - 1; k >= 0; --k) {  // in the other order
        expected = sum(expected,
                       product(job.x[static_cast<std::size_t>(job.source[static_cast<std::size_t>(r)] * Job::kK + k)],
                               job.weight[static_cast<std::size_t>((expert * Job::kN + n) * Job::kK + k)]));
      }
      const auto i = static_cast<std::size_t>(r * Job::kN + n);
      EXPECT_EQ(plain[i], expected);
      EXPECT_EQ(out[i], product(expected, job.row_weights[static_cast<std::size_t>(r)]));
    }
  }
}

class FieldSchemes : public testing::TestWithParam<QuantScheme> {};
INSTANTIATE_TEST_SUITE_P(All, FieldSchemes,
                         testing::Values(QuantScheme::fp8_block, QuantScheme::fp8_tensor, QuantScheme::fp8_channel,
                                         QuantScheme::int8_channel),
                         [](const auto& scheme) { return std::string(to_string(scheme.param)); });

TEST_P(FieldSchemes, GiveTheUnquantisedProductOfQuantisedActivations) {
  const Job job;
  Linear with_scales = job.linear();
  with_scales.quant = spec_of(GetParam(), 3);
  Quantised codes = quantise(job.x, Job::kTokens, Job::kK, with_scales.quant);
  with_scales.x = codes.code;
  with_scales.x_scales = codes.scale;
  EXPECT_EQ(linear(with_scales), linear(job.linear()));
  codes.scale.back() = sum(codes.scale.back(), 1);
  EXPECT_NE(linear(with_scales), linear(job.linear()));
}

struct Layout {
  QuantScheme scheme;
  bool halves;
  std::int64_t sn, sk;
  std::vector<int> row_block;  ///< of each of the 6 rows, groups of 2
};
class FieldWeights : public testing::TestWithParam<Layout> {};
INSTANTIATE_TEST_SUITE_P(All, FieldWeights,
                         testing::Values(Layout{QuantScheme::fp8_block, false, 3, 4, {0, 0, 1, 1, 2, 2}},
                                         Layout{QuantScheme::fp8_block, true, 4, 4, {0, 0, 1, 2, 2, 3}},
                                         Layout{QuantScheme::fp8_tensor, true, 1, 1, {0, 0, 0, 0, 0, 0}},
                                         Layout{QuantScheme::int8_channel, true, 6, 1, {0, 1, 2, 3, 4, 5}},
                                         Layout{QuantScheme::int4_group, false, 6, 4, {0, 1, 2, 3, 4, 5}},
                                         Layout{QuantScheme::mxfp4, false, 6, 1, {0, 1, 2, 3, 4, 5}}));

TEST_P(FieldWeights, AreMultipliedByTheirScales) {
  const auto& [scheme, halves, sn, sk, row_block] = GetParam();
  const Job job;
  const std::vector<Element> scales = elements(Job::kExperts * sn * sk, 6);
  Linear with_scales = job.linear();
  with_scales.quant = spec_of(scheme, 2);
  with_scales.halves = halves;
  with_scales.weight_scales = scales;
  with_scales.sn = sn;
  with_scales.sk = sk;
  Job scaled;
  for (std::int64_t i = 0; i < Job::kExperts * Job::kN * Job::kK; ++i) {
    const std::int64_t k = i % Job::kK, n = i / Job::kK % Job::kN, expert = i / Job::kK / Job::kN;
    const std::int64_t column = sk == 1 ? 0 : k / 2;
    const std::int64_t at = (expert * sn + row_block[static_cast<std::size_t>(n)]) * sk + column;
    scaled.weight[static_cast<std::size_t>(i)] =
        product(job.weight[static_cast<std::size_t>(i)], scales[static_cast<std::size_t>(at)]);
  }
  EXPECT_EQ(linear(with_scales), linear(scaled.linear()));
}

TEST(FieldLinear, RefusesWhatDoesNotFitTogether) {
  const Job job;
  EXPECT_NO_THROW(linear(job.linear()));
  for (const auto spoil : {+[](Linear& l) { l.n = 5; }, +[](Linear& l) { l.source = l.source.first(3); },
                           +[](Linear& l) { l.offsets = {}; }, +[](Linear& l) { l.x = l.x.first(7); },
                           +[](Linear& l) {
                             l.weight_scales = l.x;
                             l.quant.scheme = QuantScheme::fp8_channel;
                           },
                           +[](Linear& l) { l.row_weights = l.x; }}) {
    Linear spoiled = job.linear();
    spoil(spoiled);
    EXPECT_THROW(linear(spoiled), std::logic_error);
  }
}

}  // namespace
}  // namespace moediff::reference::algebra
