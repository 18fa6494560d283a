// Sorting of the (token, column) slots by expert.
#pragma once

#include "kernels/hip/tensor.h"

namespace moediff::kernels {

/// Stable counting sort of the slots t*W+j by ids[t, j]: offsets[e] is the first row of expert e, offsets[experts] the
/// number of rows; slots[r] is the slot of row r; slot_rows[s] the row of slot s, -1 when its id is no expert (such a
/// slot has no row; the last rows of `slots` are then left alone).
hipError_t launch_dispatch(Matrix<const std::int32_t> ids, std::int64_t experts, std::int32_t* offsets,
                           std::int32_t* slots, std::int32_t* slot_rows, hipStream_t stream);

}  // namespace moediff::kernels
