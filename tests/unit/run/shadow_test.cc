#include "harness/run/shadow.h"

#include <gtest/gtest.h>

#include <array>

namespace moediff {
namespace {

/// Eight bytes 0 … 7, watched.
struct Watched {
  std::array<std::byte, 8> memory{};
  ShadowBlock shadow;
  explicit Watched(bool provider_owned = false) : shadow(make(memory, provider_owned)) {}
  static ShadowBlock make(std::array<std::byte, 8>& memory, bool provider_owned) {
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i);
    return ShadowBlock(0, md_block{"block", memory.data(), 8, provider_owned ? 1 : 0, MD_MEMORY_VALUE});
  }
  void write(int at, int value) { memory[at] = static_cast<std::byte>(value); }
};

using Ranges = std::vector<ByteRange>;

TEST(Shadow, AChangedByteIsFoundAndOthersAreNot) {
  Watched watched;
  watched.write(2, 9);
  watched.write(3, 3);
  watched.shadow.note_run({{0, 8}});
  EXPECT_EQ(watched.shadow.changed(), (Ranges{{2, 3}}));
}

TEST(Shadow, ARepetitionFromTheComplementFindsBytesWrittenWithTheirOldContent) {
  Watched watched;
  const auto step = [&] {
    watched.write(2, 9);
    watched.write(3, 3);
  };
  step();
  watched.shadow.note_run({{0, 8}});
  watched.shadow.rewind(true);
  EXPECT_EQ(watched.memory[3], std::byte{0xFC});
  step();
  watched.shadow.note_repetition();
  EXPECT_EQ(watched.shadow.changed(), (Ranges{{2, 4}}));
  EXPECT_FALSE(watched.shadow.differs({0, 8}));
}

TEST(Shadow, BytesDeclaredAsReadAreNotComplemented) {
  Watched watched;
  watched.shadow.note_run({{0, 8}});
  watched.shadow.declare_read({0, 4});
  EXPECT_TRUE(watched.shadow.has_undeclared());
  watched.shadow.rewind(true);
  EXPECT_EQ(watched.memory[3], std::byte{3});
  EXPECT_EQ(watched.memory[4], std::byte{0xFB});
  watched.shadow.declare_read({4, 8});
  EXPECT_FALSE(watched.shadow.has_undeclared());
}

TEST(Shadow, AnOutputMadeFromOldContentDiffers) {
  Watched watched;
  const auto step = [&] { watched.memory[5] = watched.memory[1]; };
  step();
  watched.shadow.note_run({{0, 8}});
  watched.shadow.rewind(true);
  step();
  watched.shadow.note_repetition();
  EXPECT_TRUE(watched.shadow.differs({5, 6}));
  EXPECT_FALSE(watched.shadow.differs({0, 5}));
}

TEST(Shadow, AnOutputThatCopiesUndeclaredPoisonOverPoisonDiffers) {
  Watched watched;
  watched.write(1, 0xFF);
  watched.write(5, 0xFF);
  watched.shadow.refresh();
  const auto step = [&] { watched.memory[5] = watched.memory[1]; };
  step();
  watched.shadow.note_run({{0, 8}});
  watched.shadow.declare_output({5, 6});
  watched.shadow.rewind(true);
  step();
  watched.shadow.note_repetition();
  EXPECT_EQ(watched.shadow.changed(), (Ranges{{5, 6}}));
  EXPECT_TRUE(watched.shadow.differs({5, 6}));
}

TEST(Shadow, AByteThatNeitherRunWroteDoesNotDiffer) {
  Watched watched;
  watched.shadow.note_run({{0, 8}});
  watched.shadow.rewind(true);
  watched.shadow.note_repetition();
  EXPECT_FALSE(watched.shadow.differs({0, 8}));
  EXPECT_TRUE(watched.shadow.changed().empty());
}

TEST(Shadow, RestoringBringsTheFirstRunsResultBack) {
  Watched watched;
  watched.write(2, 9);
  const auto result = watched.memory;
  watched.shadow.note_run({{0, 4}});
  watched.shadow.rewind(true);
  watched.write(6, 77);  // a page that the first run did not touch
  watched.shadow.note_repetition();
  watched.shadow.restore();
  EXPECT_EQ(watched.memory, result);
  EXPECT_EQ(watched.shadow.changed(), (Ranges{{2, 3}, {6, 7}}));
}

TEST(Shadow, ProviderOwnedMemoryIsRewoundForTheDeviceAndNeverForHostCode) {
  Watched watched(true);
  watched.write(2, 9);  // the device
  watched.write(3, 9);  // host code, at each issue
  watched.shadow.note_run({{0, 8}});
  watched.shadow.begin_repetition();
  watched.write(3, 10);
  watched.shadow.rewind(true);
  EXPECT_EQ(watched.memory[2], std::byte{2});
  EXPECT_EQ(watched.memory[3], std::byte{10});
  EXPECT_EQ(watched.memory[4], std::byte{4});
  watched.write(2, 11);
  watched.write(5, 11);  // only in the repetition
  watched.shadow.note_repetition();
  watched.shadow.restore();
  EXPECT_EQ(watched.memory[2], std::byte{9});
  EXPECT_EQ(watched.memory[3], std::byte{10});
  EXPECT_EQ(watched.memory[5], std::byte{5});
}

TEST(Shadow, AfterACommitTheNextStepStartsClean) {
  Watched watched;
  watched.write(2, 9);
  watched.shadow.note_run({{0, 8}});
  watched.shadow.commit();
  watched.write(4, 9);
  watched.shadow.note_run({{0, 8}});
  EXPECT_EQ(watched.shadow.changed(), (Ranges{{4, 5}}));
}

}  // namespace
}  // namespace moediff
