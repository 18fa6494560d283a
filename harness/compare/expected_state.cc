// The memo of a group: bounded, and without influence on any result.
#include "harness/compare/expected_state.h"

namespace moediff {
namespace {

constexpr std::size_t kMemoDoubles = std::size_t{1} << 26;  // 512 MiB

}  // namespace

Expected::Expected(std::shared_ptr<const Inputs> inputs)
    : inputs_(std::move(inputs)), state_(std::make_unique<State>()) {}
Expected::~Expected() = default;

void make_room(Expected::State& state, std::size_t doubles) {
  if (state.remembered + doubles > kMemoDoubles) {
    state.stages.clear();
    state.chained.clear();
    state.remembered = 0;
  }
  state.remembered += doubles;
}

WeightSet& prepared(Expected::State& state, const StageInput& weight) {
  std::unique_ptr<WeightSet>& set = state.weights[weight.key + to_string(weight.shape)];
  if (set) return *set;
  // Borrowed bytes are those of the inputs, which live as long as the state.
  set = weight.borrowed.empty() ? std::make_unique<WeightSet>(weight.dtype, weight.shape, weight.owned)
                                : std::make_unique<WeightSet>(weight.dtype, weight.shape, weight.borrowed);
  return *set;
}

}  // namespace moediff
