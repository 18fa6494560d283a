// A file to replay: a safetensors file of one kind, with its configuration. Tensors are read against the shape that the
// configuration gives them. A mistake is noted and zeros of that shape are returned; `throw_if_mistaken` ends the
// reading, so that all mistakes of a file are reported at once and nothing is computed from a wrong one.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "harness/core/safetensors.h"
#include "harness/replay/config.h"
#include "harness/replay/mistakes.h"

namespace moediff {

class ReplayFile {
 public:
  /// UserError when the file cannot be opened or is damaged.
  explicit ReplayFile(const std::string& path);

  const std::string& path() const { return file_.path(); }
  /// Metadata `kind`; "" when absent.
  std::string kind() const { return metadata("kind"); }
  /// A metadata entry, "" when absent.
  std::string metadata(const std::string& key) const;
  const std::map<std::string, std::string>& metadata() const { return file_.metadata(); }
  const std::map<std::string, TensorInfo>& tensors() const { return file_.tensors(); }
  const ReplayConfig& config() const { return config_; }
  Mistakes& mistakes() { return mistakes_; }
  void throw_if_mistaken() const { mistakes_.throw_if_any(); }

  bool has(const std::string& name) const { return file_.contains(name); }
  /// Shape of a tensor that must have `rank` dimensions; of ones when it is absent or has another rank (noted).
  Shape shape(const std::string& name, std::size_t rank);
  /// Safetensors dtype, "" when absent.
  std::string dtype(const std::string& name) const;

  /// A tensor of a floating-point format, as doubles.
  std::vector<double> reals(const std::string& name, const Shape& shape);
  /// A tensor of integers, each from `low` to `high`.
  std::vector<std::int32_t> integers(const std::string& name, const Shape& shape, std::int64_t low, std::int64_t high);
  /// A tensor of bytes: of dtype U8 (or I8), or of `format`.
  std::vector<std::byte> bytes(const std::string& name, const Shape& shape, DType format);

  /// Tensors that nothing asked for; "diag.…" is information, not expected values.
  std::vector<std::string> unused() const;

 private:
  Tensor read(const std::string& name, const Shape& shape);

  SafetensorsFile file_;
  Mistakes mistakes_;
  ReplayConfig config_;
  std::set<std::string> used_;
};

}  // namespace moediff
