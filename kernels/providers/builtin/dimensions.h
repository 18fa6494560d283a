// The sizes that a call's operands have in common, learnt from the first operand that shows each.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/abi/moediff_abi.h"

namespace moediff::kernels {

/// A dimension of an operand: a letter of operand_rules.h, whole or cut as codes and scales are.
struct Dim {
  enum class Cut : std::uint8_t {
    whole,
    pairs,   ///< ceil(n / 2): two codes a byte
    groups,  ///< ceil(n / group)
    halves,  ///< 2 ceil((n / 2) / group)
  };
  char letter = '1';
  Cut cut = Cut::whole;
};

class Dimensions {
 public:
  /// top_k and split_k are known from the start.
  Dimensions(const md_params& params, std::int64_t group);

  /// kUnknown before the letter's first appearance.
  std::int64_t expected(Dim dim) const;
  /// False when the value contradicts an earlier one, or can be none of this dimension.
  bool learn(Dim dim, std::int64_t value);
  /// "T=3", "2I=64", "ceil(H/128)=1", or "R" while unknown.
  std::string describe(Dim dim) const;

  static constexpr std::int64_t kUnknown = -1;

 private:
  std::int64_t whole(char letter) const;
  bool learn_whole(char letter, std::int64_t value);

  std::int64_t group_;
  std::int64_t value_[128];
};

}  // namespace moediff::kernels
