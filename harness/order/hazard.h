// A hazard: two accesses in an order the Program did not mean. Found from declared and observed accesses and the
// clocks of the runtime trace; no number is looked at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/model/verdict_words.h"
#include "harness/program/program.h"

namespace moediff {

struct Hazard {
  Cause kind = Cause::stale_read;
  int writer = -1;                   ///< step; -1: nobody (uninitialised)
  int reader = -1;                   ///< step; for two conflicting writers the later one in issue order; -1: no victim
  int value = -1;                    ///< the value the reader meant, -1 when unknown (provider-owned memory)
  int buffer = -1;                   ///< Program buffer, -1 when provider-owned
  std::string memory;                ///< name of the memory when it is no buffer
  Region region;                     ///< bytes in conflict
  std::string edge_missing;          ///< "aux must wait for main's clone_hidden before shared_gemm1"; "" when ordered
  int edge_from = -1, edge_to = -1;  ///< the same as steps: an event after `edge_from`, waited for before `edge_to`
  bool undeclared = false;           ///< the write (or read) is not in the Program
};

struct OrderResult {
  std::vector<Hazard> hazards;       ///< root causes first
  std::vector<int> redundant_waits;  ///< wait steps that other edges imply
  bool complete = false;             ///< everything observed: no conflict means schedule independent
  std::string incomplete_reason;     ///< when not
};

}  // namespace moediff
