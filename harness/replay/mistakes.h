// The mistakes of one file, collected so that it is described once and completely.
#pragma once

#include <string>
#include <vector>

#include "harness/core/error.h"

namespace moediff {

class Mistakes {
 public:
  explicit Mistakes(std::string path) : path_(std::move(path)) {}
  /// `found` is shortened; beyond 20 mistakes further ones are not kept.
  void add(std::string found, std::string rule, std::string remedy);
  /// Those of an error that something else threw.
  void add(const UserError& error);
  void throw_if_any() const;

 private:
  std::string path_;
  std::vector<Error> errors_;
};

}  // namespace moediff
