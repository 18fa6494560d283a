#include "harness/replay/kinds.h"

#include <algorithm>

#include "harness/core/error.h"
#include "harness/core/text.h"
#include "harness/replay/eplb_file.h"
#include "harness/replay/eplb_kind.h"

namespace moediff {
namespace {

const KindRow& find_kind(const ReplayFile& file) {
  std::vector<std::string> names;
  for (const KindRow& row : kReplayKinds) {
    if (row.name == file.kind()) return row;
    names.emplace_back(row.name);
  }
  const std::string near = nearest(file.kind(), names);
  throw UserError(
      Error{{file.path()},
            file.kind(),
            file.kind().empty() ? "the file's metadata must state its 'kind'"
                                : "metadata 'kind' must be one that moediff can replay",
            (near.empty() ? "known kinds: " : "did you mean '" + near + "'? known kinds: ") + join(names, ", ")});
}

ReplayVerdict verdict_of(const std::vector<Check>& checks) {
  bool compared = false;
  for (const Check& check : checks) {
    if (check.compared > 0 && !check.pass) return ReplayVerdict::fail;
    compared = compared || check.compared > 0;
  }
  return compared ? ReplayVerdict::pass : ReplayVerdict::inconclusive;
}

}  // namespace

FileReplay replay_file(const std::string& path, const CandidateOptions& candidate) {
  FileReplay result;
  result.path = path;
  try {
    if (is_json_file(path)) {
      result.kind = kEplbKind;
      result.checks = replay_eplb(path);
      result.verdict = verdict_of(result.checks);
      return result;
    }
    ReplayFile file(path);
    result.kind = file.kind();
    const KindRow& kind = find_kind(file);
    result.checks = kind.replay(file);
    if (candidate.executor != nullptr && kind.candidate != nullptr) {
      const std::vector<Check> more = kind.candidate(file, candidate);
      result.checks.insert(result.checks.end(), more.begin(), more.end());
    }
    file.throw_if_mistaken();
    result.unchecked = file.unused();
    result.verdict = verdict_of(result.checks);
  } catch (const UserError& error) {
    result.checks.clear();
    result.errors = error.errors();
    result.verdict = ReplayVerdict::malformed;
  }
  return result;
}

}  // namespace moediff
