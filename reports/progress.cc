// Method: draw only when enough time has passed since the last drawing, so that neither a terminal nor a log is
// flooded.
#include "reports/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <utility>

namespace moediff {
namespace {

constexpr double kTerminalPause = 0.1;  // seconds between drawings
constexpr double kPlainPause = 5.0;

}  // namespace

std::optional<ProgressMode> parse_progress_mode(std::string_view word) {
  if (word == "auto") return ProgressMode::automatic;
  if (word == "plain") return ProgressMode::plain;
  if (word == "none") return ProgressMode::none;
  return std::nullopt;
}

std::string progress_text(std::int64_t done, std::int64_t total, std::int64_t caught, std::int64_t unexpected,
                          double elapsed_seconds) {
  std::string text =
      fmt::format("[{}/{}] {} caught, {} unexpected, {:.1f} s", done, total, caught, unexpected, elapsed_seconds);
  if (done > 0 && done < total) {
    const double left = elapsed_seconds / static_cast<double>(done) * static_cast<double>(total - done);
    text += fmt::format(", about {:.0f} s left", left);
  }
  return text;
}

double Progress::steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Progress::Progress(std::FILE* out, ProgressMode mode, std::int64_t total, Clock clock)
    : out_(out),
      enabled_(mode != ProgressMode::none),
      rewrite_(mode == ProgressMode::automatic && isatty(fileno(out)) == 1),
      total_(total),
      clock_(std::move(clock)),
      started_(clock_()),
      last_drawn_(started_) {}

Progress::~Progress() { clear(); }

void Progress::advance(bool caught, bool unexpected) {
  ++done_;
  caught_ += caught;
  unexpected_ += unexpected;
  const double now = clock_();
  if (enabled_ && now - last_drawn_ >= (rewrite_ ? kTerminalPause : kPlainPause)) draw(now);
}

void Progress::clear() {
  if (!line_shown_) return;
  std::fputs("\r\033[K", out_);
  std::fflush(out_);
  line_shown_ = false;
}

void Progress::draw(double now) {
  const std::string text = progress_text(done_, total_, caught_, unexpected_, now - started_);
  std::fputs(rewrite_ ? ("\r\033[K" + text).c_str() : (text + "\n").c_str(), out_);
  std::fflush(out_);
  line_shown_ = rewrite_;
  last_drawn_ = now;
}

}  // namespace moediff
