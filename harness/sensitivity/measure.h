// Runs a defect and asks every check: ours, and those of the field.
#pragma once

#include <string>
#include <vector>

#include "harness/run/executor.h"
#include "harness/sensitivity/defect.h"

namespace moediff {

struct Measured {
  const Defect* defect = nullptr;
  bool control_passes = false;  ///< the healthy candidate is accepted by our check
  bool caught = false;          ///< our check rejects the defective one
  bool certain = false;         ///< … beyond the hard bound
  std::string where;            ///< first stage that fails, "gemm1_out"
  double budget_used = 0;       ///< there
  std::int64_t changed = 0;     ///< stored elements of any stage that differ from the healthy run's
  /// By rivals(): whether the check rejects it, and whether it rejects the healthy candidate too, which makes its
  /// verdict worth nothing here.
  std::vector<bool> rivals, rivals_cry_wolf;
  std::string problem;  ///< why it could not be run; "" = it was
  /// As the row says: the control passes, and the defect is caught unless it is declared invisible.
  bool as_expected() const;
};

Measured measure(const Defect& defect, Executor& executor);

}  // namespace moediff
