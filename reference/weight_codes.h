// The codes of quantised weights and their values.
#pragma once

#include "harness/core/dtype.h"
#include "harness/model/quant.h"

namespace moediff::reference {

/// The value of a code, without its scale. int4: nibble - 8; fp4: e2m1 of OCP MX v1.0, section 5.3.3.
double value_of_code(CodeFormat format, DType fp8, unsigned code);
/// The e2m1 code nearest to `value`: ties to even, the largest beyond it.
unsigned nearest_fp4(double value);

}  // namespace moediff::reference
