// MD_OP_CONVERT as an op: sizes, pairs of formats, what it refuses. The formats themselves are in formats_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/kernels/ops/device.h"
#include "tests/unit/kernels/ops/naive.h"

namespace moediff::test {
namespace {

using ::testing::ElementsAreArray;

TEST(Convert, Fp32ToItselfKeepsEveryBitWhateverTheLength) {
  Device device;
  for (const std::int64_t count : kHardSizes) {
    std::vector<std::uint32_t> bits;
    for (std::int64_t i = 0; i < count; ++i) bits.push_back(static_cast<std::uint32_t>(i) * 0x9e3779b1u);
    const md_tensor to = device.blank({count}, MD_F32);
    device.run(MD_OP_CONVERT, {device.upload_bytes({count}, MD_F32, bits.data()), to});
    EXPECT_THAT(device.read_as<std::uint32_t>(to), ElementsAreArray(bits));
  }
}

TEST(Convert, NothingIsWrittenBeyondTheLastElement) {
  Device device;
  for (const std::int64_t count : {1, 63, 64, 65, 4097}) {
    const std::vector<float> ones(static_cast<std::size_t>(count), 1.0f);
    const md_tensor whole = device.blank({count + 8}, MD_F8_E4M3FN);
    md_tensor to = whole;
    to.shape[0] = count;
    device.run(MD_OP_CONVERT, {device.upload_bytes({count}, MD_F32, ones.data()), to});
    std::vector<std::uint8_t> expected(static_cast<std::size_t>(count), 0x38);  // 1 in e4m3fn
    expected.resize(expected.size() + 8, 0xFF);
    EXPECT_THAT(device.read_as<std::uint8_t>(whole), ElementsAreArray(expected));
  }
}

TEST(Convert, DoublesAreRoundedToTheNearestFp32AndBackExactly) {
  Device device;
  // Halfway cases of fp32's 24 bits, a value above its largest number, and a subnormal.
  const std::vector<double> values{1 + 0x1p-24, 1 + 0x3p-24, 1 + 0x1.000001p-24, 0x1.ffffffp127, -0x1p-150, 0x1.8p-149};
  const std::vector<float> expected{1.0f, 1 + 0x1p-22f, 1 + 0x1p-23f, INFINITY, -0.0f, 0x1p-148f};
  const md_tensor from = device.upload_bytes({6}, MD_F64, values.data()), to = device.blank({6}, MD_F32);
  device.run(MD_OP_CONVERT, {from, to});
  EXPECT_THAT(device.read_as<float>(to), ElementsAreArray(expected));
  EXPECT_TRUE(std::signbit(device.read_as<float>(to)[4]));
  md_params params{};
  params.saturate = 1;
  device.run(MD_OP_CONVERT, {from, to}, params);
  EXPECT_EQ(device.read_as<float>(to)[3], 0x1.fffffep127f);
  const md_tensor back = device.blank({6}, MD_F64);
  device.run(MD_OP_CONVERT, {to, back});
  const std::vector<float> singles = device.read_as<float>(to);
  EXPECT_THAT(device.read_as<double>(back), ElementsAreArray(singles.begin(), singles.end()));
}

TEST(Convert, TwoNarrowFormatsAreRefusedBecauseTheRoundingWouldNotBeOne) {
  Device device;
  EXPECT_NE(device.enqueue(MD_OP_CONVERT, {device.blank({3}, MD_F64), device.blank({3}, MD_BF16)}), 0);
  EXPECT_THAT(device.provider_error(), ::testing::HasSubstr("expected f32 on one side"));
}

TEST(Convert, NoElementsIsServed) {
  Device device;
  device.run(MD_OP_CONVERT, {device.blank({0}, MD_F32), device.blank({0}, MD_BF16)});
}

TEST(Convert, SaturationTakesFiniteNumbersToTheLargestAndLeavesInfinity) {
  Device device;
  const std::vector<float> values{3e38f, -3e38f, INFINITY, 65519.0f, 65520.0f};
  md_params params{};
  params.saturate = 1;
  const md_tensor from = device.upload_bytes({5}, MD_F32, values.data()), to = device.blank({5}, MD_F16);
  device.run(MD_OP_CONVERT, {from, to}, params);
  // 65504 is the largest; halfway to the next power, 65520, would be rounded to infinity.
  EXPECT_THAT(device.read_as<std::uint16_t>(to), ElementsAreArray({0x7bff, 0xfbff, 0x7c00, 0x7bff, 0x7bff}));
  device.run(MD_OP_CONVERT, {from, to});
  EXPECT_THAT(device.read_as<std::uint16_t>(to), ElementsAreArray({0x7c00, 0xfc00, 0x7c00, 0x7bff, 0x7c00}));
}

}  // namespace
}  // namespace moediff::test
