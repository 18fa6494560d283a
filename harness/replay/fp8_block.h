// A MoE block whose expert weights are fp8 codes with block scales, as a file has it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/model/moe_shape.h"
#include "harness/replay/file.h"
#include "harness/replay/moe.h"

namespace moediff {

/// Codes [n, k] with scales [ceil(n / block), ceil(k / block)].
struct QuantisedMatrix {
  std::int64_t n = 0, k = 0;
  std::vector<std::byte> codes;
  std::vector<double> scales;
};
/// gate and up [inter, hidden], down [hidden, inter].
struct QuantisedExpert {
  QuantisedMatrix gate, up, down;
};

struct QuantisedBlock {
  MoeShape shape;
  QuantSpec quant;  ///< format and block; policies are the oracles'
  std::int64_t tokens = 0;
  std::vector<double> x;                  ///< hidden_states [T, H]
  std::vector<double> gate_weight, bias;  ///< with a router: [E, H]; [E] or empty
  std::vector<QuantisedExpert> experts;
  QuantisedExpert shared;  ///< n_shared > 0
};

/// `with_router`: gate.weight, gate.e_score_correction_bias and shared experts are read too. Throws UserError with all
/// mistakes.
QuantisedBlock load_quantised_block(ReplayFile& file, bool with_router);

/// The values the codes stand for, rounded to `model` where the layer dequantises before the product (f64: not).
MoeWeights dequantised(const QuantisedBlock& block, DType model);

/// w8a16 (`quantise` false): weights dequantised, activations as they are.
MoeArithmetic arithmetic_of(const QuantSpec& quant, bool quantise, DType model);

/// "bf16", "f32", "f64".
DType dtype_of(const std::string& precision);
std::vector<double> rounded(std::vector<double> values, DType dtype);

}  // namespace moediff
