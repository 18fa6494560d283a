#include "harness/cli/doubt.h"

namespace moediff {

void doubt_unwatched(Verdict& verdict, const Run& observation) {
  if (verdict.status != Status::pass || observation.status == RunStatus::ok) return;
  verdict.status = Status::error;
  verdict.explanation =
      "The numbers are right, but the pass that watches every access did not end: " + observation.detail + ".";
}

}  // namespace moediff
