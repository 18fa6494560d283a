// Why a run could not be completed: unwinds the execution of a Program and becomes Run::status.
#pragma once

#include <exception>
#include <string>

#include "harness/run/run.h"

namespace moediff {

class RunFailure : public std::exception {
 public:
  RunFailure(RunStatus status, std::string detail, int step = -1)
      : status_(status), detail_(std::move(detail)), step_(step) {}
  const char* what() const noexcept override { return detail_.c_str(); }
  RunStatus status() const { return status_; }
  int step() const { return step_; }

 private:
  RunStatus status_;
  std::string detail_;
  int step_;
};

/// The Run that a failure leaves behind.
inline Run failed_run(RunStatus status, std::string detail, int step) {
  Run run;
  run.status = status;
  run.detail = std::move(detail);
  run.failing_step = step;
  return run;
}

}  // namespace moediff
