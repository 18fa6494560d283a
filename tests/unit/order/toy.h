// Small Programs written by hand, and the Runs that they would leave: trace, placement, observed accesses.
#pragma once

#include <string>
#include <vector>

#include "harness/order/order.h"

namespace moediff::test {

/// Whole-buffer values of 64 bytes unless said otherwise. Steps are scale_add calls: up to two reads and one write.
class Toy {
 public:
  explicit Toy(std::vector<std::string> streams);

  int buffer(const std::string& name, BufferKind kind = BufferKind::activation, std::int64_t bytes = 64,
             bool pooled = false);
  /// A value that fills `rows` of its buffer (all of it when empty). `initial`: present at the start.
  int value(const std::string& name, int in_buffer, bool initial = false, Region rows = {});
  /// A value alone in a buffer of its name.
  int alone(const std::string& name, bool initial = false);

  int call(const std::string& name, int stream, std::vector<int> reads, int write);
  /// gemm1 with a workspace.
  int gemm(const std::string& name, int stream, int read, int write, int workspace);
  int alloc(int in_buffer, int stream);
  int free(int in_buffer, int stream);
  /// `to` waits for what `from` has been given so far; returns the wait step.
  int wait(const std::string& name, int from, int to);
  int host_sync();

  Program program;

 private:
  int add(Step step);
  Operand operand(int value) const;
};

int step_named(const Program& program, const std::string& name);
/// Runs one launch a step (two for the steps named); pooled blocks are handed on in issue order, last freed first.
Run traced(const Program& program, const std::vector<std::string>& two_launches = {});
/// The observation of a Program whose calls touch exactly what they declare. `run`: for its placement.
Run observed(const Program& program, const Run& run);
/// Adds a touch of `step` to an observation, in bytes of a buffer.
void touch(Run& observation, int step, int buffer, Touch::What what, std::int64_t begin, std::int64_t end);
/// "kind writer>reader value" for each hazard.
std::vector<std::string> summary(const Program& program, const OrderResult& result);

}  // namespace moediff::test
