#include "harness/scenario/case.h"

namespace moediff {

bool InputSource::operator==(const InputSource& other) const {
  return kind == other.kind && distribution == other.distribution && bias_scale == other.bias_scale &&
         capture == other.capture && checkpoint == other.checkpoint && hidden_states == other.hidden_states &&
         weights_prefix == other.weights_prefix && expected_prefix == other.expected_prefix && layer == other.layer;
}

}  // namespace moediff
