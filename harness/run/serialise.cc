#include "harness/run/serialise.h"

#include <algorithm>

#include "harness/run/bytes.h"

namespace moediff {

// Number of enumerators, for range checks; found by argument-dependent lookup, so not in an unnamed namespace.
static constexpr int enumerators(DType) { return static_cast<int>(kDTypes.size()); }
static constexpr int enumerators(OpKind) { return kOpKinds; }
static constexpr int enumerators(BufferKind) { return static_cast<int>(BufferKind::workspace) + 1; }
static constexpr int enumerators(StepKind) { return static_cast<int>(StepKind::host_sync) + 1; }
static constexpr int enumerators(SchedulePolicy) { return static_cast<int>(kSchedulePolicyNames.size()); }
static constexpr int enumerators(TraceItem::Kind) { return static_cast<int>(TraceItem::Kind::host_func) + 1; }
static constexpr int enumerators(Touch::What) { return static_cast<int>(Touch::What::changed) + 1; }
static constexpr int enumerators(Scoring) { return static_cast<int>(kScoringNames.size()); }
static constexpr int enumerators(GroupScore) { return static_cast<int>(kGroupScoreNames.size()); }
static constexpr int enumerators(MaskValue) { return static_cast<int>(kMaskValueNames.size()); }
static constexpr int enumerators(KeptIn) { return static_cast<int>(kKeptInNames.size()); }
static constexpr int enumerators(WeightSource) { return static_cast<int>(kWeightSourceNames.size()); }
static constexpr int enumerators(FactorPlace) { return static_cast<int>(kFactorPlaceNames.size()); }
static constexpr int enumerators(WeightPlace) { return static_cast<int>(kWeightPlaceNames.size()); }
static constexpr int enumerators(NotFinite) { return static_cast<int>(kNotFiniteNames.size()); }
static constexpr int enumerators(ActivationKind) { return static_cast<int>(kActivationNames.size()); }
static constexpr int enumerators(ActivationRounding) { return static_cast<int>(kActivationRoundingNames.size()); }
static constexpr int enumerators(CombineSum) { return static_cast<int>(kCombineSumNames.size()); }
static constexpr int enumerators(QuantScheme) { return static_cast<int>(kQuantSchemes.size()); }
static constexpr int enumerators(Fp8Kind) { return static_cast<int>(kFp8KindNames.size()); }
static constexpr int enumerators(ScaleKind) { return static_cast<int>(kScaleKindNames.size()); }
static constexpr int enumerators(ScaleFrom) { return static_cast<int>(kScaleFromNames.size()); }
static constexpr int enumerators(ScaleBy) { return static_cast<int>(kScaleByNames.size()); }
static constexpr int enumerators(HalfTo) { return static_cast<int>(kHalfToNames.size()); }
static constexpr int enumerators(Ragged) { return static_cast<int>(kRaggedNames.size()); }
static constexpr int enumerators(SharedWeights) { return static_cast<int>(kSharedWeightsNames.size()); }
static constexpr int enumerators(QuantizeA2) { return static_cast<int>(kQuantizeA2Names.size()); }
static constexpr int enumerators(RunStatus) { return static_cast<int>(RunStatus::error) + 1; }

// clang-format off
template <SameAs<Region> T> auto fields(T& x) { auto& [a, b, c, d] = x; return std::tie(a, b, c, d); }
template <SameAs<Buffer> T> auto fields(T& x) { auto& [a, b, c, d] = x; return std::tie(a, b, c, d); }
template <SameAs<Value> T> auto fields(T& x) { auto& [a, b, c, d, e, f, g, h] = x; return std::tie(a, b, c, d, e, f, g, h); }
template <SameAs<Operand> T> auto fields(T& x) { auto& [a, b, c, d, e] = x; return std::tie(a, b, c, d, e); }
template <SameAs<RouterPolicy> T> auto fields(T& x) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = x; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n); }
template <SameAs<ExpertPolicy> T> auto fields(T& x) { auto& [a, b, c, d] = x; return std::tie(a, b, c, d); }
template <SameAs<QuantSpec> T> auto fields(T& x) { auto& [a, b, c, d, e, f, g, h, i, j, k, l] = x; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l); }
template <SameAs<OpParams> T> auto fields(T& x) { auto& [a, b, c, d, e, f, g, h, i, j, k, l] = x; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l); }
template <SameAs<Step> T> auto fields(T& x) { auto& [a, b, c, d, e, f, g, h, i] = x; return std::tie(a, b, c, d, e, f, g, h, i); }
template <SameAs<MoeShape> T> auto fields(T& x) { auto& [a, b, c, d, e, f, g, h, i] = x; return std::tie(a, b, c, d, e, f, g, h, i); }
template <SameAs<Program> T> auto fields(T& x) { auto& [a, b, c, d, e, f, g, h, i, j] = x; return std::tie(a, b, c, d, e, f, g, h, i, j); }
template <SameAs<ProviderSpec> T> auto fields(T& x) { auto& [a, b] = x; return std::tie(a, b); }
template <SameAs<Schedule> T> auto fields(T& x) { auto& [a, b, c, d] = x; return std::tie(a, b, c, d); }
template <SameAs<ProbeCrash> T> auto fields(T& x) { auto& [a, b, c] = x; return std::tie(a, b, c); }
template <SameAs<WireRequest> T> auto fields(T& x) { auto& [a, b, c, d, e, f] = x; return std::tie(a, b, c, d, e, f); }
template <SameAs<TraceItem> T> auto fields(T& x) { auto& [a, b, c, d, e, f, g, h, i] = x; return std::tie(a, b, c, d, e, f, g, h, i); }
template <SameAs<MemoryBlock> T> auto fields(T& x) { auto& [a, b, c] = x; return std::tie(a, b, c); }
template <SameAs<Touch> T> auto fields(T& x) { auto& [a, b, c, d] = x; return std::tie(a, b, c, d); }
template <SameAs<StepAccesses> T> auto fields(T& x) { auto& [a, b, c, d, e] = x; return std::tie(a, b, c, d, e); }
template <SameAs<Placement> T> auto fields(T& x) { auto& [a, b] = x; return std::tie(a, b); }
template <SameAs<Capture> T> auto fields(T& x) { auto& [a] = x; return std::tie(a); }
template <SameAs<Run> T> auto fields(T& x) { auto& [a, b, c, d, e, f, g, h, i, j, k] = x; return std::tie(a, b, c, d, e, f, g, h, i, j, k); }
template <SameAs<Tensor> T> auto fields(T& x) { auto& [a, b, c] = x; return std::tie(a, b, c); }
template <SameAs<BackendInfo> T> auto fields(T& x) { auto& [a, b, c, d, e] = x; return std::tie(a, b, c, d, e); }
// clang-format on

namespace {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};
template <SameAs<NamedTensor> T>
auto fields(T& x) {
  return std::tie(x.name, x.tensor);
}

template <typename T>
std::vector<std::byte> written(const T& object) {
  ByteWriter writer;
  writer.put(object);
  return writer.take();
}

template <typename T>
std::optional<T> read(std::span<const std::byte> bytes) {
  try {
    ByteReader reader(bytes);
    T object;
    reader.get(object);
    reader.expect_end();
    return object;
  } catch (const MalformedBytes&) {
    return std::nullopt;
  }
}

bool in_range(int index, std::size_t size) { return index >= -1 && index < static_cast<int>(size); }

bool fits_step(const Step& step, const std::vector<std::vector<std::byte>>& operands) {
  const bool captured = step.kind == StepKind::call || step.kind == StepKind::copy;
  if (operands.size() != (captured ? step.operands.size() : 0)) return false;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const bool right = static_cast<std::int64_t>(operands[i].size()) == step.operands[i].region.bytes();
    if (!operands[i].empty() && !right) return false;
  }
  return true;
}

bool fits_accesses(const StepAccesses& accesses, const Run& run) {
  return std::all_of(
             accesses.touches.begin(), accesses.touches.end(),
             [&](const Touch& touch) { return touch.block >= 0 && in_range(touch.block, run.blocks.size()); }) &&
         std::all_of(accesses.depends_on.begin(), accesses.depends_on.end(),
                     [&](int block) { return block >= 0 && in_range(block, run.blocks.size()); });
}

}  // namespace

std::vector<std::byte> to_bytes(const WireRequest& request) { return written(request); }
std::vector<std::byte> to_bytes(const Run& run) { return written(run); }
std::vector<std::byte> to_bytes(const BackendInfo& info) { return written(info); }

std::vector<std::byte> to_bytes(const Inputs& inputs) {
  ByteWriter writer;
  writer.put<std::uint64_t>(inputs.size());
  for (const auto& [name, tensor] : inputs) {
    writer.put(name);
    writer.put(tensor);
  }
  return writer.take();
}

template <>
std::optional<WireRequest> from_bytes(std::span<const std::byte> bytes) {
  return read<WireRequest>(bytes);
}

template <>
std::optional<Run> from_bytes(std::span<const std::byte> bytes) {
  return read<Run>(bytes);
}

template <>
std::optional<BackendInfo> from_bytes(std::span<const std::byte> bytes) {
  return read<BackendInfo>(bytes);
}

template <>
std::optional<Inputs> from_bytes(std::span<const std::byte> bytes) {
  auto list = read<std::vector<NamedTensor>>(bytes);
  if (!list) return std::nullopt;
  Inputs inputs;
  for (NamedTensor& named : *list) inputs[named.name] = std::move(named.tensor);
  return inputs;
}

bool fits(const Run& run, const Program& program) {
  const std::size_t steps = program.steps.size();
  if (!in_range(run.failing_step, steps)) return false;
  if (run.status != RunStatus::ok) return true;
  if (run.capture.operands.size() != steps || run.placement.size() != program.buffers.size()) return false;
  if (run.observed != !run.accesses.empty() && steps > 0) return false;
  for (std::size_t i = 0; i < steps; ++i) {
    if (!fits_step(program.steps[i], run.capture.operands[i])) return false;
  }
  return std::all_of(run.trace.begin(), run.trace.end(),
                     [&](const TraceItem& item) {
                       return in_range(item.step, steps) && in_range(item.block, run.blocks.size());
                     }) &&
         std::all_of(run.executed.begin(), run.executed.end(),
                     [&](int item) { return item >= 0 && in_range(item, run.trace.size()); }) &&
         std::all_of(run.placement.begin(), run.placement.end(),
                     [&](const Placement& place) { return in_range(place.block, run.blocks.size()); }) &&
         std::all_of(run.accesses.begin(), run.accesses.end(),
                     [&](const StepAccesses& accesses) { return fits_accesses(accesses, run); });
}

}  // namespace moediff
