// Cases × builders × faults → Plan: what will really run. Cases whose canonical Programs are equal are run once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/program/program.h"
#include "harness/scenario/case.h"

namespace moediff {

struct PlannedCase {
  Case spec;        ///< with skip_reason when it will not run
  Program program;  ///< the fault's rewrite applied
  std::string provider = "builtin";
  std::string variants;  ///< kernel variants that plant an undeclared fault
  Schedule schedule;     ///< canonical: policies mean nothing on one stream
  std::uint64_t program_hash = 0;
  std::vector<std::string> collapsed;  ///< ids of later cases with the same Program, inputs, schedule and expectation
};

/// Cases that share inputs and expected values.
struct Group {
  std::string name;
  std::vector<std::size_t> cases;  ///< indices in Plan::cases, runnable ones only
};

struct Plan {
  std::vector<PlannedCase> cases;  ///< in the scenarios' order, skipped ones included, collapsed ones not
  std::vector<Group> groups;       ///< in order of first appearance
  std::size_t runnable = 0, skipped = 0, collapsed = 0;
};

Plan make_plan(std::vector<Case> cases);

/// Keeps the cases whose id, or that of a case collapsed into it, matches the glob; "" keeps all. The kept cases are
/// what they are in the whole plan, so that a case's record does not depend on its company.
Plan filter_plan(const Plan& plan, std::string_view glob);

}  // namespace moediff
