// The user's mistake, as a value: where it is, what was found, which rule it breaks, how to mend it.
#pragma once

#include <exception>
#include <string>
#include <vector>

namespace moediff {

/// A place in one of the user's files. `line` and `column` count from 1; 0 means "the file as a whole".
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
};

struct Error {
  Place place;
  std::string found;   ///< the offending value or key, as the user wrote it
  std::string rule;    ///< the rule it breaks, a full clause: "top_k must not exceed experts (8)"
  std::string remedy;  ///< what to do: "use a value from 1 to 8", "did you mean 'hidden'?"
};

/// `file:line:column: error: found 'x': rule; remedy`.
std::string to_string(const Error& error);

/// Thrown once with *all* the mistakes found; `main` prints them and exits with 2.
class UserError : public std::exception {
 public:
  explicit UserError(std::vector<Error> errors);
  explicit UserError(Error error) : UserError(std::vector<Error>{std::move(error)}) {}
  const std::vector<Error>& errors() const { return errors_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::vector<Error> errors_;
  std::string text_;
};

/// What was asked cannot run on this machine (no such backend, no device): exit 125, so that `git bisect run` skips.
class CannotRun : public std::exception {
 public:
  explicit CannotRun(std::string why) : why_(std::move(why)) {}
  const char* what() const noexcept override { return why_.c_str(); }

 private:
  std::string why_;
};

}  // namespace moediff
