// The builtin provider on the host backend, seen only through the C interface, with arrays of plain numbers on both
// sides.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernels/abi/moediff_abi.h"

namespace moediff::test {

/// An array of model numbers or of int32, row-major. Every value is exact in a double.
struct Array {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
  std::int64_t columns() const { return shape.back(); }
};

std::int64_t element_count(std::span<const std::int64_t> shape);
/// Small integers, so that sums of products are exact in fp32: in [-range, range], a function of the seed.
Array integers(std::vector<std::int64_t> shape, std::uint64_t seed, int range = 3);
/// Roughly normal numbers of fp32 (bf16 after upload as such).
Array normals(std::vector<std::int64_t> shape, std::uint64_t seed);
Array constant(std::vector<std::int64_t> shape, double value);

/// Nearest value of the dtype (f32, bf16 or f16), ties to even, computed in double: not the conversion under test.
double rounded(double x, md_dtype dtype);
/// Bits of a value of the dtype as stored.
std::uint32_t bits_of(double x, md_dtype dtype);

/// The scalars of a call: no quantisation, silu, an fp32 sum, sigmoid routing and the rest 0; split_k and factor 1.
md_params scalars();
/// The same with what routing needs.
md_params routing(int top_k, int n_group, int topk_group, bool norm_topk_prob, float factor);

class Device {
 public:
  Device();
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// A tensor with `pad` unused elements after each row; f32, bf16 and f16 values are rounded.
  md_tensor upload(const Array& array, md_dtype dtype, std::int64_t pad = 0);
  /// A contiguous tensor of elements as they are stored.
  md_tensor upload_bytes(const std::vector<std::int64_t>& shape, md_dtype dtype, const void* data);
  /// Unwritten memory (0xFF).
  md_tensor blank(const std::vector<std::int64_t>& shape, md_dtype dtype, std::int64_t pad = 0);
  Array read(const md_tensor& tensor) const;
  /// Elements of a contiguous tensor as they are stored.
  template <typename T>
  std::vector<T> read_as(const md_tensor& tensor) const {
    const std::vector<std::uint8_t> memory = bytes(tensor);
    std::vector<T> values(memory.size() / sizeof(T));
    if (!memory.empty()) std::memcpy(values.data(), memory.data(), memory.size());
    return values;
  }
  /// The whole allocation, padding included.
  std::vector<std::uint8_t> bytes(const md_tensor& tensor) const;

  int select(const std::string& variants) { return provider_->select_variants(variants.c_str()); }
  /// Enqueues without waiting; the provider's status.
  int enqueue(md_op op, const std::vector<md_tensor>& tensors, const md_params& params = scalars());
  int synchronize() { return backend_->device_synchronize(); }
  /// Enqueues and waits; adds a test failure when either does not succeed.
  void run(md_op op, const std::vector<md_tensor>& tensors, const md_params& params = scalars());
  std::string provider_error() const { return provider_->last_error(); }
  const md_backend& backend() const { return *backend_; }
  const md_provider& provider() const { return *provider_; }

 private:
  const md_backend* backend_;
  const md_provider* provider_;
  std::map<void*, std::int64_t> allocations_;  ///< bytes
};

/// An operand that is not there.
inline md_tensor absent() { return md_tensor{}; }
/// Rows [first, first + count) of a tensor.
md_tensor rows_of(const md_tensor& tensor, std::int64_t first, std::int64_t count);

}  // namespace moediff::test
