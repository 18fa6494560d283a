#include "harness/scenario/effective_stream.h"

#include <gtest/gtest.h>

namespace moediff {
namespace {

using enum StreamMode;

TEST(EffectiveStream, AuxHoldsUpToTheThreshold) {
  EXPECT_EQ(effective_stream(aux, 1, 0, 256, 1), aux);
  EXPECT_EQ(effective_stream(aux, 256, 0, 256, 1), aux);
  EXPECT_EQ(effective_stream(aux, 257, 0, 256, 1), none);
  EXPECT_EQ(effective_stream(aux, 5, 0, 4, 1), none);
}

TEST(EffectiveStream, AuxFallsBackWhenChunkedHoweverLargeTheChunk) {
  EXPECT_EQ(effective_stream(aux, 5, 4, 256, 1), none);
  EXPECT_EQ(effective_stream(aux, 5, 100, 256, 1), none);
}

TEST(EffectiveStream, FusedAndNoneDoNotDependOnTheBatch) {
  for (const std::int64_t tokens : {1, 256, 257}) {
    for (const std::int64_t chunk : {0, 4}) {
      EXPECT_EQ(effective_stream(fused, tokens, chunk, 256, 1), fused);
      EXPECT_EQ(effective_stream(none, tokens, chunk, 256, 1), none);
    }
  }
}

TEST(EffectiveStream, WithoutSharedExpertsThereIsNothingToPlace) {
  for (const StreamMode wanted : {none, aux, fused}) EXPECT_EQ(effective_stream(wanted, 5, 0, 256, 0), none);
}

}  // namespace
}  // namespace moediff
