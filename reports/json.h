// The machine-readable report: what `moediff run --json FILE` writes. Its contract is reports/schema.json.
#pragma once

#include <string>

#include "harness/store/record.h"

namespace moediff {

/// One JSON document: header, summary, then the records, cases in plan order and relations after them. Keys keep the
/// order of the schema. A number that is not finite becomes null; `not_finite` of the stage says how many there were.
/// Text that is not UTF-8 is repaired with U+FFFD.
std::string render_json(const Report& report);

}  // namespace moediff
