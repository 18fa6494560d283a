// Files to replay as values: read whole, edited, written under a name that says nothing, and replayed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/core/tensor.h"
#include "harness/replay/candidate.h"
#include "harness/replay/check.h"

namespace moediff {

struct ReplayData {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// A file of tests/golden/data, without ".safetensors".
std::string golden_path(const std::string& name);
ReplayData read_golden(const std::string& name);

/// A path in a folder of its own, removed at the end.
class TemporaryPath {
 public:
  TemporaryPath();
  ~TemporaryPath();
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string folder_, path_;
};

/// Written to a temporary file and replayed.
FileReplay replay(const ReplayData& data, const CandidateOptions& candidate = {});

/// The tensors of floating-point numbers, by name.
std::vector<std::string> number_tensors(const ReplayData& data);

/// Changes one element by more than any rule allows: a number doubled (the largest), an id replaced by one that is not
/// in its row, a code by its neighbour.
void spoil(Tensor& tensor);

}  // namespace moediff
