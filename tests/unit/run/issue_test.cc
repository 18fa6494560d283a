#include "harness/run/issue.h"

#include <gtest/gtest.h>

#include <cstring>

#include "harness/run/failure.h"
#include "harness/run/image.h"
#include "tests/unit/run/toy.h"

namespace moediff {
namespace {

TEST(TensorOf, ADenseOperandIsRowMajor) {
  std::byte memory[4096];
  const Operand operand{0, {16, 1, 2 * 3 * 4 * 4, 0}, DType::f32, {2, 3, 4}, {}};
  const md_tensor tensor = tensor_of(operand, memory);
  EXPECT_EQ(tensor.data, memory + 16);
  EXPECT_EQ(tensor.dtype, MD_F32);
  EXPECT_EQ(tensor.rank, 3);
  EXPECT_EQ(tensor.shape[0], 2);
  EXPECT_EQ(tensor.stride[0], 12);
  EXPECT_EQ(tensor.stride[1], 4);
  EXPECT_EQ(tensor.stride[2], 1);
}

TEST(TensorOf, AStridedOperandHasItsRegionsStrideInElements) {
  std::byte memory[4096];
  const Operand operand{0, {8, 5, 3 * 2, 10 * 2}, DType::bf16, {5, 3}, {}};
  const md_tensor tensor = tensor_of(operand, memory);
  EXPECT_EQ(tensor.stride[0], 10);
  EXPECT_EQ(tensor.stride[1], 1);
}

TEST(TensorOf, DenseRowsOfAFlattenedTensorAreRowMajor) {
  std::byte memory[4096];
  const Operand operand{0, {0, 6, 4, 4}, DType::i32, {2, 3}, {}};
  EXPECT_EQ(tensor_of(operand, memory).stride[0], 3);
}

TEST(TensorOf, AnAbsentOperandHasNoData) { EXPECT_EQ(tensor_of(Operand{}, nullptr).data, nullptr); }

TEST(InitialImage, ValuesLieInTheirRegionsAndPoisonBetween) {
  Program program = toy::program();
  program.values[1].region = {4, 3, 20, 32};
  program.buffers[toy::kRouted].bytes = 100;
  const auto inputs = toy::inputs();
  const std::vector<std::byte> image = initial_image(program, toy::kRouted, *inputs);
  ASSERT_EQ(image.size(), 100u);
  EXPECT_EQ(std::memcmp(image.data() + 4 + 2 * 32, inputs->at("routed").data.data() + 2 * 20, 20), 0);
  EXPECT_EQ(image[3], std::byte{0xFF});
  EXPECT_EQ(image[24], std::byte{0xFF});
  EXPECT_EQ(image[99], std::byte{0xFF});
}

TEST(InitialImage, AChunkTakesItsRowsOfTheInput) {
  Program program = toy::program();
  program.values[0].shape = {2, toy::kHidden};
  program.values[0].region = {0, 1, 40, 0};
  program.values[0].row_offset = 1;
  const auto inputs = toy::inputs();
  const std::vector<std::byte> image = initial_image(program, toy::kHiddenStates, *inputs);
  EXPECT_EQ(std::memcmp(image.data(), inputs->at("hidden").data.data() + 20, 40), 0);
}

TEST(InitialImage, ABufferWithoutInitialValuesHasNone) {
  EXPECT_TRUE(initial_image(toy::program(), toy::kMoeOut, *toy::inputs()).empty());
}

TEST(InitialImage, AMissingOrWrongInputIsAnError) {
  Inputs inputs = *toy::inputs();
  inputs["hidden"] = Tensor(DType::bf16, {toy::kTokens, toy::kHidden});
  inputs.erase("shared");
  EXPECT_THROW(initial_image(toy::program(), toy::kHiddenStates, inputs), RunFailure);
  EXPECT_THROW(initial_image(toy::program(), toy::kShared, inputs), RunFailure);
}

}  // namespace
}  // namespace moediff
