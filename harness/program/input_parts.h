// The steps of make_inputs: draw or load, fuse the shared experts in, vary.
#pragma once

#include "harness/program/inputs.h"

namespace moediff {

/// Draws all tensors of a generated case but the fused ones.
void generate_inputs(const Case& spec, Inputs& inputs);

/// Adds the tensors of fused shared experts (n_shared > 0): every expert tensor with the suffix _fused, and the
/// constant top-k columns. Only for cases whose shared experts can be cut out of their tensors
/// (scenario/applicability.cc).
void add_fused(const Case& spec, Inputs& inputs);

/// Changes the tensors as the case's variation says.
void vary(const Case& spec, Inputs& inputs);

/// Order of the tokens under Variation::permuted: position -> token.
std::vector<std::int64_t> permutation(const Case& spec);

}  // namespace moediff
