// What the one device of hiphost says of itself.
#pragma once

#include "kernels/hiphost/include/hip/hip_runtime.h"

namespace moediff::hiphost {

inline constexpr const char* kRuntimeName = "hiphost 0.1";

/// The processor's name, the machine's memory and cores; warp, block and shared memory sizes of gfx90a.
hipDeviceProp_t device_properties();

}  // namespace moediff::hiphost
