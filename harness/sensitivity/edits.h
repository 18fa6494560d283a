// What a defective op stores in the place of the right result: edits of a captured tensor.
#pragma once

#include "harness/sensitivity/defect.h"

namespace moediff::edits {

/// One element, the largest of the first row, to the next value of its dtype.
void one_ulp(const EditContext& context, Tensor& stored);
/// The same for an element near the median magnitude of the tensor.
void one_ulp_of_a_middling_element(const EditContext& context, Tensor& stored);
/// The middle row to zeros.
void lost_row(const EditContext& context, Tensor& stored);
/// The first two rows, or the first two elements of the first row, exchanged.
void swapped_rows(const EditContext& context, Tensor& stored);
void swapped_columns(const EditContext& context, Tensor& stored);
/// The last row as a copy of the one before.
void repeated_row(const EditContext& context, Tensor& stored);
/// Every hundredth element from the row before.
void stale_percent(const EditContext& context, Tensor& stored);
/// Each row's values moved one column on.
void shifted_columns(const EditContext& context, Tensor& stored);
/// Times 1 + 2^-7.
void slightly_scaled(const EditContext& context, Tensor& stored);
/// A code one step further from zero.
void one_code(const EditContext& context, Tensor& stored);

/// gemm1_out from its inputs again, otherwise rounded: towards zero; to 12 significant bits first; with the running sum
/// rounded to bf16 or f16 every 64 products.
void truncated(const EditContext& context, Tensor& stored);
void rounded_twice(const EditContext& context, Tensor& stored);
void accumulated_in_bf16(const EditContext& context, Tensor& stored);
void accumulated_in_f16(const EditContext& context, Tensor& stored);

}  // namespace moediff::edits
