// What `moediff replay` prints.
#pragma once

#include <span>
#include <string>

#include "harness/replay/check.h"

namespace moediff {

/// A file's verdict in one line. Below it every check that failed, or with `verbose` every check: what was measured,
/// its limit, the rule; for a malformed file its mistakes.
std::string render_replay(const FileReplay& file, bool verbose, bool colour);

/// The last line, of several files: how many of each verdict.
std::string render_replay_summary(std::span<const FileReplay> files);

}  // namespace moediff
