#include "harness/run/bytes.h"

#include <gtest/gtest.h>

namespace moediff {
namespace {

enum class Colour { red, green };
constexpr int enumerators(Colour) { return 2; }

struct Pair {
  int number = 0;
  std::string text;
  std::vector<Colour> colours;
  bool flag = false;
};
template <SameAs<Pair> T>
auto fields(T& x) {
  auto& [a, b, c, d] = x;
  return std::tie(a, b, c, d);
}

std::vector<std::byte> written(const Pair& pair) {
  ByteWriter writer;
  writer.put(pair);
  return writer.take();
}

const Pair kPair{-7, "a\0b", {Colour::green, Colour::red}, true};

TEST(Bytes, AStructComesBackAsItWas) {
  const std::vector<std::byte> bytes = written(kPair);
  ByteReader reader(bytes);
  Pair pair;
  reader.get(pair);
  reader.expect_end();
  EXPECT_EQ(pair.number, -7);
  EXPECT_EQ(pair.text, kPair.text);
  EXPECT_EQ(pair.colours, kPair.colours);
  EXPECT_TRUE(pair.flag);
}

TEST(Bytes, EveryTruncationIsMalformed) {
  const std::vector<std::byte> bytes = written(kPair);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ByteReader reader(std::span<const std::byte>(bytes).first(size));
    Pair pair;
    EXPECT_THROW(reader.get(pair), MalformedBytes) << size;
  }
}

TEST(Bytes, AByteTooManyIsMalformed) {
  std::vector<std::byte> bytes = written(kPair);
  bytes.push_back(std::byte{0});
  ByteReader reader(bytes);
  Pair pair;
  reader.get(pair);
  EXPECT_THROW(reader.expect_end(), MalformedBytes);
}

TEST(Bytes, AnUnknownEnumeratorIsMalformed) {
  ByteWriter writer;
  writer.put(std::int32_t{2});
  const std::vector<std::byte> bytes = writer.take();
  ByteReader reader(bytes);
  Colour colour{};
  EXPECT_THROW(reader.get(colour), MalformedBytes);
}

TEST(Bytes, AHugeLengthIsMalformedAndAllocatesNothing) {
  ByteWriter writer;
  writer.put(std::uint64_t{1} << 60);
  const std::vector<std::byte> bytes = writer.take();
  ByteReader numbers(bytes), texts(bytes);
  std::vector<double> list;
  std::vector<std::string> names;
  EXPECT_THROW(numbers.get(list), MalformedBytes);
  EXPECT_THROW(texts.get(names), MalformedBytes);
}

}  // namespace
}  // namespace moediff
