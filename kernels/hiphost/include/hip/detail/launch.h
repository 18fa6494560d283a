// hipLaunchKernelGGL: takes the kernel's arguments by value and hands a type-free closure to the runtime.
#pragma once

#include <tuple>
#include <utility>

#include "hip/detail/types.h"

namespace moediff::hiphost {

/// A launch as the runtime sees it. `invoke` runs one thread of one block; the runtime calls `destroy` once.
struct Launch {
  const char* text;  ///< the kernel as the source spells it
  dim3 grid, block;
  std::size_t shared_bytes;  ///< dynamic shared memory
  hipStream_t stream;
  void* closure;
  void (*invoke)(void* closure);
  void (*destroy)(void* closure);
};

/// Puts the launch into its stream's queue. Errors are kept for hipGetLastError.
void enqueue(const Launch& launch);

template <class... Params>
struct KernelClosure {
  void (*kernel)(Params...);
  std::tuple<Params...> arguments;

  static void invoke(void* closure) {
    auto* self = static_cast<KernelClosure*>(closure);
    std::apply(self->kernel, self->arguments);
  }
  static void destroy(void* closure) { delete static_cast<KernelClosure*>(closure); }
};

template <class... Params, class... Args>
void launch(const char* text, void (*kernel)(Params...), dim3 grid, dim3 block, std::size_t shared_bytes,
            hipStream_t stream, Args&&... args) {
  using Closure = KernelClosure<Params...>;
  auto* closure = new Closure{kernel, std::tuple<Params...>(std::forward<Args>(args)...)};
  enqueue(Launch{text, grid, block, shared_bytes, stream, closure, &Closure::invoke, &Closure::destroy});
}

}  // namespace moediff::hiphost

/// For kernels with a comma in their template arguments.
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define hipLaunchKernelGGL(kernel, grid, block, shared_bytes, stream, ...) \
  ::moediff::hiphost::launch(#kernel, kernel, grid, block, shared_bytes, stream __VA_OPT__(, ) __VA_ARGS__)
