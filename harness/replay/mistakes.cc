#include "harness/replay/mistakes.h"

namespace moediff {
namespace {

constexpr std::size_t kMaxErrors = 20;     // a file can lack a million tensors
constexpr std::size_t kMaxFoundText = 80;  // and hold a text of any length

}  // namespace

void Mistakes::add(std::string found, std::string rule, std::string remedy) {
  if (errors_.size() == kMaxErrors) return;
  if (found.size() > kMaxFoundText) found = found.substr(0, kMaxFoundText) + "...";
  errors_.push_back({{path_}, std::move(found), std::move(rule), std::move(remedy)});
}

void Mistakes::add(const UserError& error) {
  for (const Error& one : error.errors()) add(one.found, one.rule, one.remedy);
}

void Mistakes::throw_if_any() const {
  if (!errors_.empty()) throw UserError(errors_);
}

}  // namespace moediff
