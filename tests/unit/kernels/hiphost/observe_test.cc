// What observation claims: page by page, reads and writes apart, whoever touches.
#include "tests/unit/kernels/hiphost/fixture.h"
#include "tests/unit/kernels/hiphost/test_provider.h"

namespace moediff::hiphost {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::int64_t kPage = 4096;

__global__ void read_range(const volatile std::uint8_t* bytes, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; i += 64) (void)bytes[i];
}
__global__ void write_range(std::uint8_t* bytes, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; i += 64) bytes[i] = 1;
}
__global__ void increment(std::uint8_t* bytes, std::int64_t at) {
  volatile std::uint8_t* byte = bytes + at;
  const std::uint8_t before = *byte;
  *byte = static_cast<std::uint8_t>(before + 1);
}
__global__ void atomic_add(float* sums, std::int64_t at) { atomicAdd(&sums[at], 1.0f); }

/// "read x 0..4096": readable in failures.
struct Seen {
  std::string label;
  char what;
  std::int64_t begin, end;
  bool operator==(const Seen&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Seen& s) {
    return out << s.what << ' ' << s.label << ' ' << s.begin << ".." << s.end;
  }
};

class ObserveTest : public HostBackendTest {
 protected:
  template <class Issue>
  std::vector<Seen> observe(Issue issue) {
    EXPECT_EQ(0, control.observe_begin()) << backend.last_error();
    issue();
    EXPECT_EQ(0, backend.device_synchronize()) << backend.last_error();
    const md_touch* touches = nullptr;
    const std::int32_t count = control.observe_end(&touches);
    EXPECT_GE(count, 0) << backend.last_error();
    std::vector<Seen> seen;
    for (std::int32_t i = 0; i < count; ++i) {
      const md_touch& touch = touches[i];
      seen.push_back({blocks().at(std::size_t(touch.block)).label, touch.what == MD_TOUCH_READ ? 'r' : 'w', touch.begin,
                      touch.end});
    }
    return seen;
  }
};

TEST_F(ObserveTest, ReadsAndWritesAreSeenPageByPage) {
  auto* x = allocate<std::uint8_t>(10 * kPage, "x");
  auto* y = allocate<std::uint8_t>(10 * kPage, "y");
  const auto seen = observe([&] {
    hipLaunchKernelGGL(read_range, 1, 1, 0, nullptr, x, 2 * kPage + 100, 4 * kPage + 64);
    hipLaunchKernelGGL(write_range, 1, 1, 0, nullptr, y, 9 * kPage, 9 * kPage + 1);
    hipLaunchKernelGGL(write_range, 1, 1, 0, nullptr, y, 0, kPage);
  });
  EXPECT_THAT(seen, UnorderedElementsAre(Seen{"x", 'r', 2 * kPage, 5 * kPage}, Seen{"y", 'w', 0, kPage},
                                         Seen{"y", 'w', 9 * kPage, 10 * kPage}));
}

TEST_F(ObserveTest, RangesAreClippedToTheBlock) {
  auto* x = allocate<std::uint8_t>(kPage + 192, "x");  // begins inside its first page
  const auto seen = observe([&] { hipLaunchKernelGGL(read_range, 1, 1, 0, nullptr, x, 0, 1); });
  EXPECT_THAT(seen, ElementsAre(Seen{"x", 'r', 0, 192}));
}

TEST_F(ObserveTest, AReadBeforeAWriteIsBothAndAReadBehindAWriteIsHidden) {
  auto* x = allocate<std::uint8_t>(kPage, "x");
  auto* y = allocate<std::uint8_t>(kPage, "y");
  const auto seen = observe([&] {
    hipLaunchKernelGGL(increment, 1, 1, 0, nullptr, x, 5);
    hipLaunchKernelGGL(write_range, 1, 1, 0, nullptr, y, 0, 1);
    hipLaunchKernelGGL(read_range, 1, 1, 0, nullptr, y, 0, 1);
  });
  EXPECT_THAT(seen, UnorderedElementsAre(Seen{"x", 'r', 0, kPage}, Seen{"x", 'w', 0, kPage}, Seen{"y", 'w', 0, kPage}));
}

TEST_F(ObserveTest, AnAtomicIsAReadAndAWrite) {
  auto* sums = allocate<float>(kPage / 4, "sums");
  const auto seen = observe([&] { hipLaunchKernelGGL(atomic_add, 1, 1, 0, nullptr, sums, 3); });
  EXPECT_THAT(seen, ElementsAre(Seen{"sums", 'r', 0, kPage}, Seen{"sums", 'w', 0, kPage}));
}

TEST_F(ObserveTest, CopiesAndFillsOfTheRuntimeAreSeen) {
  auto* x = allocate<std::uint8_t>(3 * kPage, "x");
  auto* y = allocate<std::uint8_t>(3 * kPage, "y");
  const auto seen = observe([&] {
    ASSERT_EQ(0, backend.copy_async(y, kPage, x + kPage, kPage, kPage, 1, nullptr));
    ASSERT_EQ(0, backend.fill_async(y + 2 * kPage, 0, kPage, nullptr));
  });
  EXPECT_THAT(seen, UnorderedElementsAre(Seen{"x", 'r', kPage, 2 * kPage}, Seen{"y", 'w', 0, kPage},
                                         Seen{"y", 'w', 2 * kPage, 3 * kPage}));
}

TEST_F(ObserveTest, WeightsAreNotWatchedAndNothingIsSeenOfUntouchedBlocks) {
  auto* weight = allocate<std::uint8_t>(kPage, "weight", MD_MEMORY_WEIGHT);
  allocate<std::uint8_t>(kPage, "untouched");
  EXPECT_THAT(observe([&] { hipLaunchKernelGGL(read_range, 1, 1, 0, nullptr, weight, 0, 1); }), IsEmpty());
}

TEST_F(ObserveTest, StaticDataOfAWatchedLibraryIsSeenToThePage) {
  ASSERT_EQ(0, control.watch_library(test_provider::scratch(), "static data of test_provider"));
  const md_block block = blocks().at(0);
  const std::int64_t at =
      reinterpret_cast<std::byte*>(test_provider::scratch()) - static_cast<std::byte*>(block.address);
  float* out = allocate<float>(1, "out");
  const std::size_t index = 3 * kPage / 4;  // three pages into the scratch
  const std::int64_t first = (at + 3 * kPage) / kPage * kPage;
  EXPECT_THAT(observe([&] { test_provider::write_scratch(index); }),
              Contains(Seen{block.label, 'w', first, first + kPage}));
  EXPECT_THAT(observe([&] { test_provider::read_scratch(index, out); }),
              UnorderedElementsAre(Seen{block.label, 'r', first, first + kPage}, Seen{"out", 'w', 0, 4}));
  EXPECT_EQ(1, block.provider_owned);
}

TEST_F(ObserveTest, ProviderAllocationsAreSeenAndSurviveAReset) {
  control.set_tag(4);
  float* own = test_provider::own_allocation(2048);
  const auto seen = observe([&] { hipLaunchKernelGGL(atomic_add, 1, 1, 0, nullptr, own, 1024); });
  EXPECT_THAT(seen, ElementsAre(Seen{"allocated by step 4", 'r', kPage, 2 * kPage},
                                Seen{"allocated by step 4", 'w', kPage, 2 * kPage}));
  control.reset();
  own[0] = 1;
  EXPECT_EQ(own, blocks().back().address);
  EXPECT_EQ(1, blocks().back().provider_owned);
  ASSERT_EQ(hipSuccess, hipFree(own));
}

TEST_F(ObserveTest, MemoryAllocatedMeanwhileIsWatchedAndItsPoisonIsNoTouch) {
  void* pointer = nullptr;
  const auto seen = observe([&] {
    ASSERT_EQ(0, backend.allocate_async(&pointer, 2 * kPage, MD_MEMORY_VALUE, "late", nullptr));
    hipLaunchKernelGGL(read_range, 1, 1, 0, nullptr, static_cast<std::uint8_t*>(pointer), kPage, kPage + 1);
    ASSERT_EQ(0, backend.free_async(pointer, nullptr));
  });
  EXPECT_THAT(seen, ElementsAre(Seen{"late", 'r', kPage, 2 * kPage}));
}

TEST_F(ObserveTest, AfterwardsEverythingIsAccessibleAgain) {
  auto* x = allocate<std::uint8_t>(5 * kPage, "x");
  auto* y = allocate<std::uint8_t>(5 * kPage, "y");
  EXPECT_THAT(observe([] {}), IsEmpty());
  x[0] = y[5 * kPage - 1] = 1;
  EXPECT_STREQ("", control.check_red_zones());
}

TEST_F(ObserveTest, WorkIssuedBeforeAndExecutedMeanwhileIsSeen) {
  auto* x = allocate<std::uint8_t>(kPage, "x");
  hipLaunchKernelGGL(write_range, 1, 1, 0, nullptr, x, 0, 1);
  EXPECT_THAT(observe([] {}), ElementsAre(Seen{"x", 'w', 0, kPage}));
}

TEST_F(ObserveTest, BeginAndEndComeInPairs) {
  const md_touch* touches = nullptr;
  EXPECT_EQ(-1, control.observe_end(&touches));
  EXPECT_EQ(0, control.observe_begin());
  EXPECT_NE(0, control.observe_begin());
  EXPECT_EQ(0, control.observe_end(&touches));
}

}  // namespace
}  // namespace moediff::hiphost
