#include "tests/fuzz/random_case.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "harness/core/random.h"
#include "harness/scenario/applicability.h"
#include "harness/scenario/effective_stream.h"

namespace moediff::fuzz {
namespace {

/// A stream of draws.
class Dice {
 public:
  Dice(std::uint64_t seed, std::uint64_t index) : key_(stream_key(seed, "clean case " + std::to_string(index))) {}
  double uniform() { return random_uniform(key_, next_++); }
  std::int64_t below(std::int64_t count) { return static_cast<std::int64_t>(uniform() * static_cast<double>(count)); }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  std::int64_t log_uniform(double low, double high) {
    return static_cast<std::int64_t>(std::lround(low * std::pow(high / low, uniform())));
  }
  template <typename T, std::size_t kSize>
  T of(const std::array<T, kSize>& choices) {
    return choices[static_cast<std::size_t>(below(kSize))];
  }
  template <typename Enum>
  Enum word(std::size_t count) {
    return static_cast<Enum>(below(static_cast<std::int64_t>(count)));
  }

 private:
  std::uint64_t key_, next_ = 0;
};

struct Model {
  std::int64_t experts, top_k, n_group, topk_group;
  bool norm;
  double factor;
  Scoring scoring;
  bool bias;
  GroupScore group_score;
  WeightPlace weight_on;
};
// DeepSeek-V3, Kimi-K2, Qwen3, Mixtral, Llama-4 (twice), DeepSeek-V2, softmax with bias and without groups; scaled
// down. Then groups of one expert, all groups chosen, all experts chosen.
constexpr std::array<Model, 11> kModels{{
    {32, 4, 8, 4, true, 2.5, Scoring::sigmoid, true, GroupScore::top2_sum, WeightPlace::combine},
    {48, 8, 1, 1, true, 2.827, Scoring::sigmoid, true, GroupScore::top2_sum, WeightPlace::gemm2},
    {32, 8, 1, 1, true, 1, Scoring::softmax, false, GroupScore::top2_sum, WeightPlace::gemm2},
    {8, 2, 1, 1, true, 1, Scoring::softmax, false, GroupScore::top2_sum, WeightPlace::combine},
    {16, 1, 1, 1, false, 1, Scoring::sigmoid, false, GroupScore::top2_sum, WeightPlace::gemm1},
    {8, 1, 1, 1, false, 1, Scoring::sigmoid, false, GroupScore::top2_sum, WeightPlace::input},
    {40, 6, 8, 3, false, 16, Scoring::softmax, false, GroupScore::max, WeightPlace::combine},
    {24, 3, 1, 1, true, 1.5, Scoring::softmax, true, GroupScore::top2_sum, WeightPlace::gemm2},
    {8, 3, 8, 4, true, 2.5, Scoring::sigmoid, true, GroupScore::top2_sum, WeightPlace::combine},
    {16, 4, 4, 4, true, 1, Scoring::sigmoid, true, GroupScore::max, WeightPlace::gemm2},
    {5, 5, 1, 1, true, 1, Scoring::softmax, false, GroupScore::top2_sum, WeightPlace::combine},
}};

void draw_model(Dice& dice, Case& c) {
  const Model m = dice.of(kModels);
  c.shape.experts = m.experts;
  c.shape.top_k = m.top_k;
  c.shape.n_group = m.n_group;
  c.shape.topk_group = m.topk_group;
  c.shape.norm_topk_prob = m.norm;
  c.shape.routed_scaling_factor = m.factor;
  c.router.scoring = m.scoring;
  c.router.bias = m.bias;
  c.router.group_score = m.group_score;
  c.router.weight_on = m.weight_on;
}

void draw_sizes(Dice& dice, Case& c) {
  const bool ragged = dice.one_in(3);
  const auto size = [&](double most) {
    const std::int64_t drawn = dice.log_uniform(16, most);
    return ragged ? drawn : std::max<std::int64_t>(16, drawn / 16 * 16);
  };
  c.shape.hidden = size(512);
  c.shape.inter = size(256);
  c.shape.n_shared = dice.below(3);
  c.tokens = dice.log_uniform(1, 300);
  // Large everything at once costs seconds and shows nothing that either alone does not.
  constexpr std::int64_t kWork = std::int64_t{1} << 23;
  const std::int64_t per_token = (c.shape.top_k + c.shape.n_shared) * c.shape.hidden * c.shape.inter;
  c.tokens = std::clamp<std::int64_t>(kWork / per_token, 1, c.tokens);
}

void draw_router_policies(Dice& dice, Case& c) {
  RouterPolicy& r = c.router;
  const auto kept = [&] { return dice.one_in(4) ? KeptIn::model : KeptIn::fp32; };
  r.logits_in = kept();
  r.scores_in = kept();
  r.bias_in = kept();
  r.choice_in = kept();
  r.weights_in = kept();
  r.mask = dice.one_in(4) ? MaskValue::zero : MaskValue::neg_inf;
  r.weight_from = dice.one_in(2) ? WeightSource::score : dice.word<WeightSource>(kWeightSourceNames.size());
  r.norm_epsilon = dice.one_in(3) ? 1e-20 : 0;
  r.factor = dice.word<FactorPlace>(kFactorPlaceNames.size());
  r.not_finite = dice.word<NotFinite>(kNotFiniteNames.size());
}

void draw_expert_policies(Dice& dice, Case& c) {
  c.expert.activation = dice.word<ActivationKind>(kActivationNames.size());
  c.expert.activation_rounding = dice.word<ActivationRounding>(kActivationRoundingNames.size());
  c.expert.limit = dice.one_in(2) ? 1.0 : 7.0;
  c.expert.sum = dice.word<CombineSum>(kCombineSumNames.size());
}

void draw_quant(Dice& dice, Case& c) {
  QuantSpec& q = c.quant;
  q.scheme = dice.word<QuantScheme>(kQuantSchemes.size());
  q.fp8 = dice.word<Fp8Kind>(kFp8KindNames.size());
  q.scales = dice.word<ScaleKind>(kScaleKindNames.size());
  q.group = dice.of(std::array<std::int64_t, 5>{16, 32, 64, 96, 128});
  if (q.scheme != QuantScheme::int8_channel && q.fp8 == Fp8Kind::e4m3fnuz && dice.one_in(2)) q.fmax = 224;
  q.amax_floor = c.input.distribution == Distribution::subnormal ? 1e-30 : dice.one_in(3) ? 1e-4 : 1e-10;
  q.scale_from = dice.word<ScaleFrom>(kScaleFromNames.size());
  q.scale_by = dice.word<ScaleBy>(kScaleByNames.size());
  q.half_to = dice.word<HalfTo>(kHalfToNames.size());
  q.shared = dice.one_in(4) ? SharedWeights::model : SharedWeights::same;
  q.quantize_a2 = dice.word<QuantizeA2>(kQuantizeA2Names.size());
}

void draw_program(Dice& dice, Case& c) {
  c.stream = dice.word<StreamMode>(kStreamModeNames.size());
  c.order = IssueOrder::shared_first;  // the other order in place is the founding bug
  c.in_place = dice.one_in(3);
  c.split_k = dice.one_in(4) ? static_cast<int>(2 + dice.below(3)) : 1;
  c.chunk = dice.one_in(6) ? 1 + dice.below(c.tokens) : 0;
  c.residual = !c.in_place && dice.one_in(3);  // in place, the input is gone when the residual is added
}

Case draw(Dice& dice) {
  Case c;
  c.dtype = dice.of(std::array{DType::bf16, DType::bf16, DType::f16, DType::f32});
  c.input.distribution = dice.of(std::array{Distribution::normal, Distribution::normal, Distribution::integers,
                                            Distribution::heavy_tailed, Distribution::cancelling,
                                            Distribution::near_tie, Distribution::subnormal, Distribution::huge_range});
  c.input.bias_scale = dice.one_in(3) ? 1.0 : 0.1;
  draw_model(dice, c);
  draw_sizes(dice, c);
  draw_router_policies(dice, c);
  draw_expert_policies(dice, c);
  draw_quant(dice, c);
  draw_program(dice, c);
  c.effective_stream = effective_stream(c.stream, batch_rows(c), c.chunk, c.aux_threshold, c.shape.n_shared);
  return c;
}

}  // namespace

Case random_case(std::uint64_t seed, std::uint64_t index) {
  Dice dice(seed, index);
  for (;;) {
    std::vector<Case> drawn{draw(dice)};
    mark_inapplicable(drawn);
    if (drawn.front().skip_reason) continue;
    Case c = std::move(drawn.front());
    c.seed = random_bits(stream_key(seed, "inputs"), index) >> 11;
    c.id = "clean/" + std::to_string(index);
    c.scenario = "fuzz";
    return c;
  }
}

}  // namespace moediff::fuzz
