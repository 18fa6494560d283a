// The parts of the quantising kernels: reading, measuring and coding runs of a row.
#pragma once

#include "kernels/quant/scale.h"

namespace moediff::kernels {

/// Elements that a thread reads at a time: long enough for the host's vectors.
inline constexpr int kQuantRun = 32;

/// Calls work(T{}) with the type of the codes.
template <typename Acc, typename Work>
__device__ inline void with_code(std::int32_t dtype, const Work& work) {
  if constexpr (std::is_same_v<Acc, Field>) {
    work(Field{});
  } else {
    switch (dtype) {
      case MD_I8:
        return work(std::int8_t{});
      case MD_F8_E4M3FNUZ:
        return work(E4M3Fnuz{});
      default:
        return work(E4M3Fn{});
    }
  }
}

/// Columns [first, end) of a row.
struct Segment {
  std::int64_t row, first, end;
};

/// The `index`-th group of the whole matrix.
__device__ inline Segment segment_at(const Quantize& job, std::int64_t groups, std::int64_t index) {
  const std::int64_t row = index / groups, first = index % groups * job.group;
  return {row, first, first + job.group < job.columns ? first + job.group : job.columns};
}

/// x[i] = the number to be quantised at (row, first + i), for i < count <= kQuantRun.
template <typename Acc>
__device__ inline void load_numbers(const Quantize& job, std::int64_t row, std::int64_t first, std::int64_t count,
                                    Acc (&x)[kQuantRun]) {
  const std::int64_t at = row * job.in_stride + first;
  load_run<kQuantRun, 1>(job.in, job.in_dtype, at, count, x);
  if (!job.gated) return;
  Acc up[kQuantRun];
  load_run<kQuantRun, 1>(job.in, job.in_dtype, at + job.columns, count, up);
  for (int i = 0; i < kQuantRun && i < count; ++i) x[i] = gated(job.gating, x[i], up[i]);
}

/// Calls work(first, count, x) for the runs of a segment that are this worker's among `workers`.
template <typename Acc, typename Work>
__device__ inline void for_each_run(const Quantize& job, const Segment& segment, int worker, int workers,
                                    const Work& work) {
  for (std::int64_t first = segment.first + worker * kQuantRun; first < segment.end;
       first += static_cast<std::int64_t>(workers) * kQuantRun) {
    const std::int64_t left = segment.end - first;
    const int count = static_cast<int>(left < kQuantRun ? left : kQuantRun);
    Acc x[kQuantRun];
    load_numbers(job, segment.row, first, count, x);
    work(first, count, x);
  }
}

template <typename Acc>
__device__ inline Measure<Acc> measure_runs(const Quantize& job, const Segment& segment, int worker, int workers) {
  Measure<Acc> measure = 0;
  for_each_run<Acc>(job, segment, worker, workers, [&](std::int64_t, int count, const Acc* x) {
    for (int i = 0; i < count; ++i) measure = joined(measure, measure_of(x[i]));
  });
  return measure;
}

template <typename Acc>
__device__ inline void code_runs(const Quantize& job, const Segment& segment, int worker, int workers,
                                 const Coder<Acc>& coder) {
  for_each_run<Acc>(job, segment, worker, workers, [&](std::int64_t first, int count, const Acc* x) {
    with_code<Acc>(job.code_dtype, [&](auto code) {
      using Code = decltype(code);
      Code* codes = static_cast<Code*>(job.codes) + segment.row * job.code_stride + first;
      for (int i = 0; i < count; ++i) codes[i] = coder.template code<Code>(x[i]);
    });
  });
}

/// Measures of all threads of the block, joined; a barrier for all of them.
template <typename T>
__device__ inline T joined_in_block(T measure) {
  __shared__ T measures[kThreads];
  measures[threadIdx.x] = measure;
  __syncthreads();
  T all = measures[0];
  for (int i = 1; i < kThreads; ++i) all = joined(all, measures[i]);
  return all;
}

}  // namespace moediff::kernels
