// The verdict on one case.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/model/verdict_words.h"
#include "harness/order/hazard.h"

namespace moediff {

struct Blame {
  std::string op, stage, value, buffer, writer, stream;
  int step = -1;
};

struct Evidence {
  std::string intervention;  ///< "restore hidden_states before shared_gemm1"
  bool cured = false;
  double worst_before = 0, worst_after = 0;  ///< max |actual-expected| / max|expected| of the case's outputs
};

struct Verdict {
  Status status = Status::pass;
  std::optional<Cause> cause;
  bool certain = false;
  Confidence confidence = Confidence::unknown;
  Blame blame;
  std::string explanation;  ///< one sentence with numbers
  std::vector<Evidence> evidence;
  int hazard = -1;  ///< index of the deciding hazard in OrderResult::hazards, -1 when numeric
};

}  // namespace moediff
