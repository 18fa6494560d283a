// memfd + seals + SCM_RIGHTS. A sealed file cannot shrink, so reading a mapping of it cannot raise SIGBUS.
#include "harness/run/message.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <system_error>

namespace moediff {
namespace {

constexpr std::uint64_t kMagic = 0x31666669'64656f6dull;  // "moediff1"
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

struct Header {
  std::uint64_t magic = kMagic;
  std::uint32_t kind = 0;
  std::uint32_t has_file = 0;
  std::uint64_t number = 0, bytes = 0;
};

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

/// The first descriptor that came with the message; further ones are closed.
Descriptor take_descriptor(msghdr& message) {
  Descriptor first;
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr; control = CMSG_NXTHDR(&message, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(control) + i * sizeof(int), sizeof fd);
      Descriptor descriptor(fd);
      if (first.get() < 0) first = std::move(descriptor);
    }
  }
  return first;
}

/// True when there is something to read or the other end is gone.
bool wait_readable(int socket, std::optional<Deadline> deadline) {
  for (;;) {
    int wait_ms = -1;
    if (deadline) {
      const std::chrono::duration<double, std::milli> rest = *deadline - std::chrono::steady_clock::now();
      wait_ms = static_cast<int>(std::clamp(std::ceil(rest.count()), 0.0, 1e9));
    }
    pollfd entry{socket, POLLIN, 0};
    const int ready = poll(&entry, 1, wait_ms);
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) fail("poll");
  }
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = other.release();
  }
  return *this;
}

int Descriptor::release() {
  const int fd = fd_;
  fd_ = -1;
  return fd;
}

void Descriptor::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Deadline deadline_in(double seconds) {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
}

Descriptor make_sealed_file(std::span<const std::byte> bytes) {
  Descriptor file(memfd_create("moediff", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.get() < 0) fail("memfd_create");
  while (!bytes.empty()) {
    const ssize_t done = write(file.get(), bytes.data(), bytes.size());
    if (done < 0 && errno != EINTR) fail("writing shared memory");
    if (done > 0) bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  if (fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) fail("sealing shared memory");
  return file;
}

MappedFile::MappedFile(const Descriptor& file, std::uint64_t bytes) : size_(bytes) {
  struct stat status {};
  if (file.get() < 0 || fstat(file.get(), &status) != 0) return;
  const int seals = fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals || static_cast<std::uint64_t>(status.st_size) != bytes) return;
  if (bytes > 0) {
    void* address = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (address == MAP_FAILED) return;
    address_ = address;
  }
  valid_ = true;
}

MappedFile::~MappedFile() {
  if (address_ != nullptr) munmap(address_, size_);
}

std::optional<std::span<const std::byte>> MappedFile::bytes() const {
  if (!valid_) return std::nullopt;
  return std::span{static_cast<const std::byte*>(address_), size_};
}

bool send_message(int socket, MessageKind kind, std::uint64_t number, const Descriptor& file, std::uint64_t bytes) {
  Header header;
  header.kind = static_cast<std::uint32_t>(kind);
  header.has_file = file.get() >= 0 ? 1 : 0;
  header.number = number;
  header.bytes = bytes;
  iovec part{&header, sizeof header};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (file.get() >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    const int fd = file.get();
    std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  }
  for (;;) {
    if (sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof header)) return true;
    if (errno != EINTR) return false;
  }
}

bool send_message(int socket, MessageKind kind, std::uint64_t number, std::span<const std::byte> bytes) {
  return send_message(socket, kind, number, make_sealed_file(bytes), bytes.size());
}

Received receive_message(int socket, Message& message, std::optional<Deadline> deadline) {
  if (!wait_readable(socket, deadline)) return Received::timeout;
  Header header;
  iovec part{&header, sizeof header};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> control{};
  msghdr raw{};
  raw.msg_iov = &part;
  raw.msg_iovlen = 1;
  raw.msg_control = control.data();
  raw.msg_controllen = control.size();
  ssize_t size = 0;
  do {
    size = recvmsg(socket, &raw, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size <= 0) return Received::closed;
  message.file = take_descriptor(raw);
  const bool whole = size == static_cast<ssize_t>(sizeof header) && (raw.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  const bool known = header.magic == kMagic && header.kind <= static_cast<std::uint32_t>(MessageKind::run);
  if (!whole || !known || (header.has_file == 1) != (message.file.get() >= 0)) return Received::garbage;
  message.kind = static_cast<MessageKind>(header.kind);
  message.number = header.number;
  message.bytes = header.bytes;
  return Received::message;
}

}  // namespace moediff
