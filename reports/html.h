// The page for people: one self-contained HTML file, no network, opens from a disk.
#pragma once

#include <string>

#include "harness/store/record.h"

namespace moediff {

/// The page of reports/html with the report embedded as JSON. Details are drawn when a case is opened.
std::string render_html(const Report& report);

}  // namespace moediff
