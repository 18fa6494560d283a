// Expected × Run → Diff (architecture §5). The local comparison decides; the chained one of the outputs decides too.
#pragma once

#include <memory>

#include "harness/compare/diff.h"
#include "harness/run/run.h"

namespace moediff {

/// The group's inputs prepared for the reference, and a memo of stage results by the content of their inputs: cases
/// that agree bitwise share them. Pure: the order of calls changes no result. Not thread-safe.
class Expected {
 public:
  explicit Expected(std::shared_ptr<const Inputs> inputs);
  ~Expected();
  struct State;
  State& state() { return *state_; }
  const Inputs& inputs() const { return *inputs_; }

 private:
  std::shared_ptr<const Inputs> inputs_;
  std::unique_ptr<State> state_;
};

/// Compares every captured output of every call. `run.status` must be ok.
Diff compare(const Program& program, const Run& run, Expected& expected);

}  // namespace moediff
