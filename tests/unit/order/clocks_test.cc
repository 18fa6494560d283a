// Happens-before, edge by edge.
#include "harness/order/clocks.h"

#include <gtest/gtest.h>

namespace moediff {
namespace {

using Kind = TraceItem::Kind;

TraceItem item(Kind kind, int stream, int event = -1, bool blocking = true) {
  TraceItem made;
  made.kind = kind;
  made.stream = stream;
  made.event = event;
  made.blocking = blocking;
  return made;
}
TraceItem launch(int stream, int step = -1, bool blocking = true) {
  TraceItem made = item(Kind::launch, stream, -1, blocking);
  made.step = step;
  return made;
}

bool before(const std::vector<TraceItem>& items, int a, int b) { return Clocks(items, 0).item_before(a, b); }

TEST(Clocks, OneStreamIsOrderedAndTwoAreNot) {
  const std::vector<TraceItem> items{launch(1), launch(1), launch(2)};
  EXPECT_TRUE(before(items, 0, 1));
  EXPECT_FALSE(before(items, 1, 0));
  EXPECT_FALSE(before(items, 0, 2));
  EXPECT_FALSE(before(items, 2, 0));
}

TEST(Clocks, AWaitFollowsTheLastRecordIssuedBeforeIt) {
  const std::vector<TraceItem> items{launch(1), item(Kind::record, 1, 7), launch(1), item(Kind::record, 1, 7),
                                     launch(1), item(Kind::wait, 2, 7),   launch(2)};
  EXPECT_TRUE(before(items, 2, 6));   // before the second record
  EXPECT_FALSE(before(items, 4, 6));  // after it
}

TEST(Clocks, AWaitIssuedBeforeTheRecordOrdersNothing) {
  const std::vector<TraceItem> items{item(Kind::wait, 2, 0), launch(1), item(Kind::record, 1, 0), launch(2)};
  EXPECT_FALSE(before(items, 1, 3));
}

TEST(Clocks, EdgesChainThroughAThirdStream) {
  const std::vector<TraceItem> items{
      launch(1), item(Kind::record, 1, 0), item(Kind::wait, 2, 0), item(Kind::record, 2, 1), item(Kind::wait, 3, 1),
      launch(3)};
  EXPECT_TRUE(before(items, 0, 5));
}

TEST(Clocks, TheNullStreamOrdersBlockingStreamsInBothDirections) {
  const std::vector<TraceItem> items{launch(1), launch(0), launch(2)};
  EXPECT_TRUE(before(items, 0, 1));
  EXPECT_TRUE(before(items, 1, 2));
  EXPECT_TRUE(before(items, 0, 2));
}

TEST(Clocks, NonBlockingStreamsAreExemptFromTheNullStream) {
  const std::vector<TraceItem> items{launch(1, -1, false), launch(0), launch(2, -1, false)};
  EXPECT_FALSE(before(items, 0, 1));
  EXPECT_FALSE(before(items, 1, 2));
}

TEST(Clocks, DeviceSyncOrdersEverythingIssuedLater) {
  const std::vector<TraceItem> items{launch(1), item(Kind::device_sync, 0), launch(2)};
  EXPECT_TRUE(before(items, 0, 2));
}

TEST(Clocks, StreamSyncOrdersOnlyItsStream) {
  const std::vector<TraceItem> items{launch(1), launch(2), item(Kind::stream_sync, 1), launch(3)};
  EXPECT_TRUE(before(items, 0, 3));
  EXPECT_FALSE(before(items, 1, 3));
}

TEST(Clocks, EventSyncOrdersWhatWasRecorded) {
  const std::vector<TraceItem> items{launch(1), item(Kind::record, 1, 0), launch(1), item(Kind::event_sync, 1, 0),
                                     launch(2)};
  EXPECT_TRUE(before(items, 0, 4));
  EXPECT_FALSE(before(items, 2, 4));
}

TEST(Clocks, AStepIsBeforeAnotherOnlyWithAllItsItems) {
  const std::vector<TraceItem> items{launch(1, 0), item(Kind::record, 1, 0), launch(1, 0), item(Kind::wait, 2, 0),
                                     launch(2, 1)};
  const Clocks clocks(items, 2);
  EXPECT_FALSE(clocks.before(0, 1));
  EXPECT_TRUE(clocks.unordered(0, 1));
}

TEST(Clocks, ClosureCrossesWordBoundaries) {
  std::vector<TraceItem> items;
  for (int i = 0; i < 200; ++i) items.push_back(launch(1 + i % 2));
  const Clocks clocks(items, 0);
  EXPECT_TRUE(clocks.item_before(0, 198));
  EXPECT_FALSE(clocks.item_before(1, 198));
  EXPECT_FALSE(clocks.item_before(63, 64));
}

}  // namespace
}  // namespace moediff
