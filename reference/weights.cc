// What stored weights stand for: code times scale. fp8 and int8 exactly, as the product of the codes is scaled after
// the sum; int4 and mxfp4 as the kernels dequantise before the product: in fp32, then rounded to the model dtype.
#include <algorithm>
#include <array>
#include <vector>

#include "reference/api.h"
#include "reference/formats.h"
#include "reference/packed.h"
#include "reference/parallel.h"
#include "reference/require.h"
#include "reference/scales.h"
#include "reference/weight_codes.h"

namespace moediff::reference {
namespace {

/// The value of each code.
std::vector<double> code_values(CodeFormat format, DType fp8) {
  std::vector<double> values(is_packed(format) ? 16 : 256);
  for (unsigned code = 0; code < values.size(); ++code) values[code] = value_of_code(format, fp8, code);
  return values;
}

}  // namespace

std::vector<double> weight_values(const StoredWeight& weight, const QuantSpec& spec, bool halves, DType model) {
  const CodeFormat format = row(spec.scheme).weight;
  const WeightScaleMap map(spec, weight.n, weight.k, halves);
  require(weight.sn == map.sn() && weight.sk == map.sk(), "scales must have the shape of the scheme");
  require(static_cast<std::int64_t>(weight.scales.size()) == weight.sn * weight.sk, "scales must be [sn, sk]");
  require(static_cast<std::int64_t>(weight.codes.size()) == weight.n * row_bytes(format, weight.k),
          "codes must be [n, bytes of a row]");
  const std::vector<double> values = code_values(format, spec.fp8_dtype());
  std::vector<double> out(static_cast<std::size_t>(weight.n * weight.k));
#pragma omp parallel for schedule(static) if (worth_threads(weight.n * weight.k * 16))
  for (std::int64_t n = 0; n < weight.n; ++n) {
    for (std::int64_t k = 0; k < weight.k; ++k) {
      const unsigned code = load_code(format, weight.codes, n, k, weight.k);
      const double exact = values[code] * weight.scales[static_cast<std::size_t>(map(n, k))];
      out[static_cast<std::size_t>(n * weight.k + k)] =
          is_packed(format) ? round_to(model, round_to(DType::f32, exact)) : exact;
    }
  }
  return out;
}

}  // namespace moediff::reference
