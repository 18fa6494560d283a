// Matrix products at their edges: long integer sums, subnormal results, scales and slots that are no numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/unit/kernels/ops/gemm_by_contract.h"
#include "tests/unit/kernels/ops/naive.h"

namespace moediff::test {
namespace {

/// A dense product of int8 codes with scales of 1, in fp32.
std::vector<float> int8_product(Device& device, const std::vector<std::int8_t>& a, const std::vector<std::int8_t>& w,
                                std::int64_t k) {
  const auto rows = static_cast<std::int64_t>(a.size()) / k, n = static_cast<std::int64_t>(w.size()) / k;
  const md_tensor out = device.blank({rows, n}, MD_F32);
  md_params params{};
  params.scheme = MD_SCHEME_INT8_CHANNEL;
  device.run(MD_OP_SHARED_GEMM2,
             {device.upload_bytes({rows, k}, MD_I8, a.data()), device.upload_bytes({n, k}, MD_I8, w.data()), out,
              device.upload(constant({rows, 1}, 1), MD_F32), device.upload(constant({n, 1}, 1), MD_F32), absent()},
             params);
  return device.read_as<float>(out);
}

TEST(GemmEdge, Int8SumsBeyondTheIntegersOfFp32AreExactUntilTheLastRounding) {
  Device device;
  // 2^14 * 5001, plus 1 and minus 1 at the ends: odd numbers above 2^26, so an fp32 sum would lose them on the way.
  constexpr std::int64_t kK = 5003;
  std::vector<std::int8_t> a(kK, -128), w(kK, -128);
  a.front() = w.front() = 1;
  a.back() = 1;
  w.back() = -1;
  EXPECT_EQ(int8_product(device, a, w, kK)[0], 16384.0f * 5001);
  a.back() = 127;
  w.back() = 127;
  const std::int64_t exact = 16384 * 5001 + 1 + 127 * 127;
  EXPECT_EQ(int8_product(device, a, w, kK)[0], static_cast<float>(exact));
}

TEST(GemmEdge, Int8SumsThatCancelLeaveNothing) {
  Device device;
  constexpr std::int64_t kK = 4096;
  std::vector<std::int8_t> a(kK), w(kK, 127);
  for (std::int64_t i = 0; i < kK; ++i) a[static_cast<std::size_t>(i)] = i < kK / 2 ? 127 : -127;
  a.back() = -126;
  EXPECT_EQ(int8_product(device, a, w, kK)[0], 127.0f);
}

TEST(GemmEdge, ProductsTooSmallForFp32LeaveTheZeroOfTheirSign) {
  Device device;
  for (const std::int64_t k : {1, 3, 64, 65}) {  // nothing may be added where a tile is longer than K
    const md_tensor out = device.blank({1, 1}, MD_F32);
    device.run(MD_OP_SHARED_GEMM2,
               {device.upload(constant({1, k}, 1e-30), MD_F32), device.upload(constant({1, k}, -1e-30), MD_F32), out});
    EXPECT_TRUE(std::signbit(device.read_as<float>(out)[0])) << "K=" << k;
  }
}

/// Bits of gemm1 of fp8 blocks with given slots; every slot of two a token.
struct Slotted {
  QuantisedGemm gemm;
  std::vector<std::uint32_t> bits;
};
Slotted run_slots(Device& device, const std::vector<std::int32_t>& slots, const std::vector<float>& weights) {
  QuantisedGemm shape{};
  shape.scheme = MD_SCHEME_FP8_BLOCK;
  shape.model = MD_BF16;
  shape.fp8 = MD_F8_E4M3FN;
  shape.tokens = 2;
  shape.k = 40;
  shape.experts = 1;
  shape.n = 6;
  shape.group = 32;
  shape.halves = true;
  const QuantisedGemm gemm = make_gemm(device, shape, 3, 9);
  const std::vector<std::int32_t> offsets{0, 4};
  const md_tensor out = device.blank({4, 6}, MD_BF16);
  device.run(MD_OP_GEMM1,
             {gemm.a_tensor, device.upload_bytes({4}, MD_I32, slots.data()),
              device.upload_bytes({2}, MD_I32, offsets.data()), gemm.weight_tensor, out, absent(), gemm.a_scale_tensor,
              gemm.weight_scale_tensor, device.upload_bytes({2, 2}, MD_F32, weights.data()), absent()},
             params_of(gemm));
  return {gemm, model_bits(device, out)};
}

TEST(GemmEdge, NonsenseSlotsGiveZerosInTheirRowsAndDisturbNoOther) {
  Device device;
  const std::vector<float> weights{0.5f, -1.5f, 3.0f, 0.1f};
  const auto [gemm, bits] = run_slots(device, {2, -7, 1'000'000'000, 1}, weights);
  for (std::int64_t n = 0; n < 6; ++n) {
    EXPECT_EQ(bits[n], gemm.element(1, 0, n, 1, &weights[2]));
    EXPECT_EQ(bits[6 + n] & 0x7fffu, 0u);
    EXPECT_EQ(bits[12 + n] & 0x7fffu, 0u);
    EXPECT_EQ(bits[18 + n], gemm.element(0, 0, n, 1, &weights[1]));
  }
}

TEST(GemmEdge, AWeightThatIsNoNumberSpoilsItsRowAlone) {
  Device device;
  const auto [gemm, bits] = run_slots(device, {0, 1, 2, 3}, {1.0f, NAN, 1.0f, 1.0f});
  const float one = 1.0f;
  for (std::int64_t n = 0; n < 6; ++n) {
    EXPECT_GT(bits[6 + n] & 0x7fffu, 0x7f80u);
    EXPECT_EQ(bits[n], gemm.element(0, 0, n, 1, &one));
    EXPECT_EQ(bits[12 + n], gemm.element(1, 0, n, 1, &one));
  }
}

}  // namespace
}  // namespace moediff::test
