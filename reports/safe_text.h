// Text that came from outside (a candidate's message, a path) made safe to print.
#pragma once

#include <string>
#include <string_view>

namespace moediff {

/// Valid UTF-8 without control characters: a broken byte becomes U+FFFD, a control character other than tab and line
/// feed is dropped. So no escape sequence reaches the terminal and the result is legal in XML.
std::string safe_text(std::string_view text);

/// safe_text() with & < > " ' as XML entities.
std::string xml_text(std::string_view text);

}  // namespace moediff
