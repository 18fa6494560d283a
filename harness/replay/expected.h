// The expected tensors of a file: those named ORACLE.PRECISION.NAME ("hf.f64.final", "ds.w8a8.f32.shared_out"),
// whatever the oracle is called.
#pragma once

#include <string>
#include <vector>

#include "harness/replay/file.h"

namespace moediff {

struct ExpectedTensor {
  std::string tensor;  ///< the whole name
  std::string oracle, precision, name;
};

/// All of them, in the order of the file's names. Precisions: f64, f32, bf16. Names that begin with one of
/// `not_oracles`
/// ("in.", "diag.", a weights' prefix) are none.
std::vector<ExpectedTensor> expected_tensors(const ReplayFile& file, const std::vector<std::string>& not_oracles);

/// A tensor whose kind gives it no precision in the name: that of its dtype.
ExpectedTensor plain_expected(const ReplayFile& file, std::string tensor, std::string oracle, std::string name);

}  // namespace moediff
