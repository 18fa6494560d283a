// The memo of a group: bounded, and without influence on any result.
#include "harness/compare/expected_state.h"

namespace moediff {
namespace {

constexpr std::size_t kMemoDoubles = std::size_t{1} << 26;  // 512 MiB

/// Borrowed bytes are those of the inputs, which live as long as the state.
StoredTensor stored(const StageInput& input) {
  return {input.dtype, input.shape, input.borrowed.empty() ? input.owned : std::vector<std::byte>{}, input.borrowed};
}

std::string number_key(std::initializer_list<std::int64_t> numbers) {
  std::string text;
  for (const std::int64_t number : numbers) text += "/" + std::to_string(number);
  return text;
}

}  // namespace

Expected::Expected(std::shared_ptr<const Inputs> inputs)
    : inputs_(std::move(inputs)), state_(std::make_unique<State>()) {}
Expected::~Expected() = default;

void make_room(Expected::State& state, std::size_t doubles) {
  if (state.remembered + doubles > kMemoDoubles) {
    state.stages.clear();
    state.chained.clear();
    state.field.clear();
    state.remembered = 0;
  }
  state.remembered += doubles;
}

WeightSet& prepared(Expected::State& state, const StageInput& weight, const StageInput& scales,
                    const WeightFormat& format) {
  const QuantSpec& quant = format.quant;
  std::string key = weight.key + to_string(weight.shape);
  if (quant.scheme != QuantScheme::none) {
    key += number_key({static_cast<std::int64_t>(quant.scheme), static_cast<std::int64_t>(quant.fp8), quant.group,
                       format.halves, static_cast<std::int64_t>(format.model), format.k}) +
           scales.key;
  }
  std::unique_ptr<WeightSet>& set = state.weights[key];
  if (!set) set = std::make_unique<WeightSet>(stored(weight), stored(scales), format);
  return *set;
}

}  // namespace moediff
