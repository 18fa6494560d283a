// What a decoder layer's file can expect: a table of the intermediates, by the names of Hugging Face's modules and of
// DeepSeek's code.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "harness/replay/decoder_shape.h"
#include "harness/replay/routing.h"
#include "reference/decoder.h"

namespace moediff {

struct LayerCase {
  DecoderShape shape;
  reference::DecoderLayer layer;
  std::int64_t sequences = 1, positions = 1, first = 0;
  std::vector<double> x;
  std::vector<bool> stated_ties;

  std::int64_t rows() const { return sequences * positions; }
};

/// A layer, computed as one oracle does.
struct LayerRun {
  const LayerCase& layer_case;
  reference::Rope rope;  ///< with the oracle's policy
  reference::LayerTrace trace;
  RouterResult router;
};

/// per_position, per_token: [sequences, T, ...], where per_token follows from the choice of experts.
enum class OutputClass : std::uint8_t { constant, per_position, per_token };
struct LayerOutput {
  std::string_view name;
  OutputClass of;
  bool (*exists)(const LayerCase&);  ///< in this layer
  Shape (*shape)(const LayerCase&);
  std::vector<double> (*values)(const LayerRun&);
};
std::span<const LayerOutput> layer_outputs();

}  // namespace moediff
