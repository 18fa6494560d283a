// Can memory be read at all? Asked of the kernel, since trying would be a crash.
#pragma once

#include "harness/run/message.h"

namespace moediff {

/// Lets the kernel copy one byte from the address: it answers EFAULT where we would get a signal.
class ReadableProbe {
 public:
  ReadableProbe();
  bool can_read(const void* address) const;

 private:
  Descriptor file_;
};

}  // namespace moediff
