#include "harness/run/status_page.h"

#include <algorithm>

namespace moediff {

void write_text(PageText& text, std::string_view from) {
  const std::size_t length = std::min(from.size(), text.size() - 1);
  for (std::size_t i = 0; i < length; ++i) text[i] = from[i];
  text[length] = '\0';
}

std::string read_text(const PageText& text) { return {text.begin(), std::find(text.begin(), text.end() - 1, '\0')}; }

void StatusPage::start(std::uint64_t number) {
  fault.seen = 0;
  issuing = running = probe_block = -1;
  kernel[0] = '\0';
  phase = WorkerPhase::loading;
  request = number;
}

}  // namespace moediff
