// Every faulty variant does what its name says, and nothing else; selecting is strict.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "tests/unit/kernels/ops/naive.h"

namespace moediff::test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;

/// A gemm1 of one expert: 3 tokens, one slot each.
struct Gemm1 {
  Array a = integers({3, 16}, 1), w = integers({1, 6, 16}, 2), slots{{3}, {0, 1, 2}}, offsets{{2}, {0, 3}};
  md_tensor hidden, out;
  explicit Gemm1(Device& device) : hidden(device.upload(a, MD_BF16, 2)), out(device.blank({3, 6}, MD_BF16)) {
    device.run(MD_OP_GEMM1, {hidden, device.upload(slots, MD_I32), device.upload(offsets, MD_I32),
                             device.upload(w, MD_BF16), out, absent()});
  }
  std::vector<double> expected() const { return rounded(naive_gemm(a, w, &slots, 1, &offsets), MD_BF16).values; }
};

/// A combine of 3 tokens with two slots each onto the hidden size of Gemm1.
struct Combine {
  Array in = integers({6, 16}, 3), rows{{6}, {5, 4, 3, 2, 1, 0}}, weights = constant({3, 2}, 0.5);
  md_tensor out;
  explicit Combine(Device& device) : out(device.blank({3, 16}, MD_BF16)) {
    device.run(MD_OP_COMBINE,
               {device.upload(in, MD_BF16), device.upload(rows, MD_I32), device.upload(weights, MD_F32), out});
  }
  std::vector<double> expected() const { return rounded(naive_combine(in, rows, &weights, 2), MD_BF16).values; }
};

/// A gemm2 of one expert in whose act and output buffers other data follows.
struct Gemm2 {
  Array a = integers({3, 16}, 4), w = integers({1, 16, 16}, 5), offsets{{2}, {0, 3}};
  md_tensor act_memory, out_memory, out;
  explicit Gemm2(Device& device)
      : act_memory(device.upload(constant({20, 16}, 0), MD_BF16)),
        out_memory(device.blank({20, 16}, MD_BF16)),
        out(rows_of(out_memory, 0, 3)) {
    std::vector<std::uint16_t> bits;
    for (const double v : a.values) bits.push_back(static_cast<std::uint16_t>(bits_of(v, MD_BF16)));
    EXPECT_EQ(device.backend().copy_in(act_memory.data, bits.data(), static_cast<std::int64_t>(bits.size() * 2)), 0);
  }
  void run(Device& device) {
    device.run(MD_OP_GEMM2,
               {rows_of(act_memory, 0, 3), device.upload(offsets, MD_I32), device.upload(w, MD_BF16), out});
  }
  std::vector<double> expected() const { return rounded(naive_gemm(a, w, nullptr, 1, &offsets), MD_BF16).values; }
};

TEST(Variants, ThatAreUnknownAreRefusedWithTheKnownOnes) {
  Device device;
  EXPECT_NE(device.select("combine=alias9"), 0);
  EXPECT_THAT(device.provider_error(),
              AllOf(HasSubstr("'combine=alias9'"), HasSubstr("combine=alias1"), HasSubstr("gemm1=static_scratch"),
                    HasSubstr("shared_gemm1=static_scratch"), HasSubstr("router=wrong_expert")));
  EXPECT_NE(device.select("combine=alias1,gemm9=alias2"), 0);
  EXPECT_NE(device.select("combine"), 0);
}

TEST(Variants, SelectionReplacesTheOneBefore) {
  Device device;
  ASSERT_EQ(device.select("gemm1=alias2,combine=alias1"), 0);
  ASSERT_EQ(device.select(""), 0);
  const Gemm1 gemm1(device);
  const Combine combine(device);
  EXPECT_THAT(device.read(gemm1.hidden).values, ElementsAreArray(gemm1.a.values));
}

TEST(Variants, ARefusedSelectionChangesNothing) {
  Device device;
  ASSERT_EQ(device.select("gemm1=alias2"), 0);
  EXPECT_NE(device.select("nothing=at_all"), 0);
  const Gemm1 gemm1(device);
  EXPECT_THAT(device.read(gemm1.hidden).values, Not(ElementsAreArray(gemm1.a.values)));
}

TEST(Variants, CombineAlias1AlsoWritesItsResultOverTheTokensOfGemm1) {
  Device device;
  ASSERT_EQ(device.select("combine=alias1"), 0);
  const Gemm1 gemm1(device);
  EXPECT_THAT(device.read(gemm1.hidden).values, ElementsAreArray(gemm1.a.values));
  const Combine combine(device);
  EXPECT_THAT(device.read(combine.out).values, ElementsAreArray(combine.expected()));
  EXPECT_THAT(device.read(gemm1.hidden).values, ElementsAreArray(combine.expected()));
}

TEST(Variants, Gemm1Alias2HalvesItsTokensAfterARightResult) {
  Device device;
  ASSERT_EQ(device.select("gemm1=alias2"), 0);
  const Gemm1 gemm1(device);
  EXPECT_THAT(device.read(gemm1.out).values, ElementsAreArray(gemm1.expected()));
  std::vector<double> halves = gemm1.a.values;
  for (double& v : halves) v /= 2;
  EXPECT_THAT(device.read(gemm1.hidden).values, ElementsAreArray(halves));
}

TEST(Variants, StaticScratchIsRightAloneWithoutAWorkspace) {
  Device device;
  ASSERT_EQ(device.select("gemm1=static_scratch,shared_gemm1=static_scratch"), 0);
  const Gemm1 gemm1(device);
  EXPECT_THAT(device.read(gemm1.out).values, ElementsAreArray(gemm1.expected()));
  const Array w = integers({8, 16}, 6);
  const md_tensor out = device.blank({3, 8}, MD_F32);
  device.run(MD_OP_SHARED_GEMM1, {device.upload(gemm1.a, MD_F32), device.upload(w, MD_F32), out, absent()});
  EXPECT_THAT(device.read(out).values, ElementsAreArray(naive_gemm(gemm1.a, w, nullptr, 1, nullptr).values));
}

TEST(Variants, StaticScratchLeavesTheWorkspaceAlone) {
  Device device;
  ASSERT_EQ(device.select("shared_gemm1=static_scratch"), 0);
  const md_tensor workspace = device.blank({3, 2, 4}, MD_F32);
  md_params params = scalars();
  params.split_k = 3;
  device.run(MD_OP_SHARED_GEMM1,
             {device.upload(integers({2, 5}, 7), MD_F32), device.upload(integers({4, 5}, 8), MD_F32),
              device.blank({2, 4}, MD_F32), workspace},
             params);
  EXPECT_THAT(device.bytes(workspace), Each(0xFF));
}

TEST(Variants, StaticScratchRefusesWhatItCannotHold) {
  Device device;
  ASSERT_EQ(device.select("shared_gemm1=static_scratch"), 0);
  const md_tensor out = device.blank({1200, 1000}, MD_BF16);
  EXPECT_NE(device.enqueue(MD_OP_SHARED_GEMM1,
                           {device.blank({1200, 1}, MD_BF16), device.blank({1000, 1}, MD_BF16), out, absent()}),
            0);
  EXPECT_THAT(device.provider_error(), AllOf(HasSubstr("2097152"), HasSubstr("2400000")));
}

TEST(Variants, ResidualAddScribblesZeroesTheMiddleThirdOfItsInput) {
  Device device;
  ASSERT_EQ(device.select("residual_add=scribbles"), 0);
  const Array moe = constant({4, 6}, 2);
  const md_tensor in = device.upload(moe, MD_BF16, 1), out = device.blank({4, 6}, MD_BF16);
  device.run(MD_OP_RESIDUAL_ADD, {in, device.upload(constant({4, 6}, 1), MD_BF16), out});
  EXPECT_THAT(device.read(out).values, Each(3));
  const Array after = device.read(in);
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(after.values[i], i >= 8 && i < 16 ? 0 : 2) << i;
}

TEST(Variants, Gemm2WrongMathDropsTheLastProduct) {
  Device device;
  ASSERT_EQ(device.select("gemm2=wrong_math"), 0);
  Gemm2 gemm2(device);
  gemm2.run(device);
  EXPECT_THAT(device.read(gemm2.out).values, Not(ElementsAreArray(gemm2.expected())));
  for (std::size_t row = 0; row < 3; ++row) gemm2.a.values[row * 16 + 15] = 0;
  EXPECT_THAT(device.read(gemm2.out).values, ElementsAreArray(gemm2.expected()));
}

TEST(Variants, Gemm2OutOfBoundsWritesOneElementBeyondItsOutput) {
  Device device;
  ASSERT_EQ(device.select("gemm2=out_of_bounds"), 0);
  Gemm2 gemm2(device);
  gemm2.run(device);
  EXPECT_THAT(device.read(gemm2.out).values, ElementsAreArray(gemm2.expected()));
  const std::vector<std::uint8_t> memory = device.bytes(gemm2.out_memory);
  for (std::size_t i = 3 * 16; i < 20 * 16; ++i) {
    const bool hit = i == 3 * 16 + 64;
    EXPECT_EQ(memory[2 * i] | memory[2 * i + 1] << 8, hit ? 0x3f80 : 0xffff) << "element " << i;
  }
}

TEST(Variants, Gemm2ReadsOutOfBoundsDependsOnWhatFollowsItsInput) {
  Device device;
  ASSERT_EQ(device.select("gemm2=reads_out_of_bounds"), 0);
  Gemm2 gemm2(device);
  gemm2.run(device);
  EXPECT_THAT(device.read(gemm2.out).values, ElementsAreArray(gemm2.expected()));
  const std::uint16_t nan = 0xffff;
  ASSERT_EQ(device.backend().copy_in(static_cast<std::uint16_t*>(gemm2.act_memory.data) + 3 * 16 + 64, &nan, 2), 0);
  gemm2.run(device);
  EXPECT_THAT(device.read(gemm2.out).values[0], ::testing::IsNan());
}

TEST(Variants, RouterWrongExpertTakesTheNextBestInsteadOfTheLast) {
  Device device;
  const Array logits{{1, 4}, {1, 4, 2, 3}};
  Array gate = constant({4, 4}, 0);
  for (int e = 0; e < 4; ++e) gate.values[e * 5] = 1;
  const auto ids_with = [&](const std::string& variant) {
    EXPECT_EQ(device.select(variant), 0);
    const md_tensor ids = device.blank({1, 2}, MD_I32);
    device.run(MD_OP_ROUTER,
               {device.upload(logits, MD_BF16), device.upload(gate, MD_BF16), device.upload(constant({4}, 0), MD_F32),
                device.blank({1, 4}, MD_F32), ids, device.blank({1, 2}, MD_F32)},
               routing(2, 1, 1, true, 1.0f));
    return device.read(ids).values;
  };
  EXPECT_THAT(ids_with(""), ::testing::ElementsAre(1, 3));
  EXPECT_THAT(ids_with("router=wrong_expert"), ::testing::ElementsAre(1, 2));
}

TEST(Variants, OfAModelDtypeThatTheyDoNotHaveSaySo) {
  Device device;
  ASSERT_EQ(device.select("residual_add=scribbles"), 0);
  const md_tensor x = device.blank({2, 3}, MD_F16);
  EXPECT_NE(device.enqueue(MD_OP_RESIDUAL_ADD, {x, x, x}), 0);
  EXPECT_THAT(device.provider_error(),
              AllOf(HasSubstr("residual_add"), HasSubstr("f32 or bf16 for this kernel"), HasSubstr("found f16")));
}

TEST(Variants, ThatWriteOverTheTokensRefuseQuantisedOnes) {
  Device device;
  ASSERT_EQ(device.select("gemm1=alias2"), 0);
  md_params params = scalars();
  params.scheme = MD_SCHEME_INT8_CHANNEL;
  EXPECT_NE(device.enqueue(MD_OP_GEMM1,
                           {device.blank({3, 16}, MD_I8), device.blank({3}, MD_I32), device.blank({2}, MD_I32),
                            device.blank({1, 6, 16}, MD_I8), device.blank({3, 6}, MD_BF16), absent(),
                            device.blank({3, 1}, MD_F32), device.blank({1, 6, 1}, MD_F32)},
                           params),
            0);
  EXPECT_THAT(device.provider_error(), HasSubstr("gemm1=alias2: needs tokens in the model dtype"));
}

TEST(Variants, CombineNondeterministicIsWrongInEachSecondCall) {
  Device device;
  ASSERT_EQ(device.select("combine=nondeterministic"), 0);
  const Combine first(device), second(device), third(device);
  EXPECT_THAT(device.read(first.out).values, ElementsAreArray(first.expected()));
  EXPECT_THAT(device.read(third.out).values, ElementsAreArray(first.expected()));
  Array larger = naive_combine(second.in, second.rows, &second.weights, 2);
  for (double& v : larger.values) v *= 1 + 0x1p-7;
  EXPECT_THAT(device.read(second.out).values, ElementsAreArray(rounded(larger, MD_BF16).values));
}

TEST(Variants, ASelectionForgetsTheCallsBefore) {
  Device device;
  ASSERT_EQ(device.select("combine=nondeterministic"), 0);
  const Combine first(device);
  ASSERT_EQ(device.select("combine=nondeterministic"), 0);
  const Combine second(device);
  EXPECT_THAT(device.read(first.out).values, ElementsAreArray(first.expected()));
  EXPECT_THAT(device.read(second.out).values, ElementsAreArray(second.expected()));
}

TEST(Variants, ActivationReadsUndeclaredAddsAThousandthOfAToken) {
  Device device;
  ASSERT_EQ(device.select("activation=reads_undeclared"), 0);
  const Gemm1 gemm1(device);
  ASSERT_NE(gemm1.a.values[0], 0);
  const md_tensor out = device.blank({2, 3}, MD_BF16);
  device.run(MD_OP_ACTIVATION, {device.upload(constant({2, 6}, 0), MD_BF16), out});
  EXPECT_THAT(device.read(out).values, Each(rounded(1e-3 * gemm1.a.values[0], MD_BF16)));
}

int run_activation(Device& device, md_op op, const std::string& variant) {
  EXPECT_EQ(device.select(variant), 0);
  EXPECT_EQ(device.enqueue(op, {device.upload(constant({2, 6}, 1), MD_BF16), device.blank({2, 3}, MD_BF16)}), 0);
  return device.synchronize();
}

TEST(VariantsDeathTest, ActivationCrashEndsTheProcess) {
  EXPECT_DEATH(
      {
        Device device;
        run_activation(device, MD_OP_ACTIVATION, "activation=crash");
      },
      "");
}

TEST(VariantsDeathTest, ActivationHangDoesNotReturn) {
  EXPECT_EXIT(
      {
        alarm(1);
        Device device;
        run_activation(device, MD_OP_ACTIVATION, "activation=hang");
      },
      ::testing::KilledBySignal(SIGALRM), "");
}

// In a process of its own, as a failed launch stays an error of the device for good.
TEST(VariantsDeathTest, SharedActivationBarrierDivergenceIsADeadlockThatTheRuntimeReports) {
  const auto report = [] {
    Device device;
    const int status = run_activation(device, MD_OP_SHARED_ACTIVATION, "shared_activation=barrier_divergence");
    std::fputs(device.backend().last_error(), stderr);
    std::_Exit(status != 0 ? 3 : 0);
  };
  EXPECT_EXIT(report(), ::testing::ExitedWithCode(3), "__syncthreads");
}

}  // namespace
}  // namespace moediff::test
