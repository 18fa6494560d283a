// Rotary position embedding (Su et al., RoFormer, arXiv:2104.09864), and its stretching to longer contexts, YaRN (Peng
// et al., arXiv:2309.00071), by the formulas of DeepSeek-V3. Everything in double.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace moediff::reference {

/// Which two elements of a vector turn together as pair i: 2i and 2i + 1 (DeepSeek), or i and i + dim / 2 (Qwen, Llama
/// as in Hugging Face).
enum class RopeLayout : std::uint8_t { interleaved, halves };

/// What YaRN multiplies cosine and sine by, with m(s) = 0.1 s ln(factor) + 1. ratio: m(mscale) / m(mscale_all_dim), or
/// m(1) where one of them is not stated, or what is stated as attention_factor (Hugging Face modeling_rope_utils.py).
/// one: nothing (deepseek-ai/DeepSeek-V3 inference/model.py, which knows one mscale and uses it for the softmax only).
/// They differ unless mscale and mscale_all_dim are equal.
enum class YarnMagnitude : std::uint8_t { ratio, one };
inline constexpr std::array<std::string_view, 2> kYarnMagnitudeNames{"ratio", "one"};

struct Yarn {
  double factor = 1;              ///< of the context length
  double original_positions = 1;  ///< context length that the model was trained with
  double beta_fast = 32;          ///< pairs that turn more often than this within it keep their frequency
  double beta_slow = 1;           ///< pairs that turn less often than this have it divided by factor
  double mscale = 0;              ///< 0: not stated
  double mscale_all_dim = 0;      ///< 0: not stated
  YarnMagnitude magnitude = YarnMagnitude::ratio;
  double attention_factor = 0;  ///< stated instead of the ratio; 0: not
};

struct Rope {
  std::int64_t dim = 2;  ///< of the vectors that turn; even
  double theta = 10000;
  RopeLayout layout = RopeLayout::interleaved;
  std::optional<Yarn> yarn = {};
};

/// Radians that pair i turns by at each position [dim / 2].
std::vector<double> rope_frequencies(const Rope& rope);
/// What cosine and sine are multiplied by; 1 without YaRN.
double rope_magnitude(const Rope& rope);
/// What q·k is multiplied by before the softmax: 1 / sqrt(head_dim), with YaRN times m(mscale_all_dim)^2 where stated.
double softmax_scale(std::int64_t head_dim, const Rope& rope);

/// Cosine and sine of each position and pair, times rope_magnitude [count, dim / 2].
struct RopeTable {
  std::vector<double> cos, sin;
};
/// Positions first, first + 1, ...
RopeTable rope_table(const Rope& rope, std::int64_t first, std::int64_t count);

/// Turns one vector [dim] by row `row` of the table.
void rotate(std::span<double> vector, const RopeTable& table, std::int64_t row, RopeLayout layout);

}  // namespace moediff::reference
