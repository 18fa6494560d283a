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

std::size_t size_of(int dtype) { return dtype == MD_BF16 ? 2 : 4; }

/// Offset in elements of the index-th element in row-major order.
std::int64_t offset_of(const md_tensor& tensor, std::int64_t index) {
  std::int64_t offset = 0;
  for (int d = tensor.rank - 1; d >= 0; --d) {
    offset += index % tensor.shape[d] * tensor.stride[d];
    index /= tensor.shape[d];
  }
  return offset;
}

double value_at(const std::uint8_t* at, int dtype) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, at, size_of(dtype));
  if (dtype == MD_I32) return static_cast<std::int32_t>(bits);
  return std::bit_cast<float>(dtype == MD_BF16 ? bits << 16 : bits);
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
  const int digits = dtype == MD_BF16 ? 8 : 24;
  const int exponent = std::max(std::ilogb(x), -126);
  const double unit = std::ldexp(1.0, exponent - digits + 1);
  return std::nearbyint(x / unit) * unit;
}

std::uint32_t bits_of(double x, md_dtype dtype) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(rounded(x, dtype)));
  return dtype == MD_BF16 ? bits >> 16 : bits;
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
