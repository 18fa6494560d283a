// What the calling thread is executing for the device: read by the fault handler, so plain data with static TLS.
#pragma once

#include <cstdint>

namespace moediff::hiphost {

class BlockExecutor;

struct Executing {
  bool active = false;  ///< inside an item: the runtime must not be called
  std::int32_t tag = -1;
  const char* kernel = "";  ///< or "copy", "fill", …
  BlockExecutor* executor = nullptr;
};
// Initial-exec: a general access may allocate, which a signal handler must not.
extern __thread Executing executing __attribute__((tls_model("initial-exec")));

}  // namespace moediff::hiphost
