// Quantisation of activations: vectors of DeepSeek's and vLLM's code byte for byte, and every policy against the
// contract written out in the test.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "harness/core/safetensors.h"
#include "tests/unit/kernels/ops/formats_by_definition.h"
#include "tests/unit/kernels/ops/naive.h"
#include "tests/unit/kernels/ops/quantize_by_contract.h"

namespace moediff::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

/// Same bytes, and scales with the same bits; NaNs are all alike.
void expect_same(const Quantised& actual, const Quantised& expected, md_dtype format) {
  ASSERT_EQ(actual.codes.size(), expected.codes.size());
  ASSERT_EQ(actual.scales.size(), expected.scales.size());
  for (std::size_t i = 0; i < expected.scales.size(); ++i) {
    ASSERT_TRUE(same(actual.scales[i], expected.scales[i]))
        << "scale " << i << ": " << actual.scales[i] << ", expected " << expected.scales[i];
  }
  for (std::size_t i = 0; i < expected.codes.size(); ++i) {
    const double a = value_of(format, actual.codes[i]), e = value_of(format, expected.codes[i]);
    ASSERT_TRUE(same(a, e)) << "code " << i << ": " << a << ", expected " << e;
  }
}

template <typename T>
std::vector<T> vector_of(const Tensor& tensor) {
  return {tensor.as<T>().begin(), tensor.as<T>().end()};
}

/// `file`'s tensor x quantised as `params` say gives its tensors `codes` and `scales`.
void expect_golden(const SafetensorsFile& file, md_dtype format, const md_params& params, const std::string& codes,
                   const std::string& scales) {
  Device device;
  const Tensor x = file.read("x");
  const std::int64_t rows = x.shape[0], columns = x.shape[1];
  const md_tensor in = device.upload_bytes({rows, columns}, MD_F32, x.data.data());
  const Quantised actual = run_quantise(device, MD_OP_QUANTIZE_A1, in, rows, columns, format, params);
  SCOPED_TRACE(file.path() + " " + codes);
  expect_same(actual, {vector_of<std::uint8_t>(file.read(codes)), vector_of<float>(file.read(scales))}, format);
}

TEST(Quantize, GroupsAgreeWithTheCodeOfDeepSeekAndVllmByteForByte) {
  struct Policy {
    const char* name;
    int scale_kind;
    float floor;
  };
  constexpr Policy kPolicies[] = {{"ds", MD_SCALES_FP32, 1e-4f},
                                  {"ds_ue8m0", MD_SCALES_UE8M0, 1e-4f},
                                  {"vllm", MD_SCALES_FP32, 1e-10f},
                                  {"vllm_ue8m0", MD_SCALES_UE8M0, 1e-10f}};
  int compared = 0;
  for (const auto& [name, group] : {std::pair("01", 128), std::pair("03_g64", 64)}) {
    const SafetensorsFile file("tests/golden/data/fp8_act_quant_" + std::string(name) + ".safetensors");
    for (const Policy& policy : kPolicies) {
      const std::string prefix = policy.name;
      if (!file.contains(prefix + ".q")) continue;
      md_params params = quantise_params(MD_SCHEME_FP8_BLOCK, MD_F8_E4M3FN, group);
      params.scale_kind = policy.scale_kind;
      params.amax_floor = policy.floor;
      expect_golden(file, MD_F8_E4M3FN, params, prefix + ".q", prefix + ".scale");
      ++compared;
    }
  }
  EXPECT_EQ(compared, 6);
}

TEST(Quantize, TokensAndTensorsAgreeWithTheCodeOfVllmByteForByte) {
  for (const auto& [name, format, fmax] :
       {std::tuple("01_e4m3fn", MD_F8_E4M3FN, 448.0f), std::tuple("02_e4m3fnuz", MD_F8_E4M3FNUZ, 224.0f)}) {
    const SafetensorsFile file("tests/golden/data/fp8_per_token_" + std::string(name) + ".safetensors");
    md_params token = quantise_params(MD_SCHEME_FP8_CHANNEL, format, 0);
    token.fmax = fmax;
    token.amax_floor = 1.0f / 512;  // vLLM bounds the scale by 1 / (fmax * 512)
    expect_golden(file, format, token, "per_token.q_u8", "per_token.scale");
    md_params tensor = quantise_params(MD_SCHEME_FP8_TENSOR, format, 0);
    tensor.fmax = fmax;
    tensor.amax_floor = 0;
    tensor.scale_by = MD_SCALE_BY_RECIPROCAL;
    expect_golden(file, format, tensor, "per_tensor.q_u8", "per_tensor.scale");
  }
}

struct Coding {
  const char* name;
  int scheme;
  md_dtype format;
};
constexpr Coding kCodings[] = {
    {"group_e4m3fn", MD_SCHEME_FP8_BLOCK, MD_F8_E4M3FN},   {"group_e4m3fnuz", MD_SCHEME_FP8_BLOCK, MD_F8_E4M3FNUZ},
    {"tensor_e4m3fn", MD_SCHEME_FP8_TENSOR, MD_F8_E4M3FN}, {"tensor_e4m3fnuz", MD_SCHEME_FP8_TENSOR, MD_F8_E4M3FNUZ},
    {"token_e4m3fn", MD_SCHEME_FP8_CHANNEL, MD_F8_E4M3FN}, {"token_e4m3fnuz", MD_SCHEME_FP8_CHANNEL, MD_F8_E4M3FNUZ},
    {"token_int8", MD_SCHEME_INT8_CHANNEL, MD_I8},
};

std::string coding_name(const ::testing::TestParamInfo<Coding>& coding) { return coding.param.name; }

class QuantizeBy : public ::testing::TestWithParam<Coding> {
 protected:
  /// Runs x, already of numbers of `dtype`, and compares with the contract.
  void expect_contract(const std::vector<float>& x, std::int64_t rows, std::int64_t columns, md_dtype dtype,
                       const md_params& policy) {
    std::vector<std::uint8_t> bytes;
    for (const float v : x) {
      const std::uint32_t bits = dtype == MD_F32 ? std::bit_cast<std::uint32_t>(v) : nearest_code(dtype, v);
      for (int b = 0; b < (dtype == MD_F32 ? 4 : 2); ++b) bytes.push_back(static_cast<std::uint8_t>(bits >> 8 * b));
    }
    const md_tensor in = device.upload_bytes({rows, columns}, dtype, bytes.data());
    expect_same(run_quantise(device, MD_OP_QUANTIZE_A2, in, rows, columns, GetParam().format, policy),
                quantise(x, rows, columns, GetParam().format, policy), GetParam().format);
  }

  std::vector<float> numbers(std::int64_t rows, std::int64_t columns, md_dtype dtype, double spread) const {
    std::vector<float> x;
    for (const double v : normals({rows, columns}, static_cast<std::uint64_t>(rows * 1000 + columns)).values) {
      x.push_back(nearest_value(dtype, static_cast<float>(v * spread)));
    }
    return x;
  }

  md_params params = quantise_params(GetParam().scheme, GetParam().format, 32);
  Device device;
};
INSTANTIATE_TEST_SUITE_P(Codings, QuantizeBy, ::testing::ValuesIn(kCodings), coding_name);

TEST_P(QuantizeBy, EveryPolicyGivesTheContractsBytesAndScales) {
  const std::vector<float> x = numbers(6, 70, MD_F32, 3);
  for (const int kind : {MD_SCALES_FP32, MD_SCALES_UE8M0}) {
    for (const int from : {MD_SCALE_FROM_DIVISION, MD_SCALE_FROM_RECIPROCAL}) {
      for (const int by : {MD_SCALE_BY_DIVISION, MD_SCALE_BY_RECIPROCAL, MD_SCALE_BY_RATIO}) {
        for (const int half : {MD_HALF_TO_EVEN, MD_HALF_AWAY}) {
          params.scale_kind = kind;
          params.scale_from = from;
          params.scale_by = by;
          params.half_to = half;
          SCOPED_TRACE(std::to_string(kind) + std::to_string(from) + std::to_string(by) + std::to_string(half));
          expect_contract(x, 6, 70, MD_F32, params);
        }
      }
    }
  }
}

TEST_P(QuantizeBy, RaggedSizesAndLongRowsOfEveryModelDtypeGiveTheContractsBytes) {
  for (const auto& [rows, columns] : {std::pair(1, 1), std::pair(5, 33), std::pair(65, 31), std::pair(3, 513),
                                      std::pair(2, 2300), std::pair(1, 512)}) {
    for (const md_dtype dtype : {MD_F32, MD_BF16, MD_F16}) {
      for (const std::int64_t group : {32, 17, 600}) {
        params.group = group;
        SCOPED_TRACE(std::to_string(rows) + "x" + std::to_string(columns) + " group " + std::to_string(group));
        expect_contract(numbers(rows, columns, dtype, 0.1), rows, columns, dtype, params);
      }
    }
  }
}

TEST_P(QuantizeBy, HalvesAndBoundariesOfCodesRoundAsTheFormatSays) {
  // The largest magnitude makes the scale 1, so that the codes are the numbers themselves.
  std::vector<float> x{params.fmax};
  for (int i = 0; i < 63; ++i) x.push_back((static_cast<float>(i) - 31.0f) / 2);
  for (const int half : {MD_HALF_TO_EVEN, MD_HALF_AWAY}) {
    params.half_to = half;
    params.group = 64;
    expect_contract(x, 1, 64, MD_F32, params);
  }
}

TEST_P(QuantizeBy, TinySubnormalAndHugeGroupsGiveTheContractsBytes) {
  // Scales of a few units of fp32's subnormals are so coarse that quotients lie far beyond fmax.
  for (const double spread : {1e-45, 4e-43, 1e-42, 1e-40, 1e-30, 1e-11, 1e30, 3e37}) {
    for (const auto& [floor, kind, by] : {std::tuple(0.0f, MD_SCALES_FP32, MD_SCALE_BY_DIVISION),
                                          std::tuple(0.0f, MD_SCALES_UE8M0, MD_SCALE_BY_DIVISION),
                                          std::tuple(1e-10f, MD_SCALES_UE8M0, MD_SCALE_BY_RECIPROCAL),
                                          std::tuple(1e-10f, MD_SCALES_FP32, MD_SCALE_BY_RATIO)}) {
      params.amax_floor = floor;
      params.scale_kind = kind;
      params.scale_by = by;
      SCOPED_TRACE(std::to_string(spread) + " floor " + std::to_string(floor));
      expect_contract(numbers(4, 64, MD_F32, spread), 4, 64, MD_F32, params);
    }
  }
}

TEST_P(QuantizeBy, AGroupOfZerosHasTheFloorsScaleAndCodesZero) {
  const std::vector<float> zeros(64, 0.0f);
  expect_contract(zeros, 2, 32, MD_F32, params);
  params.amax_floor = 0;
  expect_contract(zeros, 2, 32, MD_F32, params);
  const md_tensor in = device.upload_bytes({2, 32}, MD_F32, zeros.data());
  const Quantised actual = run_quantise(device, MD_OP_QUANTIZE_A1, in, 2, 32, GetParam().format, params);
  for (const float scale : actual.scales) EXPECT_EQ(scale, 0);
  for (const std::uint8_t code : actual.codes) EXPECT_EQ(code, 0);
}

TEST_P(QuantizeBy, TheLargestElementCountsWhereverItIsInALongRow) {
  for (const std::size_t at : {0, 31, 32, 1000, 2015, 2016, 2047, 2048, 2099}) {
    std::vector<float> x(2100, 1.0f);
    x[at] = -100.0f;
    params.group = 2100;
    const md_tensor in = device.upload_bytes({1, 2100}, MD_F32, x.data());
    const Quantised actual = run_quantise(device, MD_OP_QUANTIZE_A1, in, 1, 2100, GetParam().format, params);
    ASSERT_EQ(actual.scales, std::vector<float>{100.0f / params.fmax}) << "at " << at;
    ASSERT_EQ(value_of(GetParam().format, actual.codes[at]), -params.fmax);
  }
}

TEST_P(QuantizeBy, NanAndInfinityAreSeenInTheScaleOfTheirGroupAndOfNoOther) {
  for (const float bad : {kNan, kInf, -kInf}) {
    std::vector<float> x = numbers(3, 64, MD_F32, 1);
    x[64 + 5] = bad;
    expect_contract(x, 3, 64, MD_F32, params);
  }
  std::vector<float> x = numbers(3, 64, MD_F32, 1);
  x[64 + 5] = -kNan;
  const md_tensor in = device.upload_bytes({3, 64}, MD_F32, x.data());
  const Quantised actual = run_quantise(device, MD_OP_QUANTIZE_A1, in, 3, 64, GetParam().format, params);
  int nans = 0;
  for (const float scale : actual.scales) nans += std::isnan(scale) ? 1 : 0;
  EXPECT_EQ(nans, 1);
}

TEST_P(QuantizeBy, TheFusedOpIsTheActivationInFp32ThenTheQuantisation) {
  for (const int kind : {MD_SILU, MD_GELU, MD_GELU_TANH, MD_SWIGLU_CLAMPED, MD_SWIGLUOAI}) {
    for (const md_dtype dtype : {MD_F32, MD_BF16, MD_F16}) {
      params.activation = kind;
      params.activation_rounding = MD_ROUND_ONCE;
      params.limit = 1.5f;
      const Array gate_up = rounded(normals({5, 140}, 11), dtype);
      const md_tensor act = device.blank({5, 70}, MD_F32);
      device.run(MD_OP_ACTIVATION, {device.upload(gate_up, MD_F32), act}, params);
      const Quantised expected = quantise(device.read_as<float>(act), 5, 70, GetParam().format, params);
      expect_same(run_quantise(device, MD_OP_ACTIVATION_QUANTIZE, device.upload(gate_up, dtype), 5, 70,
                               GetParam().format, params),
                  expected, GetParam().format);
    }
  }
}

TEST_P(QuantizeBy, RowsWithPaddingBetweenThemAreReadAndWrittenInPlace) {
  const Array x = normals({3, 40}, 12);
  const md_tensor in = device.upload(x, MD_BF16, 5), codes = device.blank({3, 40}, GetParam().format, 7);
  const std::vector<std::int64_t> shape = scales_shape(3, 40, params);
  const md_tensor scales = device.blank(shape, MD_F32, 2);
  device.run(MD_OP_SHARED_QUANTIZE_A1, {in, codes, scales}, params);
  std::vector<float> values;
  for (const double v : rounded(x, MD_BF16).values) values.push_back(static_cast<float>(v));
  const Quantised expected = quantise(values, 3, 40, GetParam().format, params);
  const std::vector<std::uint8_t> code_memory = device.bytes(codes);
  for (std::size_t i = 0; i < 3 * 40; ++i) ASSERT_EQ(code_memory[i / 40 * 47 + i % 40], expected.codes[i]) << i;
  for (std::size_t r = 0; r < 2; ++r) ASSERT_EQ(code_memory[r * 47 + 40], 0xFF) << "padding of row " << r;
  const std::vector<double> actual_scales = device.read(scales).values;
  for (std::size_t i = 0; i < expected.scales.size(); ++i) ASSERT_EQ(actual_scales[i], expected.scales[i]);
}

TEST_P(QuantizeBy, NoTokensIsServed) {
  const md_tensor in = device.blank({0, 40}, MD_BF16);
  const Quantised actual = run_quantise(device, MD_OP_QUANTIZE_A1, in, 0, 40, GetParam().format, params);
  EXPECT_TRUE(actual.codes.empty());
  const bool tensor = params.scheme == MD_SCHEME_FP8_TENSOR;
  EXPECT_EQ(actual.scales, tensor ? std::vector<float>{params.amax_floor / params.fmax} : std::vector<float>{});
}

}  // namespace
}  // namespace moediff::test
