// Progress of a long run, with an estimate of the time left, for stderr.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace moediff {

enum class ProgressMode : std::uint8_t {
  automatic,  ///< one line, rewritten, on a terminal; plain elsewhere
  plain,      ///< a line of its own every few seconds
  none,
};
/// "auto", "plain", "none"; nothing for any other word.
std::optional<ProgressMode> parse_progress_mode(std::string_view word);

/// "[12/342] 3 caught, 0 unexpected, 4.1 s, about 110 s left": the estimate assumes that cases cost alike.
std::string progress_text(std::int64_t done, std::int64_t total, std::int64_t caught, std::int64_t unexpected,
                          double elapsed_seconds);

class Progress {
 public:
  using Clock = std::function<double()>;  ///< seconds, monotonic
  static double steady_seconds();

  Progress(std::FILE* out, ProgressMode mode, std::int64_t total, Clock clock = steady_seconds);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// One more case is done. Writes at most ten times a second on a terminal, every five seconds elsewhere.
  void advance(bool caught, bool unexpected);
  /// Wipes the rewritten line, so that results can be printed below it. The next advance() draws it again.
  void clear();

 private:
  void draw(double now);

  std::FILE* out_;
  bool enabled_, rewrite_;
  std::int64_t total_, done_ = 0, caught_ = 0, unexpected_ = 0;
  Clock clock_;
  double started_, last_drawn_;
  bool line_shown_ = false;
};

}  // namespace moediff
