// What the kinds with 8-bit numbers share: names of formats, reading a block size, quantisation of activations.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/dtype.h"
#include "harness/model/quant.h"
#include "harness/replay/check.h"
#include "harness/replay/file.h"
#include "harness/replay/rules.h"
#include "reference/api.h"

namespace moediff {

/// "e4m3fn", "float8_e4m3fn", "torch.float8_e4m3fn", …; e8m0 is "e8m0fnu".
std::optional<DType> fp8_format(const std::string& name);

/// The configuration's `fp8` (e4m3fn when absent), which must be e4m3fn or e4m3fnuz.
Fp8Kind read_fp8_kind(ReplayFile& file);

/// `block`, which must be square; 128 when absent.
std::int64_t read_block(ReplayFile& file);

/// `fmax` resolved: that of the format where the policies leave it at 0.
QuantSpec resolved(QuantSpec spec);

/// Bytes of code values that the format holds exactly.
std::vector<std::byte> encoded(const std::vector<double>& codes, DType format);
/// Values of code bytes.
std::vector<double> decoded(const std::vector<std::byte>& codes, DType format);

/// Names NAME of all tensors called NAME + `ending`, in order.
std::vector<std::string> oracles_with(const ReplayFile& file, const std::string& ending);

}  // namespace moediff
