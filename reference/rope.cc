// Frequencies as in the papers: theta^(-2i / dim), and with YaRN a blend of these and of the same divided by factor,
// by how often a pair turns within the original context.
#include "reference/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "reference/require.h"

namespace moediff::reference {
namespace {

double magnitude(double factor, double mscale) { return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1; }

/// The (real) number of the pair that turns `turns` times within the original context.
double pair_that_turns(double turns, const Rope& rope) {
  const double positions = rope.yarn->original_positions;
  return static_cast<double>(rope.dim) * std::log(positions / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(rope.theta));
}

/// How far each pair is interpolated: 0 its own frequency, 1 the frequency divided by factor.
std::vector<double> interpolation(const Rope& rope) {
  const double last = static_cast<double>(rope.dim - 1);
  const double low = std::max(std::floor(pair_that_turns(rope.yarn->beta_fast, rope)), 0.0);
  double high = std::min(std::ceil(pair_that_turns(rope.yarn->beta_slow, rope)), last);
  if (low == high) high += 0.001;  // as all implementations do, instead of a division by 0
  std::vector<double> ramp;
  for (std::int64_t i = 0; i < rope.dim / 2; ++i) {
    ramp.push_back(std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0));
  }
  return ramp;
}

}  // namespace

std::vector<double> rope_frequencies(const Rope& rope) {
  require(rope.dim > 0 && rope.dim % 2 == 0, "rotary embedding needs vectors of even size");
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < rope.dim; i += 2) {
    frequencies.push_back(1 / std::pow(rope.theta, static_cast<double>(i) / static_cast<double>(rope.dim)));
  }
  if (!rope.yarn) return frequencies;
  const std::vector<double> interpolated = interpolation(rope);
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const double own = frequencies[i];
    frequencies[i] = own / rope.yarn->factor * interpolated[i] + own * (1 - interpolated[i]);
  }
  return frequencies;
}

double rope_magnitude(const Rope& rope) {
  if (!rope.yarn || rope.yarn->magnitude == YarnMagnitude::one) return 1;
  const Yarn& yarn = *rope.yarn;
  if (yarn.attention_factor > 0) return yarn.attention_factor;
  if (yarn.mscale == 0 || yarn.mscale_all_dim == 0) return magnitude(yarn.factor, 1);
  return magnitude(yarn.factor, yarn.mscale) / magnitude(yarn.factor, yarn.mscale_all_dim);
}

double softmax_scale(std::int64_t head_dim, const Rope& rope) {
  const double scale = 1 / std::sqrt(static_cast<double>(head_dim));
  if (!rope.yarn || rope.yarn->mscale_all_dim == 0) return scale;
  const double m = magnitude(rope.yarn->factor, rope.yarn->mscale_all_dim);
  return scale * m * m;
}

RopeTable rope_table(const Rope& rope, std::int64_t first, std::int64_t count) {
  const std::vector<double> frequencies = rope_frequencies(rope);
  const double m = rope_magnitude(rope);
  RopeTable table;
  for (std::int64_t position = first; position < first + count; ++position) {
    for (const double frequency : frequencies) {
      const double angle = static_cast<double>(position) * frequency;
      table.cos.push_back(std::cos(angle) * m);
      table.sin.push_back(std::sin(angle) * m);
    }
  }
  return table;
}

void rotate(std::span<double> vector, const RopeTable& table, std::int64_t row, RopeLayout layout) {
  const std::size_t pairs = vector.size() / 2, begin = static_cast<std::size_t>(row) * pairs;
  require(begin + pairs <= table.cos.size(), "the table must have the row");
  for (std::size_t i = 0; i < pairs; ++i) {
    const std::size_t first = layout == RopeLayout::interleaved ? 2 * i : i;
    const std::size_t second = layout == RopeLayout::interleaved ? first + 1 : first + pairs;
    const double a = vector[first], b = vector[second];
    const double cos = table.cos[begin + i], sin = table.sin[begin + i];
    vector[first] = a * cos - b * sin;
    vector[second] = b * cos + a * sin;
  }
}

}  // namespace moediff::reference
