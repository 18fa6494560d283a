// Kernel variants: faulty implementations of an op, by name. The harness must find each of them; none is ever the
// default.
#pragma once

#include <string>

#include "kernels/providers/builtin/op_call.h"

namespace moediff::kernels {

struct Variant {
  int op;
  const char* name;
  OpKernel kernel;
};

/// "" or "op=variant,op=variant" -> one kernel an op, starting from the correct ones; empty text: done. Otherwise the
/// text names what is unknown and lists what is known.
std::string choose_kernels(const char* variants, OpKernel (&chosen)[MD_OP_COUNT]);

}  // namespace moediff::kernels
