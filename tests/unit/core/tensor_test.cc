// Tensors: sizes, conversions, slices.
#include "harness/core/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace moediff {
namespace {

using testing::ElementsAre;

TEST(Shape, CountsElementsAndPrints) {
  EXPECT_EQ(count({}), 1);
  EXPECT_EQ(count({6, 128}), 768);
  EXPECT_EQ(count({6, 0, 3}), 0);
  EXPECT_EQ(to_string(Shape{6, 128}), "[6, 128]");
  EXPECT_EQ(to_string(Shape{}), "[]");
}

TEST(ShapeDeathTest, RefusesNegativeExtentsAndOverflow) {
  EXPECT_DEATH(count({2, -1}), "negative");
  EXPECT_DEATH(count({std::int64_t{1} << 40, std::int64_t{1} << 40}), "fit 64 bits");
}

TEST(Tensor, StartsWithZeros) {
  const Tensor tensor(DType::bf16, {2, 3});
  EXPECT_EQ(tensor.data.size(), 12u);
  EXPECT_THAT(to_doubles(tensor), ElementsAre(0, 0, 0, 0, 0, 0));
}

TEST(FromDoubles, RoundsToEachFormat) {
  const std::vector<double> values{1.0 / 3, -2.5, 1e39};
  EXPECT_THAT(to_doubles(from_doubles(DType::f64, {3}, values)), ElementsAre(1.0 / 3, -2.5, 1e39));
  EXPECT_THAT(to_doubles(from_doubles(DType::f32, {3}, values)), ElementsAre(1.0f / 3.0f, -2.5, HUGE_VAL));
  EXPECT_THAT(to_doubles(from_doubles(DType::bf16, {3}, values)), ElementsAre(0x1.56p-2, -2.5, HUGE_VAL));
}

TEST(FromDoubles, StoresTheBytesOfTheFormat) {
  EXPECT_EQ(from_doubles(DType::bf16, {1}, std::vector<double>{1.0}).as<std::uint16_t>()[0], 0x3f80);
  EXPECT_EQ(from_doubles(DType::f32, {1}, std::vector<double>{1.0}).as<std::uint32_t>()[0], 0x3f800000u);
  EXPECT_EQ(from_doubles(DType::i32, {1}, std::vector<double>{-7}).as<std::int32_t>()[0], -7);
  EXPECT_EQ(from_doubles(DType::u8, {1}, std::vector<double>{255}).as<std::uint8_t>()[0], 255);
}

TEST(FromDoublesDeathTest, DemandsExactIntegers) {
  EXPECT_DEATH(from_doubles(DType::i32, {1}, std::vector<double>{0.5}), "integer");
  EXPECT_DEATH(from_doubles(DType::u8, {1}, std::vector<double>{256}), "integer");
  EXPECT_DEATH(from_doubles(DType::i32, {2}, std::vector<double>{1}), "shape");
}

TEST(ToDoubles, ReadsUnalignedBytes) {
  std::vector<std::byte> bytes(9);
  const float value = -1.5f;
  std::copy_n(reinterpret_cast<const std::byte*>(&value), 4, bytes.begin() + 1);
  EXPECT_THAT(to_doubles(DType::f32, std::span(bytes).subspan(1, 4)), ElementsAre(-1.5));
}

TEST(SliceRows, TakesWholeRowsOfTheFirstDimension) {
  const Tensor tensor = from_doubles(DType::i32, {3, 2}, std::vector<double>{0, 1, 2, 3, 4, 5});
  const Tensor slice = slice_rows(tensor, 1, 3);
  EXPECT_THAT(slice.shape, ElementsAre(2, 2));
  EXPECT_THAT(to_doubles(slice), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(slice_rows(tensor, 2, 2).shape, ElementsAre(0, 2));
}

}  // namespace
}  // namespace moediff
