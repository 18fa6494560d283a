// HIP on the CPU: what a plain HIP source needs, as ordinary C++ for clang++ and g++ (no HIP compiler).
//
// Device pointers are host pointers, a stream is a queue that the runtime executes later (scheduler.h), a thread of a
// block is a plain call that gets a fiber of its own only when it has to wait (block_executor.h). What is missing here
// is missing on purpose: a kernel that needs it does not compile, rather than behave differently from a GPU.
#pragma once

#include "hip/detail/device.h"    // threadIdx, __syncthreads, __shfl, atomicAdd, …
#include "hip/detail/host_api.h"  // hipMalloc, hipStreamCreate, …
#include "hip/detail/launch.h"    // hipLaunchKernelGGL
#include "hip/detail/types.h"     // dim3, float4, hipError_t, handles
