// Content hashes: fixed for good (records of earlier runs hold them), and sensitive to every byte and boundary.
#include "harness/core/hash.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace moediff {
namespace {

std::uint64_t splitmix_finaliser(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

TEST(Hasher, IsFnv1aWithAFinalMix) {
  const std::vector<std::byte> a{std::byte{'a'}};
  EXPECT_EQ(Hasher().add(a).value(), splitmix_finaliser(0xaf63dc4c8601ec8cull));  // FNV-1a 64 of "a", as published
  EXPECT_EQ(Hasher().value(), splitmix_finaliser(0xcbf29ce484222325ull));
}

TEST(Hasher, KeepsTheBoundariesOfTexts) {
  EXPECT_NE(Hasher().add("ab").add("c").value(), Hasher().add("a").add("bc").value());
  EXPECT_NE(Hasher().add("").value(), Hasher().value());
}

TEST(Hasher, ReadsANumberAsEightBytesLowestFirst) {
  const std::vector<std::byte> bytes{std::byte{2}, std::byte{1}, {}, {}, {}, {}, {}, {}};
  EXPECT_EQ(Hasher().add(std::int64_t{0x102}).value(), Hasher().add(bytes).value());
}

TEST(Hasher, ChangesWithEveryBitOfEveryByte) {
  std::set<std::uint64_t> seen;
  for (std::size_t bit = 0; bit < 256; ++bit) {
    std::vector<std::byte> bytes(32);
    bytes[bit / 8] = static_cast<std::byte>(1 << (bit % 8));
    seen.insert(Hasher().add(bytes).value());
  }
  EXPECT_EQ(seen.size(), 256u);
}

TEST(ToHex, HasSixteenDigits) { EXPECT_EQ(to_hex(0xab), "00000000000000ab"); }

}  // namespace
}  // namespace moediff
