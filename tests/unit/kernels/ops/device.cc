#include "tests/unit/kernels/ops/device.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

namespace moediff::test {
namespace {

void* symbol(const char* library, const char* name) {
  const std::string path = std::string(MOEDIFF_BUILD_DIR) + "/" + library;
  void* handle = dlopen(path.c_str(), RTLD_NOW);
  EXPECT_NE(handle, nullptr) << dlerror();
  void* address = handle == nullptr ? nullptr : dlsym(handle, name);
  EXPECT_NE(address, nullptr) << path << " does not export " << name;
  return address;
}

std::size_t size_of(int dtype) {
  constexpr std::size_t kSizes[] = {4, 2, 8, 4, 1, 2, 1, 1, 1, 1, 1, 1, 8, 8};  // by md_dtype
  return kSizes[dtype];
}

/// Offset in elements of the index-th element in row-major order.
std::int64_t offset_of(const md_tensor& tensor, std::int64_t index) {
  std::int64_t offset = 0;
  for (int d = tensor.rank - 1; d >= 0; --d) {
    offset += index % tensor.shape[d] * tensor.stride[d];
    index /= tensor.shape[d];
  }
  return offset;
}

/// IEEE 754 binary16.
double value_of_f16(std::uint32_t bits) {
  const auto fraction = static_cast<int>(bits & 0x3ffu), exponent = static_cast<int>(bits >> 10 & 31u);
  double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 31) magnitude = fraction == 0 ? INFINITY : NAN;
  return (bits & 0x8000u) != 0 ? -magnitude : magnitude;
}

double value_at(const std::uint8_t* at, int dtype) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, size_of(dtype));
  const auto bits = static_cast<std::uint32_t>(word);
  if (dtype == MD_I32) return static_cast<std::int32_t>(bits);
  if (dtype == MD_F16) return value_of_f16(bits);
  return std::bit_cast<float>(dtype == MD_BF16 ? bits << 16 : bits);
}

/// Of a value that f16 holds, or that overflows.
std::uint32_t bits_of_f16(double x) {
  const std::uint32_t sign = std::signbit(x) ? 0x8000u : 0u;
  const double magnitude = std::fabs(x);
  if (std::isnan(x)) return 0x7e00u;
  if (magnitude > 65504) return sign | 0x7c00u;
  if (magnitude < 0x1p-14) return sign | static_cast<std::uint32_t>(std::ldexp(magnitude, 24));
  const int exponent = std::ilogb(magnitude);
  const auto significand = static_cast<std::uint32_t>(std::ldexp(magnitude, 10 - exponent));  // 1024 to 2047
  return sign | ((static_cast<std::uint32_t>(exponent + 14) << 10) + significand);
}

}  // namespace

std::int64_t element_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t n : shape) count *= n;
  return count;
}

Array integers(std::vector<std::int64_t> shape, std::uint64_t seed, int range) {
  std::mt19937_64 random(seed);
  std::vector<double> values(element_count(shape));
  for (double& v : values) v = static_cast<double>(random() % (2 * range + 1)) - range;
  return {std::move(shape), std::move(values)};
}

Array normals(std::vector<std::int64_t> shape, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<double> values(element_count(shape));
  for (double& v : values) v = normal(random);
  return {std::move(shape), std::move(values)};
}

Array constant(std::vector<std::int64_t> shape, double value) {
  std::vector<double> values(element_count(shape), value);
  return {std::move(shape), std::move(values)};
}

double rounded(double x, md_dtype dtype) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int digits = dtype == MD_BF16 ? 8 : dtype == MD_F16 ? 11 : 24;
  const int exponent = std::max(std::ilogb(x), dtype == MD_F16 ? -14 : -126);
  const double unit = std::ldexp(1.0, exponent - digits + 1);
  const double value = std::nearbyint(x / unit) * unit;
  return dtype == MD_F16 && std::fabs(value) > 65504 ? std::copysign(INFINITY, x) : value;
}

std::uint32_t bits_of(double x, md_dtype dtype) {
  if (dtype == MD_F16) return bits_of_f16(rounded(x, dtype));
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(rounded(x, dtype)));
  return dtype == MD_BF16 ? bits >> 16 : bits;
}

md_params scalars() {
  md_params params{};
  params.top_k = params.n_group = params.topk_group = params.split_k = 1;
  params.factor = 1.0f;
  return params;
}

md_params routing(int top_k, int n_group, int topk_group, bool norm_topk_prob, float factor) {
  md_params params = scalars();
  params.top_k = top_k;
  params.n_group = n_group;
  params.topk_group = topk_group;
  params.norm_topk_prob = norm_topk_prob ? 1 : 0;
  params.factor = factor;
  return params;
}

Device::Device() {
  backend_ = reinterpret_cast<decltype(&moediff_backend)>(symbol("libmoediff_host.so", "moediff_backend"))(
      MOEDIFF_ABI_VERSION);
  provider_ = reinterpret_cast<decltype(&moediff_provider)>(symbol("libmoediff_builtin_host.so", "moediff_provider"))(
      MOEDIFF_ABI_VERSION);
  EXPECT_EQ(backend_->set_device(0), 0) << backend_->last_error();
  EXPECT_EQ(select(""), 0);
}

Device::~Device() {
  backend_->device_synchronize();
  for (const auto& [pointer, bytes] : allocations_) backend_->free_memory(pointer);
}

md_tensor Device::blank(const std::vector<std::int64_t>& shape, md_dtype dtype, std::int64_t pad) {
  md_tensor tensor{};
  tensor.dtype = dtype;
  tensor.rank = static_cast<int>(shape.size());
  std::int64_t stride = 1;
  for (int d = tensor.rank - 1; d >= 0; --d) {
    tensor.shape[d] = shape[d];
    tensor.stride[d] = stride;
    stride *= shape[d] + (d == tensor.rank - 1 ? pad : 0);
  }
  const auto bytes = static_cast<std::int64_t>(size_of(dtype)) * stride;
  EXPECT_EQ(backend_->allocate(&tensor.data, bytes, MD_MEMORY_VALUE, "tensor"), 0) << backend_->last_error();
  allocations_[tensor.data] = bytes;
  return tensor;
}

md_tensor Device::upload(const Array& array, md_dtype dtype, std::int64_t pad) {
  const md_tensor tensor = blank(array.shape, dtype, pad);
  std::vector<std::uint8_t> memory = bytes(tensor);
  for (std::size_t i = 0; i < array.values.size(); ++i) {
    const double v = array.values[i];
    const std::uint32_t bits =
        dtype == MD_I32 ? static_cast<std::uint32_t>(static_cast<std::int32_t>(v)) : bits_of(v, dtype);
    std::memcpy(&memory[offset_of(tensor, static_cast<std::int64_t>(i)) * size_of(dtype)], &bits, size_of(dtype));
  }
  if (memory.empty()) return tensor;
  EXPECT_EQ(backend_->copy_in(tensor.data, memory.data(), static_cast<std::int64_t>(memory.size())), 0)
      << backend_->last_error();
  return tensor;
}

md_tensor Device::upload_bytes(const std::vector<std::int64_t>& shape, md_dtype dtype, const void* data) {
  const md_tensor tensor = blank(shape, dtype);
  const std::int64_t size = element_count(shape) * static_cast<std::int64_t>(size_of(dtype));
  if (size == 0) return tensor;
  EXPECT_EQ(backend_->copy_in(tensor.data, data, size), 0) << backend_->last_error();
  return tensor;
}

std::vector<std::uint8_t> Device::bytes(const md_tensor& tensor) const {
  std::vector<std::uint8_t> memory(allocations_.at(tensor.data));
  if (memory.empty()) return memory;
  EXPECT_EQ(backend_->copy_out(memory.data(), tensor.data, static_cast<std::int64_t>(memory.size())), 0)
      << backend_->last_error();
  return memory;
}

Array Device::read(const md_tensor& tensor) const {
  const std::vector<std::uint8_t> memory = bytes(tensor);
  Array array{{tensor.shape, tensor.shape + tensor.rank}, {}};
  for (std::int64_t i = 0; i < element_count(array.shape); ++i) {
    array.values.push_back(value_at(&memory[offset_of(tensor, i) * size_of(tensor.dtype)], tensor.dtype));
  }
  return array;
}

int Device::enqueue(md_op op, const std::vector<md_tensor>& tensors, const md_params& params) {
  const md_call call{sizeof(md_call), op, tensors.data(), static_cast<int>(tensors.size()), params, nullptr};
  return provider_->call(&call);
}

void Device::run(md_op op, const std::vector<md_tensor>& tensors, const md_params& params) {
  EXPECT_EQ(enqueue(op, tensors, params), 0) << provider_->last_error();
  EXPECT_EQ(synchronize(), 0) << backend_->last_error();
}

md_tensor rows_of(const md_tensor& tensor, std::int64_t first, std::int64_t count) {
  md_tensor part = tensor;
  part.data = static_cast<std::uint8_t*>(tensor.data) +
              first * tensor.stride[0] * static_cast<std::int64_t>(size_of(tensor.dtype));
  part.shape[0] = count;
  return part;
}

}  // namespace moediff::test
