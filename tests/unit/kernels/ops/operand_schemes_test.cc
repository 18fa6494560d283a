// Operands of every op in every quantisation scheme, and in algebra mode: the right ones are accepted, and each of them
// is refused when its dtype, one of its sizes, its presence or absence is not what the scheme says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/kernels/ops/device.h"

namespace moediff::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::int64_t kTokens = 3, kWidth = 2, kRows = 6, kHidden = 130, kInter = 70, kExperts = 4, kGroup = 64;

/// What a scheme stores, spelt out for the sizes above: shapes [n, k] of w13 = [140, 130] and w2 = [130, 70].
struct Scheme {
  const char* name;
  int scheme;
  md_dtype weights, weight_scales, activations;
  std::int64_t w13_columns, w2_columns;             ///< stored
  std::vector<std::int64_t> w13_scales, w2_scales;  ///< [sn, sk]; empty: none
  std::vector<std::int64_t> a1_scales, a2_scales;   ///< of [3, 130] and [6, 70]; empty: none
};
const std::vector<Scheme> kAll{
    {"none", MD_SCHEME_NONE, MD_BF16, MD_F32, MD_BF16, 130, 70, {}, {}, {}, {}},
    {"block", MD_SCHEME_FP8_BLOCK, MD_F8_E4M3FN, MD_F32, MD_F8_E4M3FN, 130, 70, {4, 3}, {3, 2}, {3, 3}, {6, 2}},
    {"block_fnuz",
     MD_SCHEME_FP8_BLOCK,
     MD_F8_E4M3FNUZ,
     MD_F32,
     MD_F8_E4M3FNUZ,
     130,
     70,
     {4, 3},
     {3, 2},
     {3, 3},
     {6, 2}},
    {"tensor", MD_SCHEME_FP8_TENSOR, MD_F8_E4M3FN, MD_F32, MD_F8_E4M3FN, 130, 70, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {"channel", MD_SCHEME_FP8_CHANNEL, MD_F8_E4M3FN, MD_F32, MD_F8_E4M3FN, 130, 70, {140, 1}, {130, 1}, {3, 1}, {6, 1}},
    {"int8", MD_SCHEME_INT8_CHANNEL, MD_I8, MD_F32, MD_I8, 130, 70, {140, 1}, {130, 1}, {3, 1}, {6, 1}},
    {"int4", MD_SCHEME_INT4_GROUP, MD_U8, MD_BF16, MD_BF16, 65, 35, {140, 3}, {130, 2}, {}, {}},
    {"mxfp4", MD_SCHEME_MXFP4, MD_U8, MD_F8_E8M0, MD_BF16, 65, 35, {140, 5}, {130, 3}, {}, {}},
    {"field_block", MD_SCHEME_FP8_BLOCK, MD_FIELD, MD_FIELD, MD_FIELD, 130, 70, {4, 3}, {3, 2}, {3, 3}, {6, 2}},
    {"field_int4", MD_SCHEME_INT4_GROUP, MD_FIELD, MD_FIELD, MD_FIELD, 130, 70, {140, 3}, {130, 2}, {}, {}},
};

struct Call {
  md_op op;
  std::vector<md_tensor> tensors;
  md_params params;
};

class Schemes : public ::testing::TestWithParam<Scheme> {
 protected:
  Device device;
  const Scheme& scheme = GetParam();
  bool algebra() const { return scheme.weights == MD_FIELD; }
  md_dtype model() const { return algebra() ? MD_FIELD : MD_BF16; }

  md_tensor of(md_dtype dtype, std::vector<std::int64_t> shape) { return device.blank(shape, dtype); }
  md_tensor x(std::vector<std::int64_t> shape) { return of(model(), std::move(shape)); }
  md_tensor f32(std::vector<std::int64_t> shape) { return of(algebra() ? MD_FIELD : MD_F32, std::move(shape)); }
  md_tensor i32(std::vector<std::int64_t> shape) { return of(MD_I32, std::move(shape)); }
  md_tensor codes(std::vector<std::int64_t> shape) { return of(scheme.activations, std::move(shape)); }
  md_tensor weight(std::int64_t experts, std::int64_t n, std::int64_t columns) {
    return of(scheme.weights, experts == 0 ? std::vector{n, columns} : std::vector{experts, n, columns});
  }
  md_tensor weight_scales(std::int64_t experts, std::vector<std::int64_t> shape) {
    if (shape.empty()) return absent();
    if (experts != 0) shape.insert(shape.begin(), experts);
    return of(scheme.weight_scales, shape);
  }
  md_tensor a_scales(const std::vector<std::int64_t>& shape) { return shape.empty() ? absent() : f32(shape); }

  md_params params(bool halves) const {
    md_params p = scalars();
    p.scheme = scheme.scheme;
    p.group = kGroup;
    p.halves = halves ? 1 : 0;
    p.fmax = 100;
    return p;
  }
  Call gemm1() {
    return {MD_OP_GEMM1,
            {codes({kTokens, kHidden}), i32({kRows}), i32({kExperts + 1}), weight(kExperts, 140, scheme.w13_columns),
             x({kRows, 140}), absent(), a_scales(scheme.a1_scales), weight_scales(kExperts, scheme.w13_scales),
             f32({kTokens, kWidth}), f32({kExperts, 140, 1})},
            params(true)};
  }
  Call gemm2() {
    return {MD_OP_GEMM2,
            {codes({kRows, kInter}), i32({kExperts + 1}), weight(kExperts, kHidden, scheme.w2_columns),
             x({kRows, kHidden}), i32({kRows}), f32({kTokens, kWidth}), a_scales(scheme.a2_scales),
             weight_scales(kExperts, scheme.w2_scales), f32({kExperts, kHidden, 1})},
            params(false)};
  }
  Call shared_gemm1() {
    return {MD_OP_SHARED_GEMM1,
            {codes({kTokens, kHidden}), weight(0, 140, scheme.w13_columns), x({kTokens, 140}), absent(),
             a_scales(scheme.a1_scales), weight_scales(0, scheme.w13_scales), f32({140, 1})},
            params(true)};
  }
  Call shared_gemm2() {
    return {MD_OP_SHARED_GEMM2,
            {codes({kRows, kInter}), weight(0, kHidden, scheme.w2_columns), x({kRows, kHidden}),
             a_scales(scheme.a2_scales), weight_scales(0, scheme.w2_scales), f32({kHidden, 1})},
            params(false)};
  }
  Call quantize() {
    return {MD_OP_QUANTIZE_A2, {x({kRows, kInter}), codes({kRows, kInter}), a_scales(scheme.a2_scales)}, params(false)};
  }
  Call activation_quantize() {
    return {MD_OP_ACTIVATION_QUANTIZE,
            {x({kRows, 2 * kInter}), codes({kRows, kInter}), a_scales(scheme.a2_scales)},
            params(false)};
  }
  std::vector<Call> calls() {
    std::vector<Call> all{gemm1(), gemm2(), shared_gemm1(), shared_gemm2()};
    if (!scheme.a2_scales.empty()) all.insert(all.end(), {quantize(), activation_quantize()});
    return all;
  }
  std::int64_t count_of_model(const Call& call) const {
    return std::count_if(call.tensors.begin(), call.tensors.end(),
                         [&](const md_tensor& t) { return t.data != nullptr && t.dtype == model(); });
  }
  void expect_refused(const Call& call, const std::string& what) {
    EXPECT_NE(device.enqueue(call.op, call.tensors, call.params), 0) << "op " << call.op << " " << what;
  }
};
INSTANTIATE_TEST_SUITE_P(All, Schemes, ::testing::ValuesIn(kAll), [](const auto& test) { return test.param.name; });

TEST_P(Schemes, TheRightOperandsAreAccepted) {
  for (const Call& call : calls()) {
    // Indices must be sound for the call to run.
    for (const md_tensor& tensor : call.tensors) {
      if (tensor.dtype != MD_I32 || tensor.data == nullptr) continue;
      const std::vector<std::int32_t> zeros(static_cast<std::size_t>(tensor.shape[0]));
      ASSERT_EQ(device.backend().copy_in(tensor.data, zeros.data(), tensor.shape[0] * 4), 0);
    }
    EXPECT_EQ(device.enqueue(call.op, call.tensors, call.params), 0) << device.provider_error();
    EXPECT_EQ(device.synchronize(), 0);
  }
}

TEST_P(Schemes, EverySizeOfEveryOperandIsChecked) {
  for (const Call& right : calls()) {
    for (std::size_t i = 0; i < right.tensors.size(); ++i) {
      if (right.tensors[i].data == nullptr) continue;
      for (int d = 0; d < right.tensors[i].rank; ++d) {
        Call wrong = right;
        std::vector<std::int64_t> shape(right.tensors[i].shape, right.tensors[i].shape + right.tensors[i].rank);
        ++shape[static_cast<std::size_t>(d)];
        wrong.tensors[i] = device.blank(shape, static_cast<md_dtype>(right.tensors[i].dtype));
        expect_refused(wrong, "operand " + std::to_string(i) + " dimension " + std::to_string(d));
      }
    }
  }
}

TEST_P(Schemes, TheDtypeOfEveryOperandIsChecked) {
  for (const Call& right : calls()) {
    for (std::size_t i = 0; i < right.tensors.size(); ++i) {
      if (right.tensors[i].data == nullptr) continue;
      for (const md_dtype dtype : {MD_F32, MD_F64, MD_I32, MD_I8, MD_U8, MD_F8_E5M2, MD_F8_E8M0, MD_I64}) {
        const bool decides = dtype == MD_F32 && count_of_model(right) == 1;  // f32 is then another model dtype
        if (dtype == right.tensors[i].dtype || (decides && right.tensors[i].dtype == model())) continue;
        Call wrong = right;
        wrong.tensors[i].dtype = dtype;
        expect_refused(wrong, "operand " + std::to_string(i) + " dtype " + std::to_string(dtype));
      }
    }
  }
}

TEST_P(Schemes, ScalesAreThereExactlyWhereTheSchemeHasThem) {
  for (const Call& right : calls()) {
    const bool gemm = right.op != MD_OP_QUANTIZE_A2 && right.op != MD_OP_ACTIVATION_QUANTIZE;
    if (!gemm) continue;
    const std::size_t a = right.op == MD_OP_GEMM1          ? std::size_t{MD_GEMM1_A_SCALES}
                          : right.op == MD_OP_GEMM2        ? std::size_t{MD_GEMM2_A_SCALES}
                          : right.op == MD_OP_SHARED_GEMM1 ? std::size_t{MD_SHARED_GEMM1_A_SCALES}
                                                           : std::size_t{MD_SHARED_GEMM2_A_SCALES};
    for (const std::size_t slot : {a, a + 1}) {
      Call wrong = right;
      const bool has = right.tensors[slot].data != nullptr;
      wrong.tensors[slot] = has ? absent() : f32({1, 1});
      expect_refused(wrong, "scales in slot " + std::to_string(slot));
      EXPECT_THAT(device.provider_error(),
                  AllOf(HasSubstr(has ? "_scales: expected device memory" : "_scales: expected none"),
                        HasSubstr("as the scheme is ")));
    }
  }
}

/// The two fp8 formats do not mix.
TEST_P(Schemes, CodesOfBothSidesAreOfOneFormat) {
  if (scheme.weights != MD_F8_E4M3FN && scheme.weights != MD_F8_E4M3FNUZ) return;
  Call wrong = gemm1();
  wrong.tensors[MD_GEMM1_W13].dtype = scheme.weights == MD_F8_E4M3FN ? MD_F8_E4M3FNUZ : MD_F8_E4M3FN;
  expect_refused(wrong, "mixed formats");
  EXPECT_THAT(device.provider_error(), HasSubstr("w13: expected f8_e4m3fn"));
}

TEST(SchemeOperands, WeightsBySlotNeedTheSlots) {
  Device device;
  EXPECT_NE(device.enqueue(MD_OP_GEMM2,
                           {device.blank({6, 7}, MD_F32), device.blank({5}, MD_I32), device.blank({4, 8, 7}, MD_F32),
                            device.blank({6, 8}, MD_F32), absent(), device.blank({3, 2}, MD_F32)}),
            0);
  EXPECT_THAT(device.provider_error(),
              HasSubstr("sorted_slots: expected device memory of [R=6], as there are weights"));
}

TEST(SchemeOperands, ShapesOfScalesAreExplained) {
  Device device;
  md_params params = scalars();
  params.scheme = MD_SCHEME_FP8_BLOCK;
  params.group = 32;
  params.fmax = 448;
  EXPECT_NE(
      device.enqueue(
          MD_OP_QUANTIZE_A1,
          {device.blank({3, 70}, MD_BF16), device.blank({3, 70}, MD_F8_E4M3FN), device.blank({3, 2}, MD_F32)}, params),
      0);
  EXPECT_THAT(device.provider_error(), HasSubstr("a1_scales: expected [R=3, ceil(C/32)=3], found [3, 2]"));
}

TEST(SchemeOperands, ParametersOfTheSchemeAreChecked) {
  Device device;
  const auto refusal = [&](auto change) {
    md_params params = scalars();
    params.scheme = MD_SCHEME_FP8_BLOCK;
    params.group = 32;
    params.fmax = 448;
    change(params);
    EXPECT_NE(device.enqueue(
                  MD_OP_QUANTIZE_A1,
                  {device.blank({3, 64}, MD_BF16), device.blank({3, 64}, MD_F8_E4M3FN), device.blank({3, 2}, MD_F32)},
                  params),
              0);
    return device.provider_error();
  };
  EXPECT_THAT(refusal([](md_params& p) { p.group = 0; }), HasSubstr("FP8_BLOCK, found 0"));
  EXPECT_THAT(refusal([](md_params& p) { p.fmax = 0; }), HasSubstr("fmax: expected above 0"));
  EXPECT_THAT(refusal([](md_params& p) { p.scheme = 7; }), HasSubstr("scheme: expected 0 to 6, found 7"));
  EXPECT_THAT(refusal([](md_params& p) { p.half_to = -1; }), HasSubstr("half_to: expected 0 to 1, found -1"));
  EXPECT_THAT(refusal([](md_params& p) { p.scheme = MD_SCHEME_MXFP4; }), HasSubstr("found MXFP4"));
}

}  // namespace
}  // namespace moediff::test
