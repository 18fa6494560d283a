#include "harness/run/message.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string_view>

namespace moediff {
namespace {

struct SocketPair {
  SocketPair() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    a = Descriptor(ends[0]);
    b = Descriptor(ends[1]);
  }
  Descriptor a, b;
};

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(Message, BytesCrossInASealedFile) {
  SocketPair sockets;
  ASSERT_TRUE(send_message(sockets.a.get(), MessageKind::request, 42, bytes_of("hello")));
  Message message;
  ASSERT_EQ(receive_message(sockets.b.get(), message, deadline_in(1)), Received::message);
  EXPECT_EQ(message.kind, MessageKind::request);
  EXPECT_EQ(message.number, 42u);
  const MappedFile file(message.file, message.bytes);
  ASSERT_TRUE(file.bytes().has_value());
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(file.bytes()->data()), file.bytes()->size()), "hello");
  EXPECT_LT(write(message.file.get(), "x", 1), 0);
}

TEST(Message, NoBytesAreAMessageToo) {
  SocketPair sockets;
  ASSERT_TRUE(send_message(sockets.a.get(), MessageKind::inputs, 1, bytes_of("")));
  Message message;
  ASSERT_EQ(receive_message(sockets.b.get(), message, deadline_in(1)), Received::message);
  const MappedFile file(message.file, message.bytes);
  ASSERT_TRUE(file.bytes().has_value());
  EXPECT_TRUE(file.bytes()->empty());
}

TEST(Message, AFileThatCouldShrinkIsNotMapped) {
  const Descriptor file(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(file.get(), 16), 0);
  EXPECT_FALSE(MappedFile(file, 16).bytes().has_value());
  ASSERT_EQ(fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
  EXPECT_TRUE(MappedFile(file, 16).bytes().has_value());
  EXPECT_FALSE(MappedFile(file, 17).bytes().has_value());
}

TEST(Message, GarbageIsTold) {
  SocketPair sockets;
  const std::string_view longer(
      "longer than a header, much longer than a header, longer than any header that was ever sent");
  const std::string_view as_long_as_a_header("0123456789abcdef0123456789abcdef");
  for (const std::string_view text : {std::string_view("x"), as_long_as_a_header, longer}) {
    ASSERT_GT(send(sockets.a.get(), text.data(), text.size(), 0), 0);
    Message message;
    EXPECT_EQ(receive_message(sockets.b.get(), message, deadline_in(1)), Received::garbage);
  }
}

TEST(Message, TheDeadlineEndsTheWait) {
  SocketPair sockets;
  Message message;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(receive_message(sockets.b.get(), message, deadline_in(0.05)), Received::timeout);
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(waited.count(), 0.05);
  EXPECT_LT(waited.count(), 2);
}

TEST(Message, AClosedEndIsToldAndRaisesNoSignal) {
  SocketPair sockets;
  sockets.a.close();
  Message message;
  EXPECT_EQ(receive_message(sockets.b.get(), message, std::nullopt), Received::closed);
  EXPECT_FALSE(send_message(sockets.b.get(), MessageKind::run, 1, bytes_of("late")));
}

}  // namespace
}  // namespace moediff
