// Rules between the keys of one case: what no layer, input or fault can be.
#pragma once

#include <string>
#include <vector>

#include "harness/scenario/case.h"
#include "harness/scenario/layer.h"

namespace moediff {

/// A case with the origin of its values.
struct Draft {
  Case spec;
  std::vector<const Given*> given;  ///< by index in schema(); null: the default holds
};

/// Reports every broken rule at the value that breaks it. A value is blamed once, and rules that rest on a broken one
/// are not asked. `fallback`: the place for keys that stand nowhere.
/// `unknown`: keys whose values are missing or were refused; rules that read one of them are not asked.
void check_case(const Draft& draft, const std::set<const KeyRow*>& unknown, const Place& fallback,
                std::vector<Error>& errors);

}  // namespace moediff
