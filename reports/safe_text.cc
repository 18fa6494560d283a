// Method: decode UTF-8 by its table of lead bytes; whatever does not decode, or is no legal XML character, is replaced.
#include "reports/safe_text.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace moediff {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Decoded {
  std::size_t bytes = 0;  ///< 0: not UTF-8
  std::uint32_t code = 0;
};

Decoded decode(std::string_view text) {
  struct Lead {
    std::uint8_t mask, pattern;
    std::size_t bytes;
    std::uint32_t smallest;  ///< below it the encoding is overlong
  };
  constexpr std::array<Lead, 4> kLeads{
      {{0x80, 0x00, 1, 0}, {0xE0, 0xC0, 2, 0x80}, {0xF0, 0xE0, 3, 0x800}, {0xF8, 0xF0, 4, 0x10000}}};
  const auto first = static_cast<std::uint8_t>(text[0]);
  for (const Lead& lead : kLeads) {
    if ((first & lead.mask) != lead.pattern) continue;
    if (text.size() < lead.bytes) return {};
    std::uint32_t code = first & static_cast<std::uint8_t>(~lead.mask);
    for (std::size_t i = 1; i < lead.bytes; ++i) {
      const auto next = static_cast<std::uint8_t>(text[i]);
      if ((next & 0xC0) != 0x80) return {};
      code = code << 6 | (next & 0x3Fu);
    }
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (code < lead.smallest || surrogate || code > 0x10FFFF) return {};
    return {lead.bytes, code};
  }
  return {};
}

/// Control characters C0 and C1 but for tab and line feed, and the two code points that XML forbids.
bool dropped(std::uint32_t code) {
  if (code == '\t' || code == '\n') return false;
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0xFFFE || code == 0xFFFF;
}

}  // namespace

std::string safe_text(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const Decoded character = decode(text);
    if (character.bytes == 0) {
      safe += kReplacement;
    } else if (!dropped(character.code)) {
      safe += text.substr(0, character.bytes);
    }
    text.remove_prefix(character.bytes == 0 ? 1 : character.bytes);
  }
  return safe;
}

std::string xml_text(std::string_view text) {
  std::string escaped;
  for (const char c : safe_text(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&apos;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

}  // namespace moediff
