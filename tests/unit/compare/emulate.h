// The emulated candidate's ops: plain float loops over the operands of a step, written from kernels/abi/moediff_abi.h.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "harness/program/program.h"
#include "tests/unit/compare/emulated_formats.h"

namespace moediff::test {

using Memory = std::vector<std::vector<std::byte>>;

/// A strided operand as elements; an absent one has no elements.
class View {
 public:
  View(Memory& memory, const Operand& operand)
      : bytes_(operand.buffer < 0 ? nullptr : memory[static_cast<std::size_t>(operand.buffer)].data()),
        operand_(operand),
        per_row_(operand.buffer < 0 ? 1 : operand.region.row_bytes / size_of(operand.dtype)) {}
  bool present() const { return bytes_ != nullptr; }
  DType dtype() const { return operand_.dtype; }
  std::int64_t extent(std::size_t d) const { return operand_.shape[d]; }
  std::size_t rank() const { return operand_.shape.size(); }

  float get(std::int64_t i) const {
    if (dtype() == DType::f32) return load<float>(i);
    return decode_code(dtype(), size_of(dtype()) == 2 ? load<std::uint16_t>(i) : load<std::uint8_t>(i));
  }
  void set(std::int64_t i, float value) const {
    if (dtype() == DType::f32) return save(i, value);
    const std::uint32_t code = encode_code(dtype(), value);
    size_of(dtype()) == 2 ? save(i, static_cast<std::uint16_t>(code)) : save(i, static_cast<std::uint8_t>(code));
  }
  std::int32_t get_int(std::int64_t i) const { return load<std::int32_t>(i); }
  void set_int(std::int64_t i, std::int32_t value) const { save(i, value); }
  std::uint64_t element(std::int64_t i) const { return load<std::uint64_t>(i); }
  void set_element(std::int64_t i, std::uint64_t value) const { save(i, value); }
  float stored(float value) const { return stored_as(dtype(), value); }

 private:
  std::byte* at(std::int64_t i) const {
    const std::int64_t row = i / per_row_;
    return bytes_ + operand_.region.offset + (row == 0 ? 0 : row * operand_.region.stride) +
           i % per_row_ * size_of(dtype());
  }
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
  std::byte* bytes_;
  const Operand& operand_;
  std::int64_t per_row_;
};

using Views = std::vector<View>;

/// A call on memory; `model` is the Program's dtype.
void emulate(const Step& step, DType model, Memory& memory);

void emulate_router(const OpParams& params, DType model, const Views& v);
void emulate_product(const Step& step, DType model, const Views& v);
void emulate_quantisation(const Step& step, const Views& v);
/// f(gate) * h(up), the activated gate rounded to `dtype` if `twice`.
float gated_in_fp32(const ExpertPolicy& policy, bool twice, DType dtype, float gate, float up);
/// All ops of algebra mode.
void emulate_field(const Step& step, const Views& v);

/// Row of the scales of row `n` of a weight of `rows` rows, and column of the scales of column `k`.
std::int64_t weight_scale_row(const QuantSpec& quant, bool halves, std::int64_t rows, std::int64_t n);
std::int64_t weight_scale_column(const QuantSpec& quant, std::int64_t k);
/// Index of the scale of element (row, k) of activations with `columns` columns.
std::int64_t activation_scale(const QuantSpec& quant, std::int64_t columns, std::int64_t row, std::int64_t k);

/// Operands of a product, by op.
struct ProductOperands {
  int x, weight, out, x_scales, weight_scales, slots, offsets, row_weights;  ///< -1: the op has none
};
ProductOperands product_operands(OpKind op);
/// A row of a product: its own number, row of x, expert, slot (-1: none).
struct ProductRow {
  std::int64_t at, source, expert, slot;
};
std::vector<ProductRow> product_rows(const Step& step, const Views& v);

}  // namespace moediff::test
