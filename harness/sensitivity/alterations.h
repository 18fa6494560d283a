// Other inputs than the right ones: what a kernel with a defect in its indexing or loading in effect computes with.
#pragma once

#include "harness/program/inputs.h"
#include "harness/scenario/case.h"

namespace moediff::alterations {

/// The last element, or the last 64 elements, of every row of w13 (w2) are as if they were zero; the last 32 count
/// twice.
void last_k_dropped(const Case& spec, Inputs& inputs);
void last_k_of_w2_dropped(const Case& spec, Inputs& inputs);
void last_step_dropped(const Case& spec, Inputs& inputs);
void tail_counted_twice(const Case& spec, Inputs& inputs);
/// Expert 0's gate and up rows exchanged; all experts' interleaved instead of stacked.
void gate_up_swapped(const Case& spec, Inputs& inputs);
void gate_up_interleaved(const Case& spec, Inputs& inputs);
/// Weights of experts 0 and 1 exchanged; w2 rows of expert 0 moved on by one.
void experts_swapped(const Case& spec, Inputs& inputs);
void w2_rows_rolled(const Case& spec, Inputs& inputs);
/// One weight of expert 0 times 1 + 2^-7; one packed int4 byte with its nibbles exchanged; all nibbles
/// taken one lower (zero point 7).
void one_weight_off(const Case& spec, Inputs& inputs);
void nibbles_swapped(const Case& spec, Inputs& inputs);
void zero_point_seven(const Case& spec, Inputs& inputs);
/// Scales of expert 0 moved on by one along k, or along n; one of them times 1 + 2^-6; those of the up half taken from
/// the gate half; halved (the factor 2 of e4m3fnuz forgotten).
void scales_shifted_along_k(const Case& spec, Inputs& inputs);
void scales_shifted_along_n(const Case& spec, Inputs& inputs);
void one_scale_off(const Case& spec, Inputs& inputs);
void up_scales_from_gate(const Case& spec, Inputs& inputs);
void scales_halved(const Case& spec, Inputs& inputs);
/// The gate, or the bias, read in bf16.
void gate_in_bf16(const Case& spec, Inputs& inputs);
void bias_in_bf16(const Case& spec, Inputs& inputs);
/// Gate rows 0 and 1 exchanged; the bias moved on by one expert.
void gate_rows_swapped(const Case& spec, Inputs& inputs);
void bias_shifted(const Case& spec, Inputs& inputs);

}  // namespace moediff::alterations
