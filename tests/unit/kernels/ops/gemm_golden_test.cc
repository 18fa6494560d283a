// The fp8 block GEMM on operands, and against results, of DeepSeek's and vLLM's code (tests/golden/data).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/core/safetensors.h"
#include "tests/unit/kernels/ops/device.h"

namespace moediff::test {
namespace {

md_tensor upload(Device& device, const SafetensorsFile& file, const std::string& name, md_dtype dtype) {
  const Tensor tensor = file.read(name);
  return device.upload_bytes(tensor.shape, dtype, tensor.data.data());
}

std::vector<double> run_block_gemm(const SafetensorsFile& file, md_dtype model) {
  Device device;
  const md_tensor a = upload(device, file, "a.q", MD_F8_E4M3FN), b = upload(device, file, "b.q", MD_F8_E4M3FN);
  const md_tensor out = device.blank({a.shape[0], b.shape[0]}, model);
  md_params params{};
  params.scheme = MD_SCHEME_FP8_BLOCK;
  params.group = 128;
  device.run(MD_OP_SHARED_GEMM2,
             {a, b, out, upload(device, file, "a.scale", MD_F32), upload(device, file, "b.weight_scale_inv", MD_F32),
              absent()},
             params);
  return device.read(out).values;
}

class GoldenGemm : public ::testing::TestWithParam<const char*> {
 protected:
  const SafetensorsFile file{"tests/golden/data/fp8_block_gemm_" + std::string(GetParam()) + ".safetensors"};
  const std::vector<double> exact = to_doubles(file.read("vllm.block_matmul_f64"));
};
INSTANTIATE_TEST_SUITE_P(Files, GoldenGemm, ::testing::Values("01", "03_m1"));

TEST_P(GoldenGemm, Fp32ResultsAgreeWithVllmInDoubleToTwoMillionths) {
  const std::vector<double> actual = run_block_gemm(file, MD_F32);
  ASSERT_EQ(actual.size(), exact.size());
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    largest = std::max(largest, std::abs(exact[i]));
    difference = std::max(difference, std::abs(actual[i] - exact[i]));
  }
  EXPECT_GT(largest, 0);
  EXPECT_LE(difference, 2e-6 * largest);
}

TEST_P(GoldenGemm, Bf16ResultsAreWithinOneStepOfThoseOfDeepSeekAndVllm) {
  const std::vector<double> actual = run_block_gemm(file, MD_BF16);
  for (const char* name : {"ds.fp8_gemm_bf16", "vllm.block_matmul_bf16"}) {
    const std::vector<double> expected = to_doubles(file.read(name));
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double step = std::ldexp(1.0, std::ilogb(expected[i]) - 7);
      ASSERT_LE(std::abs(actual[i] - expected[i]), step) << name << " element " << i;
    }
  }
}

}  // namespace
}  // namespace moediff::test
