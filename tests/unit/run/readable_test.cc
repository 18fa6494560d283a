#include "harness/run/readable.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace moediff {
namespace {

TEST(Readable, OnlyMemoryWithReadAccessIs) {
  const ReadableProbe probe;
  void* page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_TRUE(probe.can_read(page));
  mprotect(page, 4096, PROT_NONE);
  EXPECT_FALSE(probe.can_read(page));
  munmap(page, 4096);
  EXPECT_FALSE(probe.can_read(page));
  EXPECT_FALSE(probe.can_read(nullptr));
}

}  // namespace
}  // namespace moediff
