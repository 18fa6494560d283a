// The configuration in a file's metadata: the JSON object `config`, and the entries `cfg.KEY` for keys that it lacks.
// Values are read with their range, as nothing in a file is trusted; a mistake is noted and a value in range returned,
// so that all mistakes of a file are found.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/replay/mistakes.h"

namespace moediff {

class ReplayConfig {
 public:
  /// Notes a `config` that is no JSON object.
  ReplayConfig(const std::map<std::string, std::string>& metadata, Mistakes& mistakes);

  /// The names that a value goes by in different models' configurations; the first one present counts.
  using Names = std::initializer_list<const char*>;

  bool has(Names names) const { return find(names) != nullptr; }
  std::int64_t integer(Names names, std::int64_t low, std::int64_t high,
                       std::optional<std::int64_t> otherwise = std::nullopt) const;
  double real(Names names, double low, double high, double otherwise) const;
  bool boolean(Names names, bool otherwise) const;
  std::string text(Names names, const std::string& otherwise) const;
  /// Two sizes: "128x128" or [128, 128].
  std::vector<std::int64_t> pair(Names names, std::int64_t low, std::int64_t high, std::int64_t otherwise) const;

 private:
  struct Entry {
    std::string name, value;
  };
  const Entry* find(Names names) const;
  void refuse(const Entry& entry, const std::string& rule) const;

  std::map<std::string, Entry> entries_;  ///< value: JSON text, but for strings the string itself
  Mistakes& mistakes_;
};

}  // namespace moediff
