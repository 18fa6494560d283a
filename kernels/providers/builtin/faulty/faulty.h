// Faulty implementations of ops, one function each, instantiated for float and Bf16 (the model dtype; operands may be
// quantised). What is wrong with each is said where it is defined.
#pragma once

#include "kernels/providers/builtin/op_call.h"

namespace moediff::kernels {

// wrong_numbers.hip
template <typename T>
int router_wrong_expert(const OpCall& call);
template <typename T>
int gemm2_wrong_math(const OpCall& call);
template <typename T>
int combine_nondeterministic(const OpCall& call);

// undeclared_access.hip
template <typename T>
int gemm1_alias2(const OpCall& call);
template <typename T>
int combine_alias1(const OpCall& call);
template <typename T>
int activation_reads_undeclared(const OpCall& call);
template <typename T>
int residual_add_scribbles(const OpCall& call);

// static_scratch.hip
template <typename T>
int gemm1_static_scratch(const OpCall& call);
template <typename T>
int shared_gemm1_static_scratch(const OpCall& call);

// out_of_bounds.hip
template <typename T>
int gemm2_out_of_bounds(const OpCall& call);
template <typename T>
int gemm2_reads_out_of_bounds(const OpCall& call);

// no_end.hip
template <typename T>
int activation_crash(const OpCall& call);
template <typename T>
int activation_hang(const OpCall& call);
template <typename T>
int activation_barrier_divergence(const OpCall& call);

}  // namespace moediff::kernels
