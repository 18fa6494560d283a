#include "tests/unit/compare/program_helper.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "harness/core/random.h"

namespace moediff::test {
namespace {

float widen(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

std::uint16_t narrow(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return 0x7fc0;
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/// A strided operand as elements; floats and integers alike travel as double.
class View {
 public:
  View(Memory& memory, const Operand& operand) : bytes_(memory[operand.buffer]), operand_(operand) {
    per_row_ = operand.region.row_bytes / size_of(operand.dtype);
  }
  std::byte* at(std::int64_t i) const {
    const std::int64_t row = i / per_row_, column = i % per_row_;
    return bytes_.data() + operand_.region.offset + (row == 0 ? 0 : row * operand_.region.stride) +
           column * size_of(operand_.dtype);
  }
  float get(std::int64_t i) const {
    if (operand_.dtype == DType::bf16) return widen(load<std::uint16_t>(i));
    return load<float>(i);
  }
  std::int32_t get_int(std::int64_t i) const { return load<std::int32_t>(i); }
  void set(std::int64_t i, float value) const {
    operand_.dtype == DType::bf16 ? save(i, narrow(value)) : save(i, value);
  }
  void set_int(std::int64_t i, std::int32_t value) const { save(i, value); }
  float stored(float value) const { return operand_.dtype == DType::bf16 ? widen(narrow(value)) : value; }
  std::int64_t extent(std::size_t d) const { return operand_.shape[d]; }

 private:
  template <typename T>
  T load(std::int64_t i) const {
    T value;
    std::memcpy(&value, at(i), sizeof(T));
    return value;
  }
  template <typename T>
  void save(std::int64_t i, T value) const {
    std::memcpy(at(i), &value, sizeof(T));
  }
  std::vector<std::byte>& bytes_;
  const Operand& operand_;
  std::int64_t per_row_ = 1;
};

float dot(const View& x, std::int64_t x_row, const View& w, std::int64_t w_begin, std::int64_t k, int splits) {
  const std::int64_t length = (k + splits - 1) / splits;
  float total = 0;
  for (std::int64_t begin = 0; begin < k; begin += length) {
    float partial = 0;
    for (std::int64_t i = begin; i < std::min(begin + length, k); ++i) {
      partial = std::fma(x.get(x_row * k + i), w.get(w_begin + i), partial);
    }
    total = begin == 0 ? partial : total + partial;
  }
  return total;
}

void dense(const View& x, const View& w, const View& out, int splits) {
  const std::int64_t k = x.extent(1), n = out.extent(1);
  for (std::int64_t r = 0; r < out.extent(0); ++r) {
    for (std::int64_t c = 0; c < n; ++c) out.set(r * n + c, dot(x, r, w, c * k, k, splits));
  }
}

void grouped(const View& x, const std::vector<std::int64_t>& source, const View& offsets, const View& w,
             const View& out, int splits) {
  const std::int64_t k = x.extent(1), n = out.extent(1);
  for (std::int64_t e = 0; e + 1 < offsets.extent(0); ++e) {
    for (std::int64_t r = offsets.get_int(e); r < offsets.get_int(e + 1); ++r) {
      for (std::int64_t c = 0; c < n; ++c) out.set(r * n + c, dot(x, source[r], w, (e * n + c) * k, k, splits));
    }
  }
}

float sigmoid(float z) { return 1.0f / (1.0f + std::exp(-z)); }

void silu_and_mul(const View& in, const View& out) {
  const std::int64_t inter = out.extent(1);
  for (std::int64_t r = 0; r < out.extent(0); ++r) {
    for (std::int64_t c = 0; c < inter; ++c) {
      const float gate = in.get(r * 2 * inter + c), up = in.get(r * 2 * inter + inter + c);
      out.set(r * inter + c, out.stored(gate / (1.0f + std::exp(-gate))) * up);
    }
  }
}

void route_token(const OpParams& p, const float* choice, std::int64_t experts, std::vector<std::int32_t>& ids) {
  const std::int64_t in_group = experts / p.n_group;
  std::vector<std::int32_t> groups(p.n_group), candidates;
  std::iota(groups.begin(), groups.end(), 0);
  const auto group_score = [&](std::int32_t g) {
    std::vector<float> c(choice + g * in_group, choice + (g + 1) * in_group);
    std::sort(c.rbegin(), c.rend());
    return c.size() > 1 ? c[0] + c[1] : c[0];
  };
  std::stable_sort(groups.begin(), groups.end(), [&](auto a, auto b) { return group_score(a) > group_score(b); });
  for (std::int32_t e = 0; e < experts; ++e) {
    if (std::find(groups.begin(), groups.begin() + p.topk_group, e / in_group) != groups.begin() + p.topk_group)
      candidates.push_back(e);
  }
  std::stable_sort(candidates.begin(), candidates.end(), [&](auto a, auto b) { return choice[a] > choice[b]; });
  ids.assign(candidates.begin(), candidates.begin() + p.top_k);
}

void router(const OpParams& p, const std::vector<View>& v) {
  dense(v[0], v[1], v[3], 1);
  const std::int64_t tokens = v[3].extent(0), experts = v[3].extent(1);
  for (std::int64_t t = 0; t < tokens; ++t) {
    std::vector<float> score(experts), choice(experts);
    for (std::int64_t e = 0; e < experts; ++e)
      choice[e] = (score[e] = sigmoid(v[3].get(t * experts + e))) + v[2].get(e);
    std::vector<std::int32_t> ids;
    route_token(p, choice.data(), experts, ids);
    float sum = 0;
    for (const std::int32_t id : ids) sum += score[id];
    for (int j = 0; j < p.top_k; ++j) {
      const float weight = p.norm_topk_prob ? score[ids[j]] / sum : score[ids[j]];
      v[4].set_int(t * p.top_k + j, ids[j]);
      v[5].set(t * p.top_k + j, weight * static_cast<float>(p.factor));
    }
  }
}

void dispatch(const std::vector<View>& v) {
  const std::int64_t slots = v[0].extent(0) * v[0].extent(1);
  std::int32_t row = 0;
  for (std::int32_t e = 0; e + 1 < v[1].extent(0); ++e) {
    v[1].set_int(e, row);
    for (std::int32_t slot = 0; slot < slots; ++slot) {
      if (v[0].get_int(slot) != e) continue;
      v[2].set_int(row, slot);
      v[3].set_int(slot, row++);
    }
  }
  v[1].set_int(v[1].extent(0) - 1, row);
}

std::vector<std::int64_t> tokens_of(const View& slots, std::int64_t tokens) {
  std::vector<std::int64_t> source;
  for (std::int64_t r = 0; r < slots.extent(0); ++r) source.push_back(slots.get_int(r) / (slots.extent(0) / tokens));
  return source;
}

std::vector<std::int64_t> same_rows(std::int64_t rows) {
  std::vector<std::int64_t> source(rows);
  std::iota(source.begin(), source.end(), 0);
  return source;
}

void combine(const std::vector<View>& v) {
  const std::int64_t width = v[2].extent(1), hidden = v[3].extent(1);
  for (std::int64_t t = 0; t < v[3].extent(0); ++t) {
    for (std::int64_t h = 0; h < hidden; ++h) {
      float sum = 0;
      for (std::int64_t j = 0; j < width; ++j) {
        const std::int32_t row = v[1].get_int(t * width + j);
        if (row < 0) continue;  // a slot that dispatch dropped
        sum = std::fma(v[2].get(t * width + j), v[0].get(row * hidden + h), sum);
      }
      v[3].set(t * hidden + h, sum);
    }
  }
}

void scale_add(const OpParams& p, const std::vector<View>& v, bool shared) {
  const View& out = v.back();
  for (std::int64_t i = 0; i < out.extent(0) * out.extent(1); ++i) {
    const float scaled = out.stored(static_cast<float>(p.factor) * v[0].get(i));
    out.set(i, shared ? scaled + v[1].get(i) : scaled);
  }
}

void call(const Step& step, Memory& memory) {
  static const Operand kNone{0, {}, DType::f32, {0}, {}};
  std::vector<View> v;
  for (const Operand& operand : step.operands) v.emplace_back(memory, operand.buffer < 0 ? kNone : operand);
  switch (step.op) {
    case OpKind::router:
      return router(step.params, v);
    case OpKind::dispatch:
      return dispatch(v);
    case OpKind::gemm1:
      return grouped(v[0], tokens_of(v[1], v[0].extent(0)), v[2], v[3], v[4], step.params.split_k);
    case OpKind::gemm2:
      return grouped(v[0], same_rows(v[0].extent(0)), v[1], v[2], v[3], 1);
    case OpKind::activation:
    case OpKind::shared_activation:
      return silu_and_mul(v[0], v[1]);
    case OpKind::combine:
      return combine(v);
    case OpKind::shared_gemm1:
      return dense(v[0], v[1], v[2], step.params.split_k);
    case OpKind::shared_gemm2:
      return dense(v[0], v[1], v[2], 1);
    case OpKind::scale_add:
      return scale_add(step.params, v, step.operands[1].buffer >= 0);
    case OpKind::residual_add:
      for (std::int64_t i = 0; i < v[2].extent(0) * v[2].extent(1); ++i) v[2].set(i, v[0].get(i) + v[1].get(i));
  }
}

std::vector<std::byte> pack(const Memory& memory, const Region& region, int buffer) {
  std::vector<std::byte> packed;
  for (std::int64_t row = 0; row < region.rows; ++row) {
    const auto begin = memory[buffer].begin() + region.offset + (row == 0 ? 0 : row * region.stride);
    packed.insert(packed.end(), begin, begin + region.row_bytes);
  }
  return packed;
}

void unpack(Memory& memory, const Region& region, int buffer, const std::vector<std::byte>& packed) {
  for (std::int64_t row = 0; row < region.rows; ++row) {
    std::copy_n(packed.begin() + row * region.row_bytes, region.row_bytes,
                memory[buffer].begin() + region.offset + (row == 0 ? 0 : row * region.stride));
  }
}

void capture(const Memory& memory, const Step& step, const std::vector<int>& operands,
             std::vector<std::vector<std::byte>>& out) {
  out.resize(step.operands.size());
  for (const int i : operands) out[i] = pack(memory, step.operands[i].region, step.operands[i].buffer);
}

Tensor generate(const Value& value, const LayerOptions& options) {
  const std::uint64_t key = stream_key(options.seed, value.initial);
  const bool bias = value.initial == "gate_bias", hidden = value.initial == "hidden_states";
  const double scale = bias ? 0.1 : hidden ? 1.0 : 1.0 / std::sqrt(static_cast<double>(value.shape.back()));
  std::vector<double> numbers(static_cast<std::size_t>(count(value.shape)));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (value.initial == "shared_ids")
      numbers[i] = static_cast<double>(options.experts + static_cast<std::int64_t>(i) % options.n_shared);
    else if (value.initial == "shared_weights")
      numbers[i] = 1.0;
    else if (options.integers && !bias)
      numbers[i] = std::floor(random_uniform(key, i) * 5) - 2;
    else
      numbers[i] = random_normal(key, i) * scale;
  }
  return from_doubles(value.dtype, value.shape, numbers);
}

}  // namespace

Program build_layer(const LayerOptions& options) {
  Case spec;
  spec.shape = {options.hidden,   options.inter, options.experts, options.top_k, options.n_group, options.topk_group,
                options.n_shared, true,          options.factor};
  spec.dtype = options.dtype;
  spec.tokens = options.tokens;
  spec.stream = spec.effective_stream = options.stream;
  spec.chunk = options.chunk;
  spec.split_k = options.split_k;
  spec.residual = options.residual;
  spec.in_place = options.in_place;
  spec.order = IssueOrder::shared_first;
  return build_moe_layer(spec);
}

std::shared_ptr<Inputs> make_layer_inputs(const Program& program, const LayerOptions& options) {
  auto inputs = std::make_shared<Inputs>();
  for (const Value& value : program.values) {
    if (!value.initial.empty()) inputs->emplace(value.initial, generate(value, options));
  }
  return inputs;
}

Run execute(const Program& program, const Inputs& inputs, const Fault& fault) {
  Memory memory;
  for (const Buffer& buffer : program.buffers)
    memory.emplace_back(static_cast<std::size_t>(buffer.bytes), std::byte{0xff});
  for (const Value& value : program.values) {
    if (!value.initial.empty()) unpack(memory, value.region, value.buffer, inputs.at(value.initial).data);
  }
  Run run;
  run.capture.operands.resize(program.steps.size());
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    if (step.kind != StepKind::call && step.kind != StepKind::copy) continue;
    capture(memory, step, read_operands(step), run.capture.operands[s]);
    if (step.kind == StepKind::call)
      call(step, memory);
    else
      unpack(memory, step.operands[1].region, step.operands[1].buffer,
             pack(memory, step.operands[0].region, step.operands[0].buffer));
    if (fault) fault(step, memory);
    capture(memory, step, write_operands(step), run.capture.operands[s]);
  }
  return run;
}

int step_named(const Program& program, const std::string& name) {
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    if (program.steps[s].name == name) return static_cast<int>(s);
  }
  return -1;
}

double read_element(const Memory& memory, const Operand& operand, std::int64_t index) {
  const View view(const_cast<Memory&>(memory), operand);
  return operand.dtype == DType::i32 ? view.get_int(index) : static_cast<double>(view.get(index));
}

void write_element(Memory& memory, const Operand& operand, std::int64_t index, double value) {
  const View view(memory, operand);
  operand.dtype == DType::i32 ? view.set_int(index, static_cast<std::int32_t>(value))
                              : view.set(index, static_cast<float>(value));
}

}  // namespace moediff::test
