// Attention by hand where numbers are few, against DeepSeek's absorbed form of it where they are many.
#include "reference/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/reference/decoder_parts.h"

namespace moediff::reference {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

TEST(RmsNorm, DividesByTheRootOfTheMeanSquare) {
  const std::vector<double> x{1, 7, 2, -14};  // mean squares 25 and 100
  EXPECT_THAT(rms_norm(x, std::vector<double>{1, 10}, 0),
              ElementsAre(DoubleEq(0.2), DoubleEq(14), DoubleEq(0.2), DoubleEq(-14)));
  EXPECT_THAT(rms_norm(std::vector<double>{1, 7}, std::vector<double>{1, 1}, 11),
              ElementsAre(DoubleEq(1.0 / 6), DoubleEq(7.0 / 6)));
  EXPECT_THAT(rms_norm(std::vector<double>{0, 0}, std::vector<double>{1, 1}, 1e-6), ElementsAre(0, 0));
  EXPECT_THROW(rms_norm(x, std::vector<double>{1, 1, 1}, 0), std::logic_error);
}

// The second query weighs its two entries as e^0 : e^(ln 3).
TEST(Attend, WeighsThePastAndItself) {
  const KvCache cache{{0, std::log(3.0)}, {4, 8}, 2};
  const Attended out = attend(std::vector<double>{1, 1}, 2, cache, {1, 1, 1, 1, 1});
  EXPECT_THAT(out.probs, ElementsAre(1, 0, DoubleEq(0.25), DoubleEq(0.75)));
  EXPECT_THAT(out.out, ElementsAre(4, 7));
  const Attended half = attend(std::vector<double>{2}, 1, cache, {1, 1, 1, 1, 0.5});
  EXPECT_THAT(half.out, ElementsAre(7)) << "the scale multiplies the product";
}

TEST(Attend, SurvivesScoresOfAnySize) {
  const KvCache cache{{1000, 998}, {1, 0}, 2};
  EXPECT_DOUBLE_EQ(attend(std::vector<double>{1}, 1, cache, {1, 1, 1, 1, 1}).out[0], 1 / (1 + std::exp(-2.0)));
}

TEST(Attend, GroupsOfHeadsShareKeysAndValues) {
  const KvCache cache{{0, 0}, {10, 20}, 1};
  EXPECT_THAT(attend(std::vector<double>(4, 1.0), 1, cache, {4, 2, 1, 1, 1}).out, ElementsAre(10, 10, 20, 20));
  EXPECT_THROW(attend(std::vector<double>(3, 1.0), 1, cache, {3, 2, 1, 1, 1}), std::logic_error);
}

// One token attends to itself alone, so that only the values matter: latent 2, normalised to 1, times 3; value 33.
TEST(Mla, ASingleTokenGetsItsOwnValue) {
  MlaAttention w;
  w.heads = 1, w.nope_dim = 1, w.rope_dim = 2, w.value_dim = 1, w.kv_rank = 1, w.epsilon = 0;
  w.q = {std::vector<double>(6, 1.0), 3, 2};
  w.kv_a = {std::vector<double>{1, 0, 0, 1, 1, 1}, 3, 2};
  w.kv_a_norm = {3};
  w.kv_b = {std::vector<double>{7, 11}, 2, 1};
  w.o = {std::vector<double>{1, -1}, 2, 1};
  KvCache cache;
  const AttentionTrace trace = attention(w, std::vector<double>{2, 5}, 1, 0, cache);
  EXPECT_THAT(trace.kv_a, ElementsAre(2, 5, 7));
  EXPECT_THAT(trace.kv, ElementsAre(21, 33));
  EXPECT_THAT(trace.out, ElementsAre(33, -33));
  EXPECT_THAT(cache.keys, ElementsAre(21, 5, 7)) << "rotated by nothing at position 0";
}

/// Scores of the absorbed form: (W_k^T q_nope) · latent + q_rope · k_rope, as DeepSeek's code computes them.
double absorbed_score(const MlaAttention& w, const AttentionTrace& trace, std::int64_t q, std::int64_t k,
                      std::int64_t head) {
  const auto at = [](const std::vector<double>& all, std::int64_t i) { return all[static_cast<std::size_t>(i)]; };
  const std::int64_t dim = w.nope_dim + w.rope_dim, query = (q * w.heads + head) * dim;
  double score = 0;
  for (std::int64_t c = 0; c < w.kv_rank; ++c) {
    double absorbed = 0;
    for (std::int64_t d = 0; d < w.nope_dim; ++d) {
      absorbed += at(trace.q, query + d) * w.kv_b.column(c)[head * (w.nope_dim + w.value_dim) + d];
    }
    score += absorbed * at(trace.kv_a_norm, k * w.kv_rank + c);
  }
  for (std::int64_t i = 0; i < w.rope_dim; i += 2) {  // the angle between the two, turned by their distance
    const double angle = static_cast<double>(q - k) * rope_frequencies(w.rope)[static_cast<std::size_t>(i / 2)];
    const double a = at(trace.q, query + w.nope_dim + i), b = at(trace.q, query + w.nope_dim + i + 1);
    const std::int64_t key = k * (w.kv_rank + w.rope_dim) + w.kv_rank + i;
    const double c = at(trace.kv_a, key), d = at(trace.kv_a, key + 1);
    score += (a * c + b * d) * std::cos(angle) + (a * d - b * c) * std::sin(angle);
  }
  return score * softmax_scale(dim, w.rope);
}

TEST(Mla, ProbabilitiesAreThoseOfTheAbsorbedForm) {
  for (const std::int64_t q_rank : {0, 3}) {
    const MlaAttention w = mla_of_numbers(q_rank);
    KvCache cache;
    const std::int64_t rows = 4;
    const AttentionTrace trace = attention(w, numbers(rows * kHidden, 7), rows, 5, cache);
    for (std::int64_t head = 0; head < w.heads; ++head) {
      for (std::int64_t q = 0; q < rows; ++q) {
        double sum = 0;
        for (std::int64_t k = 0; k <= q; ++k) sum += std::exp(absorbed_score(w, trace, q, k, head));
        for (std::int64_t k = 0; k <= q; ++k) {
          const double prob = trace.probs[static_cast<std::size_t>((head * rows + q) * rows + k)];
          EXPECT_NEAR(prob, std::exp(absorbed_score(w, trace, q, k, head)) / sum, 1e-14);
        }
      }
    }
  }
}

TEST(Gqa, NormalisesEachHeadBeforeItTurns) {
  GqaAttention w;
  w.heads = 1, w.kv_heads = 1, w.head_dim = 2, w.epsilon = 0;
  w.rope = {2, 10000, RopeLayout::halves, std::nullopt};
  const std::vector<double> identity{1, 0, 0, 1};
  w.q = w.k = w.v = w.o = Matrix(identity, 2, 2);
  w.q_norm = w.k_norm = {1, 10};
  KvCache cache;
  const AttentionTrace trace = attention(w, std::vector<double>{1, 7}, 1, 2, cache);
  EXPECT_THAT(cache.keys, ElementsAre(DoubleEq(0.2 * std::cos(2.0) - 14 * std::sin(2.0)),
                                      DoubleEq(14 * std::cos(2.0) + 0.2 * std::sin(2.0))));
  EXPECT_THAT(cache.values, ElementsAre(1, 7)) << "values neither";
  EXPECT_THAT(trace.out, ElementsAre(1, 7));
}

TEST(Attention, TokenByTokenWithACacheGivesTheSameBits) {
  for (const Attention& w : {Attention(mla_of_numbers(3)), Attention(gqa_of_numbers())}) {
    const std::int64_t rows = 5;
    const std::vector<double> x = numbers(rows * kHidden, 3);
    KvCache whole, stepwise;
    const AttentionTrace all = attention(w, x, rows, 0, whole);
    std::vector<double> steps;
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto token = std::span(x).subspan(static_cast<std::size_t>(row * kHidden), kHidden);
      const std::vector<double> out = attention(w, token, 1, row, stepwise).out;
      steps.insert(steps.end(), out.begin(), out.end());
    }
    EXPECT_EQ(steps, all.out);
    EXPECT_EQ(stepwise.length, rows);
  }
}

}  // namespace
}  // namespace moediff::reference
