// The rocm modules are complete: every symbol they need is in Debian's HIP runtime, and without a device they say so.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kernels/abi/moediff_abi.h"

namespace {

template <typename Function>
Function load(const char* library, const char* name) {
  const std::string path = std::string(MOEDIFF_BUILD_DIR) + "/" + library;
  void* handle = dlopen(path.c_str(), RTLD_NOW);
  EXPECT_NE(handle, nullptr) << dlerror();
  return handle == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(handle, name));
}

TEST(RocmLinks, TheBackendLoadsAndCountsItsDevicesOrSaysWhyNot) {
  const auto entry = load<decltype(&moediff_backend)>("libmoediff_rocm.so", "moediff_backend");
  ASSERT_NE(entry, nullptr);
  const md_backend* backend = entry(MOEDIFF_ABI_VERSION);
  ASSERT_NE(backend, nullptr);
  EXPECT_STREQ(backend->name, "rocm");
  EXPECT_THAT(backend->runtime, ::testing::StartsWith("HIP "));
  EXPECT_EQ(backend->host, nullptr);
  const int devices = backend->device_count();
  EXPECT_GE(devices, 0);
  if (devices == 0) {
    EXPECT_NE(backend->set_device(0), 0);
    EXPECT_THAT(backend->last_error(), ::testing::HasSubstr("hipSetDevice"));
  }
}

TEST(RocmLinks, TheProviderLoadsWithTheSameFlagsAsOnTheHost) {
  const auto entry = load<decltype(&moediff_provider)>("libmoediff_builtin_rocm.so", "moediff_provider");
  ASSERT_NE(entry, nullptr);
  const md_provider* provider = entry(MOEDIFF_ABI_VERSION);
  ASSERT_NE(provider, nullptr);
  EXPECT_STREQ(provider->backend, "rocm");
  EXPECT_EQ(provider->flags, MD_PROVIDER_DETERMINISTIC | MD_PROVIDER_BATCH_INVARIANT);
  EXPECT_EQ(provider->select_variants("combine=alias1"), 0);
  EXPECT_NE(provider->select_variants("combine=none_such"), 0);
}

TEST(RocmLinks, AnotherAbiVersionIsRefused) {
  EXPECT_EQ(load<decltype(&moediff_backend)>("libmoediff_rocm.so", "moediff_backend")(MOEDIFF_ABI_VERSION + 1),
            nullptr);
  EXPECT_EQ(
      load<decltype(&moediff_provider)>("libmoediff_builtin_rocm.so", "moediff_provider")(MOEDIFF_ABI_VERSION + 1),
      nullptr);
}

}  // namespace
