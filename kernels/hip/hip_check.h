// HIP_CHECK: a failed HIP call ends the calling function, which returns an int status, with a text for last_error.
#pragma once

#include <string>

#include "kernels/hip/platform.h"

namespace moediff::kernels {

/// Text of the last error on this thread; a C interface returns its c_str().
inline std::string& error_text() {
  thread_local std::string text;
  return text;
}

/// Keeps the text for last_error and returns the status of a failed call.
inline int fail(std::string text) {
  error_text() = std::move(text);
  return 1;
}

inline int fail_hip(const char* call, hipError_t error) {
  return fail(std::string(call) + ": " + hipGetErrorString(error));
}

}  // namespace moediff::kernels

#define HIP_CHECK(call)                                                             \
  do {                                                                              \
    if (const hipError_t hip_check_error = (call); hip_check_error != hipSuccess) { \
      return ::moediff::kernels::fail_hip(#call, hip_check_error);                  \
    }                                                                               \
  } while (false)
