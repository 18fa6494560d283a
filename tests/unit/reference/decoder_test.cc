// Blocks, layers, models and the MTP module: by hand, and by what must hold whatever the weights.
#include "reference/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/unit/reference/decoder_parts.h"

namespace moediff::reference {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

const std::vector<std::int32_t> kPrompt{3, 1, 4, 1, 5};

double silu(double x) { return x / (1 + std::exp(-x)); }

double largest_difference(std::span<const double> a, std::span<const double> b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

/// Expert e of one hidden element: 2 e silu(x) x.
Moe moe_by_hand() {
  Moe w;
  w.router = {3, 2, 1, 1, true, 10};
  w.gate = {std::vector<double>{0, std::log(3.0), -std::log(3.0)}, 3, 1};  // of x = 1: scores 1/2, 3/4, 1/4
  for (int e = 0; e < 3; ++e) {
    w.gate_up.emplace_back(std::vector<double>{1, 1}, 2, 1);
    w.down.emplace_back(std::vector<double>{2.0 * e}, 1, 1);
  }
  return w;
}

TEST(DenseBlock, MultipliesTheActivatedGateAndUp) {
  const Mlp w{{std::vector<double>{2, 5}, 2, 1}, {std::vector<double>{10}, 1, 1}};
  EXPECT_THAT(mlp(w, std::vector<double>{3}, 1), ElementsAre(DoubleEq(10 * silu(6) * 15)));
}

TEST(MoeBlock, AddsWeightedExpertsAndTheSharedOne) {
  Moe w = moe_by_hand();
  const std::vector<double> x{1};
  MoeTrace trace = moe(w, x, 1);
  EXPECT_THAT(trace.ids, ElementsAre(1, 0));
  EXPECT_THAT(trace.weights, ElementsAre(DoubleEq(6), DoubleEq(4)));  // 10 * (3/4, 1/2) / (5/4)
  EXPECT_THAT(trace.out, ElementsAre(DoubleEq(6 * 2 * silu(1))));
  w.shared.push_back({{std::vector<double>{1, 1}, 2, 1}, {std::vector<double>{100}, 1, 1}});
  trace = moe(w, x, 1);
  EXPECT_THAT(trace.out, ElementsAre(DoubleEq(112 * silu(1))));
}

TEST(MoeBlock, TakesTheExpertsThatItIsTold) {
  const Moe w = moe_by_hand();
  const auto choose = [&](const ExpertQuestion& question) {
    EXPECT_EQ(question.layer, 7);
    EXPECT_EQ(question.first_position, 30);
    EXPECT_EQ(question.routing.ids, (std::vector<std::int32_t>{1, 0}));
    return std::vector<std::int32_t>{2, 1};
  };
  const MoeTrace trace = moe(w, std::vector<double>{1}, 1, 7, 30, choose);
  EXPECT_THAT(trace.weights, ElementsAre(DoubleEq(2.5), DoubleEq(7.5)));
  EXPECT_THAT(trace.out, ElementsAre(DoubleEq((2.5 * 4 + 7.5 * 2) * silu(1))));
}

// One token gets its own value: h = x + o v = (1, 7) + 2 (0.2, 1.4); the block sees h / rms(h) = (0.2, 1.4) again.
TEST(DecoderLayer, AddsAttentionThenTheBlockToItsInput) {
  DecoderLayer layer;
  layer.input_norm = layer.post_norm = {1, 1};
  layer.epsilon = 0;
  GqaAttention w;
  w.heads = 1, w.kv_heads = 1, w.head_dim = 2, w.rope.dim = 2;
  w.q = w.k = w.v = Matrix(std::vector<double>{1, 0, 0, 1}, 2, 2);
  w.o = Matrix(std::vector<double>{2, 0, 0, 2}, 2, 2);
  layer.attention = w;
  layer.block = Mlp{{std::vector<double>{1, 0, 0, 1}, 2, 2}, {std::vector<double>{1, 10}, 2, 1}};
  KvCache cache;
  const LayerTrace trace = decoder_layer(layer, std::vector<double>{1, 7}, 1, 0, {&cache, 1});
  EXPECT_THAT(trace.post_norm, ElementsAre(DoubleEq(0.2), DoubleEq(1.4)));
  const double block = silu(trace.post_norm[0]) * trace.post_norm[1];
  EXPECT_THAT(trace.out, ElementsAre(DoubleEq(1.4 + block), DoubleEq(9.8 + 10 * block)));
}

TEST(DecoderLayer, SequencesDoNotSeeEachOther) {
  const DecoderLayer layer = layer_of_numbers(0, mla_of_numbers(3), 50);
  const std::vector<double> x = numbers(6 * kHidden, 9);
  std::vector<KvCache> both(2), one(1);
  const std::vector<double> together = decoder_layer(layer, x, 6, 0, both).out;
  const std::vector<double> second = decoder_layer(layer, std::span(x).subspan(3 * kHidden), 3, 0, one).out;
  EXPECT_EQ(std::vector<double>(together.begin() + 3 * kHidden, together.end()), second);
  EXPECT_THROW(decoder_layer(layer, std::span(x).first(5 * kHidden), 5, 0, both), std::logic_error);
}

TEST(LanguageModel, TheCacheChangesNeitherTokensNorLogits) {
  const LanguageModel model = model_of_numbers();
  const Generation whole = decode_greedily(model, kPrompt, 12, Decoding::whole);
  const Generation cached = decode_greedily(model, kPrompt, 12, Decoding::cached);
  EXPECT_EQ(whole.tokens, cached.tokens);
  EXPECT_LE(largest_difference(whole.logits, cached.logits), 1e-13);
  EXPECT_GT(std::set<std::int32_t>(whole.tokens.begin(), whole.tokens.end()).size(), 2u) << "not one token for ever";
}

TEST(LanguageModel, EachGeneratedTokenIsTheMostProbableAfterTheOnesBefore) {
  const LanguageModel model = model_of_numbers();
  const Generation generation = decode_greedily(model, kPrompt, 3, Decoding::cached);
  std::vector<std::int32_t> sequence = kPrompt;
  for (const std::int32_t token : generation.tokens) {
    ModelState state;
    const std::vector<double> logits = forward(model, sequence, state).logits;
    EXPECT_EQ(token, argmax(std::span(logits).last(kVocabulary)));
    sequence.push_back(token);
  }
}

TEST(LanguageModel, IsItsLayersThenANormThenTheHead) {
  const LanguageModel model = model_of_numbers();
  ModelState state;
  const ModelTrace trace = forward(model, kPrompt, state);
  ASSERT_EQ(trace.hidden.size(), 4u);
  EXPECT_TRUE(std::equal(trace.hidden[0].begin(), trace.hidden[0].begin() + kHidden,
                         model.embedding.begin() + kPrompt[0] * kHidden));
  KvCache cache;
  EXPECT_EQ(trace.hidden[2], decoder_layer(model.layers[1], trace.hidden[1], 5, 0, {&cache, 1}).out);
  EXPECT_EQ(trace.normed, rms_norm(trace.hidden[3], model.final_norm, model.epsilon));
  EXPECT_EQ(trace.logits, linear(trace.normed, 5, model.head).value);
}

TEST(LanguageModel, LaterTokensDoNotChangeEarlierLogits) {
  const LanguageModel model = model_of_numbers();
  std::vector<std::int32_t> other = kPrompt;
  other.back() = 9;
  ModelState first, second;
  const std::vector<double> a = forward(model, kPrompt, first).logits, b = forward(model, other, second).logits;
  EXPECT_TRUE(std::equal(a.begin(), a.end() - kVocabulary, b.begin()));
  EXPECT_GT(largest_difference(std::span(a).last(kVocabulary), std::span(b).last(kVocabulary)), 0.01);
}

TEST(LanguageModel, RefusesTokensThatItDoesNotKnow) {
  ModelState state;
  EXPECT_THROW(forward(model_of_numbers(), std::vector<std::int32_t>{11}, state), std::logic_error);
  EXPECT_THROW(forward(model_of_numbers(), {}, state), std::logic_error);
}

TEST(Argmax, TakesTheLowestIndexOnATie) { EXPECT_EQ(argmax(std::vector<double>{1, 3, 3, 2}), 1); }

/// A module whose input can be read off: its projection adds 1 times the embedding's half and 100 times the other.
MtpModule mtp_of_numbers() {
  MtpModule module;
  module.embedding = numbers(kVocabulary * kHidden, 90);
  module.embedding_norm = numbers(kHidden, 91);
  module.hidden_norm = numbers(kHidden, 92);
  std::vector<double> projection(2 * kHidden * kHidden);
  for (std::int64_t i = 0; i < kHidden; ++i) {
    projection[static_cast<std::size_t>(i * 2 * kHidden + i)] = 1;
    projection[static_cast<std::size_t>(i * 2 * kHidden + kHidden + i)] = 100;
  }
  module.projection = {projection, kHidden, 2 * kHidden};
  module.layer = layer_of_numbers(61, mla_of_numbers(3), 700);
  module.head_norm = numbers(kHidden, 800);
  module.head = matrix_of_numbers(kVocabulary, kHidden, 801);
  return module;
}

/// The first row of the module's input, for the embedding's and the hidden state's part.
std::vector<double> expected_input(const MtpModule& module, std::int32_t token, std::span<const double> hidden,
                                   double embedding_part) {
  const auto row = std::span(module.embedding).subspan(static_cast<std::size_t>(token) * kHidden, kHidden);
  std::vector<double> out = rms_norm(row, module.embedding_norm, module.epsilon);
  const std::vector<double> h = rms_norm(hidden.first(kHidden), module.hidden_norm, module.epsilon);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = embedding_part * out[i] + 100 * h[i];
  return out;
}

TEST(Mtp, TheEmbeddingComesFirstAndIsNothingAtPositionZero) {
  MtpModule module = mtp_of_numbers();
  const std::vector<double> hidden = numbers(2 * kHidden, 5);
  const std::vector<std::int32_t> tokens{2, 8};
  const auto first_row = [&](std::int64_t position) {
    KvCache cache;
    std::vector<double> input = mtp(module, tokens, hidden, position, cache).input;
    input.resize(kHidden);
    return input;
  };
  EXPECT_LE(largest_difference(first_row(0), expected_input(module, 2, hidden, 0)), 1e-13);
  EXPECT_LE(largest_difference(first_row(1), expected_input(module, 2, hidden, 1)), 1e-13);
  module.mask_first = false;
  EXPECT_LE(largest_difference(first_row(0), expected_input(module, 2, hidden, 1)), 1e-13);
}

TEST(Mtp, OnlyTheFirstPositionIsMaskedAndTheRestIsALayerAndAHead) {
  const MtpModule module = mtp_of_numbers();
  const std::vector<double> hidden = numbers(2 * kHidden, 5);
  KvCache cache, again;
  const MtpTrace trace = mtp(module, std::vector<std::int32_t>{2, 8}, hidden, 0, cache);
  const std::vector<double> second = expected_input(module, 8, std::span(hidden).subspan(kHidden), 1);
  EXPECT_LE(largest_difference(std::span(trace.input).last(kHidden), second), 1e-13);
  EXPECT_EQ(trace.hidden, decoder_layer(module.layer, trace.input, 2, 0, {&again, 1}).out);
  EXPECT_EQ(trace.normed, rms_norm(trace.hidden, module.head_norm, module.epsilon));
  EXPECT_EQ(trace.logits, linear(trace.normed, 2, module.head).value);
}

}  // namespace
}  // namespace moediff::reference
