// Look-ups by index; a number that is out of range gives an empty name.
#include "harness/judge/case_view.h"

#include <fmt/format.h>

namespace moediff {

std::string CaseView::op_name(int step) const {
  if (step < 0 || step >= static_cast<int>(program.steps.size())) return "";
  const Step& s = program.steps[step];
  if (s.kind == StepKind::call) return std::string(to_string(s.op));
  return s.name.substr(0, s.name.find('['));
}

std::string CaseView::stream_name(int step) const {
  if (step < 0 || step >= static_cast<int>(program.steps.size())) return "";
  return program.streams[program.steps[step].stream];
}

std::string CaseView::op_on_stream(int step) const { return fmt::format("{} ({})", op_name(step), stream_name(step)); }

std::string CaseView::value_name(int value) const {
  return value < 0 || value >= static_cast<int>(program.values.size()) ? "" : program.values[value].name;
}

const StageDiff* CaseView::diff_of(int step, DiffMode mode) const {
  const StageDiff* worst = nullptr;
  if (diff == nullptr) return worst;
  for (const StageDiff& stage : diff->stages) {
    if (stage.step != step || stage.mode != mode || stage.compared == 0) continue;
    const bool is_worse = worst == nullptr || (stage.failed() && !worst->failed()) ||
                          (stage.failed() == worst->failed() && stage.budget_used > worst->budget_used);
    if (is_worse) worst = &stage;
  }
  return worst;
}

Blame CaseView::blame(int step) const {
  Blame blame;
  blame.op = blame.stage = op_name(step);
  blame.stream = stream_name(step);
  blame.step = step;
  return blame;
}

}  // namespace moediff
