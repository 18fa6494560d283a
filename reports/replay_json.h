// What `moediff replay --json` writes: reports/replay_schema.json is the contract.
#pragma once

#include <span>
#include <string>

#include "harness/replay/check.h"

namespace moediff {

/// Numbers that are not finite become null; text that is not UTF-8 is replaced byte by byte.
std::string render_replay_json(std::span<const FileReplay> files);

}  // namespace moediff
