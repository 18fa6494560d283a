#include "harness/run/issue.h"

#include <fmt/format.h>

#include <array>

#include "harness/core/check.h"
#include "harness/run/failure.h"
#include "harness/run/image.h"

namespace moediff {
namespace {

static_assert(static_cast<int>(DType::f32) == MD_F32 && static_cast<int>(DType::bf16) == MD_BF16 &&
                  static_cast<int>(DType::u8) == MD_U8 && static_cast<int>(DType::f16) == MD_F16 &&
                  static_cast<int>(DType::f8_e4m3fn) == MD_F8_E4M3FN &&
                  static_cast<int>(DType::f8_e8m0) == MD_F8_E8M0 && static_cast<int>(DType::field) == MD_FIELD &&
                  static_cast<int>(DType::i64) == MD_I64,
              "dtypes cross the ABI by number");
static_assert(static_cast<int>(OpKind::residual_add) == MD_OP_RESIDUAL_ADD &&
                  static_cast<int>(OpKind::convert) == MD_OP_CONVERT && kOpKinds == MD_OP_COUNT,
              "ops cross the ABI by number");
static_assert(static_cast<int>(Scoring::softmax) == MD_SCORING_SOFTMAX &&
                  static_cast<int>(WeightSource::choice_minus_bias) == MD_WEIGHT_CHOICE_MINUS_BIAS &&
                  static_cast<int>(ActivationKind::swigluoai) == MD_SWIGLUOAI &&
                  static_cast<int>(QuantScheme::mxfp4) == MD_SCHEME_MXFP4 &&
                  static_cast<int>(ScaleBy::ratio) == MD_SCALE_BY_RATIO,
              "policies cross the ABI by number");

/// By BufferKind.
constexpr std::array<md_memory_kind, 4> kMemoryKinds{MD_MEMORY_VALUE, MD_MEMORY_VALUE, MD_MEMORY_WEIGHT,
                                                     MD_MEMORY_WORKSPACE};
md_memory_kind memory_kind(BufferKind kind) { return kMemoryKinds[static_cast<std::size_t>(kind)]; }

std::byte* address(const DeviceState& state, const Operand& operand) {
  return operand.buffer < 0 ? nullptr : state.base[operand.buffer] + operand.region.offset;
}

template <typename Word>
std::int32_t number(Word word) {
  return static_cast<std::int32_t>(word);
}

md_params params_of(const OpParams& p) {
  md_params out{};
  out.top_k = p.top_k;
  out.n_group = p.n_group;
  out.topk_group = p.topk_group;
  out.norm_topk_prob = p.norm_topk_prob ? 1 : 0;
  out.split_k = p.split_k;
  out.factor = static_cast<float>(p.factor);
  out.scoring = number(p.router.scoring);
  out.group_score = number(p.router.group_score);
  out.mask = number(p.router.mask);
  out.scores_in = number(p.router.scores_in);
  out.bias_in = number(p.router.bias_in);
  out.choice_in = number(p.router.choice_in);
  out.weights_in = number(p.router.weights_in);
  out.weight_from = number(p.router.weight_from);
  out.not_finite = number(p.router.not_finite);
  out.norm_epsilon = static_cast<float>(p.router.norm_epsilon);
  out.activation = number(p.expert.activation);
  out.activation_rounding = number(p.expert.activation_rounding);
  out.limit = static_cast<float>(p.expert.limit);
  out.sum = number(p.expert.sum);
  out.scheme = number(p.quant.scheme);
  out.scale_kind = number(p.quant.scales);
  out.scale_from = number(p.quant.scale_from);
  out.scale_by = number(p.quant.scale_by);
  out.half_to = number(p.quant.half_to);
  out.halves = p.halves ? 1 : 0;
  out.group = p.quant.group;
  out.fmax = static_cast<float>(p.quant.fmax);
  out.amax_floor = static_cast<float>(p.quant.amax_floor);
  out.saturate = p.saturate ? 1 : 0;
  out.field_factor = p.field_factor;
  return out;
}

void issue_call(const md_provider& provider, const Step& step, int number, DeviceState& state) {
  std::array<md_tensor, 10> tensors{};
  CHECK(step.operands.size() <= tensors.size(), "more operands than slots");
  for (std::size_t i = 0; i < step.operands.size(); ++i) {
    const int buffer = step.operands[i].buffer;
    tensors[i] = tensor_of(step.operands[i], buffer < 0 ? nullptr : state.base[buffer]);
  }
  const md_call call{sizeof(md_call),        static_cast<std::int32_t>(step.op),
                     tensors.data(),         static_cast<std::int32_t>(step.operands.size()),
                     params_of(step.params), state.streams[step.stream]};
  if (const int code = provider.call(&call); code != 0) {
    const char* text = provider.last_error();
    throw RunFailure(RunStatus::provider_error,
                     fmt::format("provider '{}' refused step {} with code {}: {}", provider.name, step.name, code,
                                 text == nullptr ? "no text" : text),
                     number);
  }
}

bool is_dense(const Region& region) { return region.rows <= 1 || region.stride == region.row_bytes; }

/// Source and destination may lie in different row structures only when both are dense.
void issue_copy(const md_backend& backend, const Step& step, int number, DeviceState& state) {
  const Region &from = step.operands[0].region, &to = step.operands[1].region;
  CHECK(from.bytes() == to.bytes(), "a copy changes the number of bytes");
  const bool by_rows = from.rows == to.rows;
  CHECK(by_rows || (is_dense(from) && is_dense(to)), "a copy between different row structures");
  const std::int64_t rows = by_rows ? from.rows : 1;
  const std::int64_t row_bytes = by_rows ? from.row_bytes : from.bytes();
  if (rows == 0 || row_bytes == 0) return;
  require(backend,
          backend.copy_async(address(state, step.operands[1]), rows > 1 ? to.stride : row_bytes,
                             address(state, step.operands[0]), rows > 1 ? from.stride : row_bytes, row_bytes, rows,
                             state.streams[step.stream]),
          "copy", number);
}

/// A fill poisons its destination, row by row.
void issue_fill(const md_backend& backend, const Step& step, int number, DeviceState& state) {
  const Region& region = step.operands[0].region;
  const std::int64_t rows = is_dense(region) ? 1 : region.rows;
  const std::int64_t row_bytes = is_dense(region) ? region.bytes() : region.row_bytes;
  if (row_bytes == 0) return;
  for (std::int64_t row = 0; row < rows; ++row) {
    require(backend,
            backend.fill_async(address(state, step.operands[0]) + row * region.stride, std::to_integer<int>(kPoison),
                               row_bytes, state.streams[step.stream]),
            "fill", number);
  }
}

void issue_alloc(const md_backend& backend, const Program& program, const Step& step, int number, DeviceState& state) {
  const Buffer& buffer = program.buffers[step.buffer];
  void* pointer = nullptr;
  require(backend,
          backend.allocate_async(&pointer, buffer.bytes, memory_kind(buffer.kind), buffer.name.c_str(),
                                 state.streams[step.stream]),
          "allocation from the pool", number);
  state.base[step.buffer] = static_cast<std::byte*>(pointer);
}

void allocate_buffers(const md_backend& backend, const Program& program, const Inputs& inputs, DeviceState& state) {
  state.base.assign(program.buffers.size(), nullptr);
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& buffer = program.buffers[i];
    if (buffer.pooled) continue;
    void* pointer = nullptr;
    require(backend, backend.allocate(&pointer, buffer.bytes, memory_kind(buffer.kind), buffer.name.c_str()),
            "allocation");
    state.base[i] = static_cast<std::byte*>(pointer);
    const std::vector<std::byte> image = initial_image(program, static_cast<int>(i), inputs);
    if (!image.empty()) {
      require(backend, backend.copy_in(pointer, image.data(), static_cast<std::int64_t>(image.size())), "copy in");
    }
  }
}

}  // namespace

void require(const md_backend& backend, int code, const char* what, int step) {
  if (code == 0) return;
  throw RunFailure(
      RunStatus::error,
      fmt::format("backend '{}': {} failed with code {}: {}", backend.name, what, code, backend.last_error()), step);
}

md_tensor tensor_of(const Operand& operand, std::byte* base) {
  md_tensor tensor{};
  if (base == nullptr || operand.buffer < 0) return tensor;
  const auto rank = static_cast<std::int32_t>(operand.shape.size());
  CHECK(rank <= MD_MAX_RANK, "an operand has too many dimensions for the ABI");
  tensor.data = base + operand.region.offset;
  tensor.dtype = static_cast<std::int32_t>(operand.dtype);
  tensor.rank = rank;
  std::int64_t stride = 1;
  for (std::int32_t i = rank - 1; i >= 0; --i) {
    tensor.shape[i] = operand.shape[i];
    tensor.stride[i] = stride;
    stride *= operand.shape[i];
  }
  const Region& region = operand.region;
  if (rank > 0 && region.rows > 1 && !is_dense(region)) {
    CHECK(region.rows == operand.shape[0], "the rows of a strided operand are not its first dimension");
    CHECK(region.stride % size_of(operand.dtype) == 0, "an operand's stride is no whole number of elements");
    tensor.stride[0] = region.stride / size_of(operand.dtype);
  }
  return tensor;
}

void prepare(const md_backend& backend, const Program& program, const Inputs& inputs, DeviceState& state) {
  allocate_buffers(backend, program, inputs, state);
  while (state.streams.size() < program.streams.size()) {
    md_stream stream = nullptr;
    require(backend, backend.stream_create(&stream, 1), "making a stream");
    state.streams.push_back(stream);
  }
  while (state.events.size() < static_cast<std::size_t>(program.events)) {
    md_event event = nullptr;
    require(backend, backend.event_create(&event), "making an event");
    state.events.push_back(event);
  }
}

void issue(const md_backend& backend, const md_provider& provider, const Program& program, int number,
           DeviceState& state) {
  const Step& step = program.steps[number];
  const md_stream stream = state.streams[step.stream];
  switch (step.kind) {
    case StepKind::call:
      return issue_call(provider, step, number, state);
    case StepKind::copy:
      return issue_copy(backend, step, number, state);
    case StepKind::fill:
      return issue_fill(backend, step, number, state);
    case StepKind::record:
      return require(backend, backend.event_record(state.events[step.event], stream), "recording an event", number);
    case StepKind::wait:
      return require(backend, backend.stream_wait(stream, state.events[step.event]), "waiting for an event", number);
    case StepKind::alloc:
      return issue_alloc(backend, program, step, number, state);
    case StepKind::free:
      return require(backend, backend.free_async(state.base[step.buffer], stream), "freeing to the pool", number);
    case StepKind::host_sync:
      return require(backend, backend.device_synchronize(), "synchronising", number);
  }
}

}  // namespace moediff
