// Messages between moediff and its worker: a fixed header on a sequenced-packet socket, and a sealed memory file with
// the bytes, so that tensors cross in shared memory. Neither end trusts the other.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace moediff {

/// A file descriptor with one owner.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  int get() const { return fd_; }
  int release();
  void close();

 private:
  int fd_;
};

enum class MessageKind : std::uint32_t { hello, welcome, inputs, request, run };

struct Message {
  MessageKind kind = MessageKind::hello;
  std::uint64_t number = 0;  ///< of the request or the inputs
  std::uint64_t bytes = 0;   ///< in the file
  Descriptor file;           ///< -1: none
};

enum class Received { message, closed, timeout, garbage };

using Deadline = std::chrono::steady_clock::time_point;
Deadline deadline_in(double seconds);

/// A memory file with these bytes that nobody can change any more. Throws std::system_error.
Descriptor make_sealed_file(std::span<const std::byte> bytes);
/// The file's bytes, mapped while this lives; empty when the file is not sealed or not of the announced size.
class MappedFile {
 public:
  MappedFile(const Descriptor& file, std::uint64_t bytes);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::optional<std::span<const std::byte>> bytes() const;

 private:
  void* address_ = nullptr;
  std::size_t size_ = 0;
  bool valid_ = false;
};

/// False when the other end is gone.
bool send_message(int socket, MessageKind kind, std::uint64_t number, const Descriptor& file, std::uint64_t bytes);
bool send_message(int socket, MessageKind kind, std::uint64_t number, std::span<const std::byte> bytes);
/// Waits for one message; without a deadline, for ever.
Received receive_message(int socket, Message& message, std::optional<Deadline> deadline);

}  // namespace moediff
