// What each step reads and writes, in bytes of buffers: what the Program declares, corrected by what was observed.
//
// Declared accesses come from the operands. Where a call was observed, a declared access of which no page was touched
// is dropped, and what was touched outside every declaration is added as undeclared. Pages are coarse and changed bytes
// are exact, hence the rules: changed bytes outside the declared writes are an undeclared write; a page touched by a
// read (write) proves something only when it holds no declared operand (no declared write) at all, because values live
// in pages of their own but the parts of one value share pages.
#pragma once

#include <string>
#include <vector>

#include "harness/run/run.h"

namespace moediff {

struct Access {
  int step = -1;
  int buffer = -1;  ///< -1: memory that is no buffer of the Program
  int block = -1;   ///< such memory: index in the observed run's blocks
  Region region;    ///< in the buffer, or in the block
  bool write = false;
  bool declared = true;
  int operand = -1;  ///< of the step, when declared
};

/// `observed` may be null: then exactly the declared accesses.
std::vector<Access> collect_accesses(const Program& program, const Run* observed);

}  // namespace moediff
