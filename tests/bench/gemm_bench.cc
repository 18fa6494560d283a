// Speed of the host GEMMs: the builtin provider's gemm2 and a plain triple loop on the same shape, one after the other
// in one run, so that their ratio means the same on every machine. Not a test: ctest runs one iteration to see that it
// works.
#include <benchmark/benchmark.h>

#include <cmath>

#include "tests/unit/kernels/ops/naive.h"

namespace moediff::test {
namespace {

/// Experts, rows per expert, K and N of a grouped GEMM.
struct Shape {
  std::int64_t experts, rows, k, n;
  explicit Shape(const benchmark::State& state)
      : experts(state.range(0)), rows(state.range(1)), k(state.range(2)), n(state.range(3)) {}
  double operations() const { return 2.0 * static_cast<double>(experts * rows * k * n); }
};

void report(benchmark::State& state, const Shape& shape) {
  state.counters["FLOP/s"] = benchmark::Counter(shape.operations(), benchmark::Counter::kIsIterationInvariantRate,
                                                benchmark::Counter::kIs1000);
}

void provider_gemm2(benchmark::State& state) {
  const Shape shape(state);
  Device device;
  const std::vector<std::int64_t> rows(static_cast<std::size_t>(shape.experts), shape.rows);
  const std::vector<md_tensor> tensors = {device.upload(normals({shape.experts * shape.rows, shape.k}, 1), MD_BF16),
                                          device.upload(offsets_of(rows), MD_I32),
                                          device.upload(normals({shape.experts, shape.n, shape.k}, 2), MD_BF16),
                                          device.blank({shape.experts * shape.rows, shape.n}, MD_BF16)};
  for (auto _ : state) {
    if (device.enqueue(MD_OP_GEMM2, tensors) != 0 || device.synchronize() != 0) state.SkipWithError("the call failed");
  }
  report(state, shape);
}

/// The peer: what one writes down first, in the same arithmetic.
void triple_loop(benchmark::State& state) {
  const Shape shape(state);
  const Array a = normals({shape.experts * shape.rows, shape.k}, 1), w = normals({shape.experts * shape.n, shape.k}, 2);
  const std::vector<float> x(a.values.begin(), a.values.end()), weights(w.values.begin(), w.values.end());
  std::vector<float> out(static_cast<std::size_t>(shape.experts * shape.rows * shape.n));
  for (auto _ : state) {
    for (std::int64_t r = 0; r < shape.experts * shape.rows; ++r) {
      for (std::int64_t n = 0; n < shape.n; ++n) {
        float sum = 0;
        const float* row = &weights[(r / shape.rows * shape.n + n) * shape.k];
        for (std::int64_t k = 0; k < shape.k; ++k) sum = std::fma(x[r * shape.k + k], row[k], sum);
        out[r * shape.n + n] = sum;
      }
    }
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  report(state, shape);
}

void shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"experts", "rows", "K", "N"})->Unit(benchmark::kMicrosecond);
  for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{
           {1, 64, 128, 256}, {1, 64, 512, 256}, {8, 8, 512, 256}, {8, 1, 512, 256}, {8, 8, 64, 64}}) {
    benchmark->Args(shape);
  }
}

BENCHMARK(provider_gemm2)->Apply(shapes);
BENCHMARK(triple_loop)->Apply(shapes);

}  // namespace
}  // namespace moediff::test

BENCHMARK_MAIN();
