// Tensors in host memory: sizes, conversion to and from double, slices of rows.
#include "harness/core/tensor.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "harness/core/check.h"
#include "harness/core/formats.h"

namespace moediff {
namespace {

/// Element i of bytes that need not be aligned.
template <typename T>
T load(std::span<const std::byte> data, std::size_t i) {
  T value;
  std::memcpy(&value, data.data() + i * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
T exact_integer(double value) {
  const bool fits = value >= static_cast<double>(std::numeric_limits<T>::min()) &&
                    value <= static_cast<double>(std::numeric_limits<T>::max()) && std::trunc(value) == value;
  CHECK(fits, "value must be an integer that the dtype holds exactly");
  return static_cast<T>(value);
}

template <typename T, typename Convert>
void store_all(Tensor& tensor, std::span<const double> values, Convert convert) {
  const std::span<T> out = tensor.as<T>();
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = convert(values[i]);
}

template <typename T>
void load_all(std::span<const std::byte> data, std::vector<double>& out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(load<T>(data, i));
}

void decode_bytes(DType dtype, std::span<const std::byte> data, std::vector<double>& out) {
  std::array<double, 256> values{};
  for (std::uint32_t code = 0; code < values.size(); ++code) values[code] = decode(dtype, code);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = values[std::to_integer<std::size_t>(data[i])];
}

}  // namespace

std::int64_t count(const Shape& shape) {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) {
    CHECK(extent >= 0, "an extent must not be negative");
    CHECK(!__builtin_mul_overflow(product, extent, &product), "the number of elements must fit 64 bits");
  }
  return product;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (const std::int64_t extent : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(extent);
  }
  return text + "]";
}

Tensor::Tensor(DType element, Shape extents) : dtype(element), shape(std::move(extents)) {
  data.resize(static_cast<std::size_t>(count(shape)) * static_cast<std::size_t>(size_of(dtype)));
}

std::vector<double> to_doubles(const Tensor& tensor) { return to_doubles(tensor.dtype, tensor.data); }

std::vector<double> to_doubles(DType dtype, std::span<const std::byte> data) {
  const auto width = static_cast<std::size_t>(size_of(dtype));
  CHECK(data.size() % width == 0, "the data must be whole elements");
  std::vector<double> out(data.size() / width);
  switch (dtype) {
    case DType::f32:
      load_all<float>(data, out);
      break;
    case DType::f64:
      load_all<double>(data, out);
      break;
    case DType::i32:
      load_all<std::int32_t>(data, out);
      break;
    case DType::u8:
      load_all<std::uint8_t>(data, out);
      break;
    case DType::i8:
      load_all<std::int8_t>(data, out);
      break;
    case DType::i64:
      load_all<std::int64_t>(data, out);  // exact up to 2^53
      break;
    case DType::bf16:
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = double_from_bf16(load<std::uint16_t>(data, i));
      break;
    case DType::f16:
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = decode(dtype, load<std::uint16_t>(data, i));
      break;
    case DType::f8_e4m3fn:
    case DType::f8_e4m3fnuz:
    case DType::f8_e5m2:
    case DType::f8_e5m2fnuz:
    case DType::f8_e8m0:
      decode_bytes(dtype, data, out);
      break;
    case DType::field:
      check_failed(__FILE__, __LINE__, "field elements are not reals", "");
  }
  return out;
}

Tensor from_doubles(DType dtype, Shape shape, std::span<const double> values) {
  Tensor tensor(dtype, std::move(shape));
  CHECK(tensor.size() == static_cast<std::int64_t>(values.size()), "the shape must hold exactly the values");
  switch (dtype) {
    case DType::f32:
      store_all<float>(tensor, values, [](double v) { return static_cast<float>(round_to(DType::f32, v)); });
      break;
    case DType::f64:
      store_all<double>(tensor, values, [](double v) { return v; });
      break;
    case DType::bf16:
      store_all<std::uint16_t>(tensor, values, bf16_from_double);
      break;
    case DType::i32:
      store_all<std::int32_t>(tensor, values, exact_integer<std::int32_t>);
      break;
    case DType::u8:
      store_all<std::uint8_t>(tensor, values, exact_integer<std::uint8_t>);
      break;
    case DType::i8:
      store_all<std::int8_t>(tensor, values, exact_integer<std::int8_t>);
      break;
    case DType::i64:
      store_all<std::int64_t>(tensor, values, exact_integer<std::int64_t>);
      break;
    case DType::f16:
      store_all<std::uint16_t>(tensor, values,
                               [](double v) { return static_cast<std::uint16_t>(encode(DType::f16, v)); });
      break;
    case DType::f8_e4m3fn:
    case DType::f8_e4m3fnuz:
    case DType::f8_e5m2:
    case DType::f8_e5m2fnuz:
    case DType::f8_e8m0:
      store_all<std::uint8_t>(tensor, values, [&](double v) { return static_cast<std::uint8_t>(encode(dtype, v)); });
      break;
    case DType::field:
      check_failed(__FILE__, __LINE__, "field elements are not reals", "");
  }
  return tensor;
}

Tensor slice_rows(const Tensor& tensor, std::int64_t begin, std::int64_t end) {
  CHECK(!tensor.shape.empty(), "only a tensor with a first dimension has rows");
  CHECK(0 <= begin && begin <= end && end <= tensor.shape[0], "the rows must exist");
  Shape shape = tensor.shape;
  shape[0] = end - begin;
  Tensor slice(tensor.dtype, std::move(shape));
  const Shape row_shape(tensor.shape.begin() + 1, tensor.shape.end());
  const auto row_bytes = static_cast<std::size_t>(count(row_shape)) * static_cast<std::size_t>(size_of(tensor.dtype));
  if (!slice.data.empty()) {
    std::memcpy(slice.data.data(), tensor.data.data() + static_cast<std::size_t>(begin) * row_bytes, slice.data.size());
  }
  return slice;
}

}  // namespace moediff
