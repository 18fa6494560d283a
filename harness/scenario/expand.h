// From a layer to its cases: every combination of its settings, in the order of the file, the first axis slowest.
#pragma once

#include <string>
#include <vector>

#include "harness/scenario/layer.h"
#include "harness/scenario/scenario.h"

namespace moediff {

/// The cases of the scenario in file `path` (as the user gave it). `errors` holds the mistakes found when the layer was
/// read; those of whole cases are added. Empty when there is any.
std::vector<Case> expand(const Layer& layer, const std::string& path, const LoadOptions& options,
                         std::vector<Error>& errors);

}  // namespace moediff
