// Wrong calls are refused with a text that names op, operand, expected and found; nothing is enqueued.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/kernels/ops/naive.h"

namespace moediff::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

md_params split(int ranges) {
  md_params params = scalars();
  params.split_k = ranges;
  return params;
}

class Operands : public ::testing::Test {
 protected:
  Device device;
  md_tensor x(std::vector<std::int64_t> shape) { return device.blank(shape, MD_BF16); }
  md_tensor f32(std::vector<std::int64_t> shape) { return device.blank(shape, MD_F32); }
  md_tensor i32(std::vector<std::int64_t> shape) { return device.blank(shape, MD_I32); }

  std::vector<md_tensor> gemm1() { return {x({3, 8}), i32({6}), i32({5}), x({4, 10, 8}), x({6, 10}), absent()}; }
  std::vector<md_tensor> router() { return {x({3, 8}), x({4, 8}), f32({4}), f32({3, 4}), i32({3, 2}), f32({3, 2})}; }

  void expect_refused(md_op op, const std::vector<md_tensor>& tensors, const std::string& a, const std::string& b,
                      const md_params& params = routing(2, 2, 1, true, 1.0f)) {
    EXPECT_NE(device.enqueue(op, tensors, params), 0);
    EXPECT_THAT(device.provider_error(), AllOf(HasSubstr(a), HasSubstr(b)));
  }
};

TEST_F(Operands, ThatAreRightAreAccepted) {
  EXPECT_EQ(device.enqueue(MD_OP_GEMM1, gemm1()), 0) << device.provider_error();
  EXPECT_EQ(device.enqueue(MD_OP_ROUTER, router(), routing(2, 2, 1, true, 1.0f)), 0) << device.provider_error();
}

TEST_F(Operands, OfAnotherShapeAreNamedWithExpectedAndFound) {
  std::vector<md_tensor> tensors = gemm1();
  tensors[MD_GEMM1_W13] = x({4, 10, 7});
  expect_refused(MD_OP_GEMM1, tensors, "gemm1: operand w13: expected [E=4, 2I, H=8]", "found [4, 10, 7]");
  tensors = gemm1();
  tensors[MD_GEMM1_OFFSETS] = i32({6});
  expect_refused(MD_OP_GEMM1, tensors, "w13: expected [E=5", "found [4, 10, 8]");
  tensors = gemm1();
  tensors[MD_GEMM1_SLOTS] = i32({7});
  tensors[MD_GEMM1_OUT] = x({7, 10});
  expect_refused(MD_OP_GEMM1, tensors, "sorted_slots: expected a multiple of T=3 slots", "found 7");
}

TEST_F(Operands, OfTheSlotsMustBeOneForEachTokenAndColumn) {
  expect_refused(MD_OP_DISPATCH, {i32({3, 2}), i32({5}), i32({6}), i32({5})}, "slot_rows: expected [R=6]", "found [5]");
  expect_refused(MD_OP_COMBINE, {x({6, 8}), i32({6}), f32({3, 3}), x({3, 8})}, "topk_weights", "found [3, 3]");
}

TEST_F(Operands, OfAnotherDtypeAreNamed) {
  std::vector<md_tensor> tensors = gemm1();
  tensors[MD_GEMM1_OUT] = f32({6, 10});
  expect_refused(MD_OP_GEMM1, tensors, "gemm1_out: expected bf16", "found f32");
  tensors = router();
  tensors[MD_ROUTER_IDS] = f32({3, 2});
  expect_refused(MD_OP_ROUTER, tensors, "topk_ids: expected i32", "found f32");
}

TEST_F(Operands, OfAnOddNumberOfGateAndUpColumnsAreRefused) {
  expect_refused(MD_OP_ACTIVATION, {x({3, 9}), x({3, 4})}, "activation: operand gemm1_out", "found [3, 9]");
}

TEST_F(Operands, ThatAreMissingAreNamed) {
  std::vector<md_tensor> tensors = gemm1();
  tensors[MD_GEMM1_W13].data = nullptr;
  expect_refused(MD_OP_GEMM1, tensors, "w13: expected device memory", "null");
  expect_refused(MD_OP_SCALE_ADD, {x({2, 2}), absent()}, "scale_add", "found 2");
}

TEST_F(Operands, WhoseColumnsAreApartOrRowsOverlapAreRefused) {
  std::vector<md_tensor> tensors = {x({3, 8}), x({3, 8}), x({3, 8})};
  tensors[0].stride[1] = 2;
  expect_refused(MD_OP_RESIDUAL_ADD, tensors, "moe_out: expected columns with stride 1", "[8, 2]");
  tensors[0].stride[1] = 1;
  tensors[0].stride[0] = 7;
  expect_refused(MD_OP_RESIDUAL_ADD, tensors, "row strides of at least 8", "[7, 1]");
}

TEST_F(Operands, SplitKNeedsAWorkspace) {
  expect_refused(MD_OP_GEMM1, gemm1(), "workspace: expected device memory of [P=2, R=6, 2I=10], as split_k is 2",
                 "none", split(2));
  std::vector<md_tensor> tensors = gemm1();
  tensors[MD_GEMM1_WORKSPACE] = f32({3, 6, 10});
  expect_refused(MD_OP_GEMM1, tensors, "workspace: expected [P=2, R=6, 2I=10]", "found [3, 6, 10]", split(2));
  expect_refused(MD_OP_GEMM1, gemm1(), "split_k: expected at least 1", "found 0", split(0));
}

TEST_F(Operands, RouterParametersMustFitTheExperts) {
  expect_refused(MD_OP_ROUTER, router(), "n_group: expected a divisor of the 4 experts", "found 3",
                 routing(2, 3, 1, true, 1.0f));
  expect_refused(MD_OP_ROUTER, router(), "topk_group: expected 1 to n_group=2", "found 3",
                 routing(2, 2, 3, true, 1.0f));
  std::vector<md_tensor> tensors = router();
  tensors[MD_ROUTER_IDS] = i32({3, 3});
  tensors[MD_ROUTER_WEIGHTS] = f32({3, 3});
  expect_refused(MD_OP_ROUTER, tensors, "top_k: expected 1 to 2", "found 3", routing(3, 2, 1, true, 1.0f));
}

TEST_F(Operands, PoliciesOutsideTheirEnumerationsAreNamed) {
  const auto refused = [&](md_op op, const std::vector<md_tensor>& tensors, const std::string& text, auto change) {
    md_params params = routing(2, 2, 1, true, 1.0f);
    change(params);
    expect_refused(op, tensors, text, "found", params);
  };
  refused(MD_OP_ROUTER, router(), "scoring: expected 0 to 1", [](md_params& p) { p.scoring = 2; });
  refused(MD_OP_ROUTER, router(), "weight_from: expected 0 to 2", [](md_params& p) { p.weight_from = 3; });
  const std::vector<md_tensor> activation{x({3, 8}), x({3, 4})};
  refused(MD_OP_ACTIVATION, activation, "activation: expected 0 to 4", [](md_params& p) { p.activation = 5; });
  refused(MD_OP_ACTIVATION, activation, "limit: expected above 0", [](md_params& p) { p.activation = MD_SWIGLUOAI; });
  const std::vector<md_tensor> combine{x({6, 8}), i32({6}), f32({3, 2}), x({3, 8})};
  refused(MD_OP_COMBINE, combine, "sum: expected 0 to 1", [](md_params& p) { p.sum = 2; });
  refused(MD_OP_COMBINE, combine, "scheme: expected 0 to 6", [](md_params& p) { p.scheme = 1 << 20; });
}

TEST_F(Operands, ThatMayBeLeftOutAreAcceptedBothWays) {
  EXPECT_EQ(device.enqueue(MD_OP_COMBINE, {x({0, 8}), i32({0}), absent(), x({0, 8})}), 0) << device.provider_error();
  std::vector<md_tensor> tensors = router();
  tensors[MD_ROUTER_BIAS] = absent();
  EXPECT_EQ(device.enqueue(MD_OP_ROUTER, tensors, routing(2, 2, 1, true, 1.0f)), 0) << device.provider_error();
  tensors[MD_ROUTER_LOGITS] = x({3, 4});
  EXPECT_EQ(device.enqueue(MD_OP_ROUTER, tensors, routing(2, 2, 1, true, 1.0f)), 0) << device.provider_error();
}

TEST_F(Operands, ARouterThatDoesNotFitIntoSharedMemoryIsRefused) {
  const std::int64_t experts = 16384;
  expect_refused(MD_OP_ROUTER, {x({1, 1}), x({experts, 1}), absent(), f32({1, experts}), i32({1, 1}), f32({1, 1})},
                 "experts + n_group + top_k: expected 1 to 16384", "16386", routing(1, 1, 1, true, 1.0f));
}

TEST_F(Operands, OfAConversionAreF32OnOneSide) {
  expect_refused(MD_OP_CONVERT, {x({5}), device.blank({5}, MD_F16)}, "convert", "f32 on one side");
  EXPECT_EQ(device.enqueue(MD_OP_CONVERT, {f32({5}), device.blank({5}, MD_F8_E5M2)}), 0) << device.provider_error();
}

TEST_F(Operands, OfAnUnknownOpOrAnOlderCallAreRefused) {
  expect_refused(MD_OP_COUNT, {}, "op 19", "md_op");
  const md_call call{8, MD_OP_ROUTER, nullptr, 0, {}, nullptr};
  EXPECT_NE(device.provider().call(&call), 0);
  EXPECT_THAT(device.provider_error(), HasSubstr("found 8"));
}

TEST_F(Operands, OfARefusedCallAreLeftAlone) {
  const std::vector<md_tensor> tensors = {x({2, 4}), x({2, 3})};
  EXPECT_NE(device.enqueue(MD_OP_ACTIVATION, tensors), 0);
  EXPECT_EQ(device.synchronize(), 0);
  EXPECT_THAT(device.bytes(tensors[1]), ::testing::Each(0xFF));
}

}  // namespace
}  // namespace moediff::test
