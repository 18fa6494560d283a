// Names of cases: "<file below scenarios>/<values of what varies>".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/scenario/layer.h"

namespace moediff {

/// "streams/inplace" for "…/scenarios/streams/inplace.yaml", whatever folder moediff is started in; the bare file name
/// when no folder is called `scenarios`.
std::string id_of_file(const std::string& path);

/// Short forms of a setting's rows, in order: "none", "inplace", "t5", "layer2". Of a lockstep as many keys take part,
/// from the first on, as it takes to tell the rows apart.
std::vector<std::string> id_parts(const Setting& setting);

}  // namespace moediff
