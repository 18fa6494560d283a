// A dense row-major tensor in host memory: the value that inputs, captures and files are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/core/dtype.h"

namespace moediff {

using Shape = std::vector<std::int64_t>;

/// Number of elements; 1 for rank 0.
std::int64_t count(const Shape& shape);
/// "[6, 128]".
std::string to_string(const Shape& shape);

struct Tensor {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<std::byte> data;  ///< count(shape) * size_of(dtype) bytes

  Tensor() = default;
  Tensor(DType dtype, Shape shape);  ///< zero-filled

  std::int64_t size() const { return count(shape); }
  template <typename T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(data.data()), data.size() / sizeof(T)};
  }
  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
  }
};

/// Exact conversion of any dtype to double (every format of kDTypes embeds in double).
std::vector<double> to_doubles(const Tensor& tensor);
std::vector<double> to_doubles(DType dtype, std::span<const std::byte> data);
/// Rounds to nearest, ties to even; integers must be exact (CHECK).
Tensor from_doubles(DType dtype, Shape shape, std::span<const double> values);
/// Rows [begin, end) of the first dimension.
Tensor slice_rows(const Tensor& tensor, std::int64_t begin, std::int64_t end);

}  // namespace moediff
