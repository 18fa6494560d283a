#include "harness/core/error.h"

namespace moediff {

std::string to_string(const Error& error) {
  std::string text = error.place.file;
  if (error.place.line > 0) {
    text += ":" + std::to_string(error.place.line) + ":" + std::to_string(error.place.column);
  }
  text += ": error: ";
  if (!error.found.empty()) text += "found '" + error.found + "': ";
  text += error.rule;
  if (!error.remedy.empty()) text += "; " + error.remedy;
  return text;
}

UserError::UserError(std::vector<Error> errors) : errors_(std::move(errors)) {
  for (const Error& error : errors_) text_ += (text_.empty() ? "" : "\n") + to_string(error);
}

}  // namespace moediff
