#include "harness/scenario/case.h"

namespace moediff {

bool InputSource::operator==(const InputSource& other) const {
  return kind == other.kind && distribution == other.distribution && bias_scale == other.bias_scale &&
         idle_experts == other.idle_experts && capture == other.capture && checkpoint == other.checkpoint &&
         hidden_states == other.hidden_states && weights_prefix == other.weights_prefix &&
         expected_prefix == other.expected_prefix && layer == other.layer;
}

std::int64_t batch_rows(const Case& spec) {
  switch (spec.variation) {
    case Variation::split:
      return (spec.tokens + 1) / 2;
    case Variation::padded_zero:
    case Variation::padded_large:
    case Variation::padded_nan:
      return spec.tokens + kPaddingRows;
    case Variation::none:
    case Variation::permuted:
    case Variation::shifted:
    case Variation::poisoned_idle:
      break;
  }
  return spec.tokens;
}

}  // namespace moediff
