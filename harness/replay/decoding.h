// A language model, decoded as an oracle did. Where an oracle's choice of experts is one of several equally right ones,
// the choice is taken whose logits come nearest to the oracle's, token by token: it matters for everything after.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "reference/decoder.h"

namespace moediff {

/// What an oracle states about the logits after each position of the sequence; an empty row: nothing.
struct StatedLogits {
  std::vector<std::span<const double>> rows;  ///< by position
};

struct Decoded {
  reference::ModelTrace prompt;  ///< the prompt at once
  reference::Generation whole;   ///< without a cache
  reference::Generation cached;  ///< with one, token by token
  std::int64_t ties = 0;         ///< choices that the stated logits decided
};

/// `steps` tokens after the prompt. `tolerance`: below which two choices of an expert count as equal, as a share.
Decoded decode(const reference::LanguageModel& model, std::span<const std::int32_t> prompt, std::int64_t steps,
               const StatedLogits& stated, double tolerance);

}  // namespace moediff
