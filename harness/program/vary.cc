// Variations of a batch (scenario/case.h): what must not change a token's result.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "harness/core/check.h"
#include "harness/core/formats.h"
#include "harness/core/random.h"
#include "harness/program/input_parts.h"

namespace moediff {
namespace {

constexpr std::size_t kTokenTensors = 6;
constexpr std::array<const char*, kTokenTensors> kByToken{"hidden_states",       "topk_ids",   "topk_weights",
                                                          "topk_weights_scaled", "shared_ids", "shared_weights"};

Tensor rows_of(const Tensor& tensor, const std::vector<std::int64_t>& rows) {
  Shape shape = tensor.shape;
  shape[0] = static_cast<std::int64_t>(rows.size());
  Tensor out(tensor.dtype, shape);
  const std::size_t bytes = tensor.data.size() / static_cast<std::size_t>(std::max<std::int64_t>(tensor.shape[0], 1));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::copy_n(tensor.data.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(rows[r]) * bytes), bytes,
                out.data.begin() + static_cast<std::ptrdiff_t>(r * bytes));
  }
  return out;
}

void choose_rows(Inputs& inputs, const std::vector<std::int64_t>& rows) {
  for (const char* name : kByToken) {
    if (const auto found = inputs.find(name); found != inputs.end()) found->second = rows_of(found->second, rows);
  }
}

/// Padding repeats the last token in every tensor that has tokens; its activations are then overwritten.
void pad(const Case& spec, double content, Inputs& inputs) {
  if (spec.tokens == 0) return;
  std::vector<std::int64_t> rows(static_cast<std::size_t>(spec.tokens));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  rows.insert(rows.end(), static_cast<std::size_t>(kPaddingRows), spec.tokens - 1);
  choose_rows(inputs, rows);
  Tensor& hidden = inputs["hidden_states"];
  if (hidden.dtype == DType::field) return;  // padding of any content is some token there
  std::vector<double> values = to_doubles(hidden);
  std::fill(values.begin() + static_cast<std::ptrdiff_t>(spec.tokens * spec.shape.hidden), values.end(), content);
  hidden = from_doubles(hidden.dtype, hidden.shape, values);
}

/// The same vector on every expert's gate row: all logits of a token move by the same amount.
void shift_gate(const Case& spec, Inputs& inputs) {
  Tensor& gate = inputs["gate_weight"];
  const std::uint64_t key = stream_key(spec.seed, "shift");
  const auto h = static_cast<std::size_t>(spec.shape.hidden);
  // Multiples of a coarse step keep the sums representable where the gate is of integers.
  const bool integers = spec.input.distribution == Distribution::integers;
  const double size = integers ? 1.0 : 1.0 / std::sqrt(static_cast<double>(h));
  std::vector<double> values = to_doubles(gate);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double draw = random_normal(key, i % h) * size;
    values[i] += integers ? std::round(draw) : draw;
  }
  gate = from_doubles(gate.dtype, gate.shape, values);
}

/// NaN, or the worst code there is, in all weights of the idle experts.
void poison(const Case& spec, Inputs& inputs) {
  const std::int64_t first = spec.shape.experts - spec.input.idle_experts;
  for (const char* name :
       {"w13", "w2", "w13_scales", "w2_scales", "w13_fused", "w2_fused", "w13_scales_fused", "w2_scales_fused"}) {
    const auto found = inputs.find(name);
    if (found == inputs.end()) continue;
    Tensor& tensor = found->second;
    const std::size_t bytes = tensor.data.size() / static_cast<std::size_t>(tensor.shape[0]);
    const auto begin = tensor.data.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(first) * bytes);
    // All ones is a NaN in every float format but fnuz, where scales and the result are large enough to show.
    std::fill_n(begin, static_cast<std::size_t>(spec.input.idle_experts) * bytes, std::byte{0xff});
  }
}

}  // namespace

std::vector<std::int64_t> permutation(const Case& spec) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(spec.tokens));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const std::uint64_t key = stream_key(spec.seed, "permutation");
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return std::pair(random_bits(key, static_cast<std::uint64_t>(a)), a) <
           std::pair(random_bits(key, static_cast<std::uint64_t>(b)), b);
  });
  return order;
}

void vary(const Case& spec, Inputs& inputs) {
  switch (spec.variation) {
    case Variation::none:
      return;
    case Variation::permuted:
      return choose_rows(inputs, permutation(spec));
    case Variation::split: {
      std::vector<std::int64_t> rows(static_cast<std::size_t>(batch_rows(spec)));
      std::iota(rows.begin(), rows.end(), std::int64_t{0});
      return choose_rows(inputs, rows);
    }
    case Variation::padded_zero:
      return pad(spec, 0, inputs);
    case Variation::padded_large:
      return pad(spec, 1e4, inputs);
    case Variation::padded_nan:
      return pad(spec, std::numeric_limits<double>::quiet_NaN(), inputs);
    case Variation::shifted:
      return shift_gate(spec, inputs);
    case Variation::poisoned_idle:
      return poison(spec, inputs);
  }
}

}  // namespace moediff
