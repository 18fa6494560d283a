// Matrix products of every scheme and model dtype, bit for bit in the order of the ABI's contract, on random codes.
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/kernels/ops/gemm_by_contract.h"
#include "tests/unit/kernels/ops/naive.h"

namespace moediff::test {
namespace {

struct Scheme {
  const char* name;
  int scheme;
  md_dtype fp8;
};
constexpr Scheme kSchemes[] = {{"none", MD_SCHEME_NONE, MD_F8_E4M3FN},
                               {"fp8_block_fn", MD_SCHEME_FP8_BLOCK, MD_F8_E4M3FN},
                               {"fp8_block_fnuz", MD_SCHEME_FP8_BLOCK, MD_F8_E4M3FNUZ},
                               {"fp8_tensor_fn", MD_SCHEME_FP8_TENSOR, MD_F8_E4M3FN},
                               {"fp8_tensor_fnuz", MD_SCHEME_FP8_TENSOR, MD_F8_E4M3FNUZ},
                               {"fp8_channel_fn", MD_SCHEME_FP8_CHANNEL, MD_F8_E4M3FN},
                               {"fp8_channel_fnuz", MD_SCHEME_FP8_CHANNEL, MD_F8_E4M3FNUZ},
                               {"int8_channel", MD_SCHEME_INT8_CHANNEL, MD_F8_E4M3FN},
                               {"int4_group", MD_SCHEME_INT4_GROUP, MD_F8_E4M3FN},
                               {"mxfp4", MD_SCHEME_MXFP4, MD_F8_E4M3FN}};

/// Sizes of a product: ragged against the tiles (32 rows, 128 columns, 64 of K) and against the groups.
struct Size {
  std::int64_t tokens, k, n, group;
};
constexpr Size kSizes[] = {{1, 1, 2, 32},     {3, 70, 10, 32},   {35, 200, 130, 64},
                           {5, 128, 66, 128}, {18, 129, 12, 17}, {9, 33, 7, 32}};

class GemmSchemes : public ::testing::TestWithParam<std::tuple<Scheme, md_dtype>> {
 protected:
  QuantisedGemm make(const Size& size, std::int64_t experts, bool halves, int weights_rank) {
    const auto& [scheme, model] = GetParam();
    QuantisedGemm shape{};
    shape.scheme = scheme.scheme;
    shape.model = model;
    shape.fp8 = scheme.fp8;
    shape.tokens = size.tokens;
    shape.k = size.k;
    shape.experts = experts;
    shape.n = size.n;
    shape.group = size.group;
    shape.halves = halves;
    return make_gemm(device, shape, weights_rank, static_cast<std::uint64_t>(size.k));
  }

  /// expected(row, column) for every element of `out`.
  template <typename Expected>
  void expect_bits(const md_tensor& out, Expected expected) {
    const std::vector<std::uint32_t> actual = model_bits(device, out);
    const std::int64_t columns = out.shape[1];
    ASSERT_EQ(static_cast<std::int64_t>(actual.size()), out.shape[0] * columns);
    for (std::int64_t r = 0; r < out.shape[0]; ++r) {
      for (std::int64_t n = 0; n < columns; ++n) {
        ASSERT_EQ(actual[r * columns + n], expected(r, n)) << "row " << r << " column " << n;
      }
    }
  }

  Device device;
};
std::string case_name(const ::testing::TestParamInfo<std::tuple<Scheme, md_dtype>>& info) {
  const auto& [scheme, model] = info.param;
  return std::string(scheme.name) + (model == MD_F32 ? "_f32" : model == MD_BF16 ? "_bf16" : "_f16");
}
INSTANTIATE_TEST_SUITE_P(All, GemmSchemes,
                         ::testing::Combine(::testing::ValuesIn(kSchemes), ::testing::Values(MD_F32, MD_BF16, MD_F16)),
                         case_name);

/// Rows of three experts, the middle one without any; slots in an order of their own.
struct Grouping {
  std::vector<std::int32_t> offsets, slots;
  std::vector<float> weights;  ///< [tokens, width] by slot
};
Grouping make_grouping(std::int64_t tokens, std::int64_t width) {
  const std::int64_t rows = tokens * width;
  Grouping grouping;
  grouping.offsets = {0, static_cast<std::int32_t>(rows / 3), static_cast<std::int32_t>(rows / 3),
                      static_cast<std::int32_t>(rows)};
  std::mt19937 random(3);
  std::uniform_real_distribution<float> weight(-2, 2);
  for (std::int64_t r = 0; r < rows; ++r) {
    grouping.slots.push_back(static_cast<std::int32_t>((r * 7 + 3) % rows));
    grouping.weights.push_back(weight(random));
  }
  return grouping;
}
std::int64_t expert_of(const Grouping& grouping, std::int64_t row) { return row < grouping.offsets[1] ? 0 : 2; }

TEST_P(GemmSchemes, SharedGemm2GivesTheContractsBitsForRaggedSizes) {
  for (const Size& size : kSizes) {
    const QuantisedGemm gemm = make(size, 1, false, 2);
    const md_tensor out = device.blank({size.tokens, size.n}, gemm.model);
    device.run(MD_OP_SHARED_GEMM2,
               {gemm.a_tensor, gemm.weight_tensor, out, gemm.a_scale_tensor, gemm.weight_scale_tensor, absent()},
               params_of(gemm));
    expect_bits(out, [&](std::int64_t r, std::int64_t n) { return gemm.element(r, 0, n, 1, nullptr); });
  }
}

TEST_P(GemmSchemes, SharedGemm1CutsItsHalvesApartAndAddsItsRangesInOrder) {
  for (const Size& size : kSizes) {
    if (size.n % 2 != 0) continue;
    const QuantisedGemm gemm = make(size, 1, true, 2);
    for (const int splits : {2, 3}) {
      const md_tensor out = device.blank({size.tokens, size.n}, gemm.model);
      const md_tensor workspace = device.blank({splits, size.tokens, size.n}, MD_F32);
      device.run(
          MD_OP_SHARED_GEMM1,
          {gemm.a_tensor, gemm.weight_tensor, out, workspace, gemm.a_scale_tensor, gemm.weight_scale_tensor, absent()},
          params_of(gemm, splits));
      expect_bits(out, [&](std::int64_t r, std::int64_t n) { return gemm.element(r, 0, n, splits, nullptr); });
    }
  }
}

TEST_P(GemmSchemes, Gemm1ReadsCodesAndScalesOfTheTokenOfEachRowAndWeighsRanges) {
  for (const Size& size : kSizes) {
    if (size.n % 2 != 0) continue;
    const std::int64_t width = 2, rows = size.tokens * width;
    const QuantisedGemm gemm = make(size, 3, true, 3);
    const Grouping grouping = make_grouping(size.tokens, width);
    const md_tensor slots = device.upload_bytes({rows}, MD_I32, grouping.slots.data());
    const md_tensor offsets = device.upload_bytes({4}, MD_I32, grouping.offsets.data());
    const md_tensor weights = device.upload_bytes({size.tokens, width}, MD_F32, grouping.weights.data());
    for (const int splits : {1, 3}) {
      const md_tensor out = device.blank({rows, size.n}, gemm.model);
      const md_tensor workspace = splits > 1 ? device.blank({splits, rows, size.n}, MD_F32) : absent();
      device.run(MD_OP_GEMM1,
                 {gemm.a_tensor, slots, offsets, gemm.weight_tensor, out, workspace, gemm.a_scale_tensor,
                  gemm.weight_scale_tensor, weights, absent()},
                 params_of(gemm, splits));
      expect_bits(out, [&](std::int64_t r, std::int64_t n) {
        const std::int32_t slot = grouping.slots[r];
        return gemm.element(slot / width, expert_of(grouping, r), n, splits, &grouping.weights[slot]);
      });
    }
  }
}

TEST_P(GemmSchemes, Gemm2WeighsEachRowByItsSlotOrNotAtAll) {
  for (const Size& size : kSizes) {
    const std::int64_t width = size.tokens % 3 == 0 ? 3 : 1, tokens = size.tokens / width;
    const QuantisedGemm gemm = make(size, 3, false, 3);
    const Grouping grouping = make_grouping(tokens, width);
    const md_tensor slots = device.upload_bytes({size.tokens}, MD_I32, grouping.slots.data());
    const md_tensor offsets = device.upload_bytes({4}, MD_I32, grouping.offsets.data());
    const md_tensor weights = device.upload_bytes({tokens, width}, MD_F32, grouping.weights.data());
    for (const bool weighted : {true, false}) {
      const md_tensor out = device.blank({size.tokens, size.n}, gemm.model);
      device.run(MD_OP_GEMM2,
                 {gemm.a_tensor, offsets, gemm.weight_tensor, out, weighted ? slots : absent(),
                  weighted ? weights : absent(), gemm.a_scale_tensor, gemm.weight_scale_tensor, absent()},
                 params_of(gemm));
      expect_bits(out, [&](std::int64_t r, std::int64_t n) {
        return gemm.element(r, expert_of(grouping, r), n, 1, weighted ? &grouping.weights[grouping.slots[r]] : nullptr);
      });
    }
  }
}

TEST_P(GemmSchemes, ARowAloneGivesTheBitsItGivesAmongOthers) {
  const Size size{45, 150, 40, 32};
  const QuantisedGemm gemm = make(size, 1, false, 2);
  const bool row_scales = gemm.a_scale_tensor.data != nullptr && gemm.a_scale_tensor.shape[0] > 1;
  const auto run = [&](std::int64_t first, std::int64_t count) {
    const md_tensor out = device.blank({count, size.n}, gemm.model);
    device.run(MD_OP_SHARED_GEMM2,
               {rows_of(gemm.a_tensor, first, count), gemm.weight_tensor, out,
                row_scales ? rows_of(gemm.a_scale_tensor, first, count) : gemm.a_scale_tensor, gemm.weight_scale_tensor,
                absent()},
               params_of(gemm));
    return model_bits(device, out);
  };
  const std::vector<std::uint32_t> whole = run(0, size.tokens);
  for (const std::int64_t first : {0, 17, 31, 32, 40}) {
    for (const std::int64_t count : {1, 3, 5}) {
      const std::vector<std::uint32_t> part = run(first, count);
      ASSERT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + first * size.n)) << first << " " << count;
    }
  }
}

}  // namespace
}  // namespace moediff::test
