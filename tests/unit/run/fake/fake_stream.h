// How the fake provider puts work on a stream of the fake backends.
#pragma once

#include <functional>

struct FakeStream {
  int number = 0;
  /// Work runs at the next synchronisation (fake) or at once (fakegpu).
  void (*enqueue)(FakeStream* stream, const char* kernel, std::function<void()> work) = nullptr;
};
