// A subtle defect of a candidate, planted on purpose: what the candidate computes differs, what it should compute does
// not. One row a defect; the check that is measured is the one that judges every run.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "harness/program/inputs.h"
#include "harness/program/program.h"
#include "harness/run/run.h"
#include "harness/scenario/case.h"

namespace moediff {

/// What an edit of a stored result may look at.
struct EditContext {
  const Case& spec;
  const Program& program;
  const Inputs& inputs;
  const Run& run;  ///< of the healthy candidate
  int step = -1;
  /// The captured operand of the step, as doubles.
  std::vector<double> operand(std::string_view slot) const;
};

enum class Size : std::uint8_t { small, wide, real, many };

struct Defect {
  std::string_view name, stage, meaning;
  Size size = Size::small;
  /// The healthy case: dtype, scheme, policies, distribution on top of the size.
  void (*setup)(Case&) = nullptr;
  /// How the candidate differs; exactly one of the four. alter_case: its Program is that of another case.
  /// alter_program: its Program is changed. alter_inputs: it reads other inputs. edit: what one op stored is changed,
  /// and the ops after it go on with that (`edited`: slot of the op that `stage` names).
  void (*alter_case)(Case&) = nullptr;
  void (*alter_program)(Program&) = nullptr;
  void (*alter_inputs)(const Case&, Inputs&) = nullptr;
  std::string_view edited = "";
  void (*edit)(const EditContext&, Tensor&) = nullptr;
  /// Why our check cannot see it; "" = it must.
  std::string_view invisible = "";
};

/// Every defect of the table.
std::span<const Defect> defects();

/// The healthy case of a defect.
Case healthy_case(const Defect& defect);

}  // namespace moediff
