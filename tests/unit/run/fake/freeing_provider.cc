// A provider on the host runtime that allocates and frees device memory within each call, and computes residual_add and
// scale_add by nothing: its outputs stay unwritten.
#include <hip/hip_runtime.h>

#include "kernels/abi/moediff_abi.h"

namespace {

int call(const md_call*) {
  void* memory = nullptr;
  if (hipMalloc(&memory, 4096) != hipSuccess) return 1;
  return hipFree(memory) == hipSuccess ? 0 : 1;
}

int select_variants(const char*) { return 0; }
const char* last_error() { return "the device has no memory"; }

const md_provider provider{MOEDIFF_ABI_VERSION, "freeing", "host", 0, call, select_variants, last_error};

}  // namespace

extern "C" const md_provider* moediff_provider(std::uint32_t) { return &provider; }
