// Appending, and the set of items a wait needs.
#include "kernels/hiphost/work_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace moediff::hiphost {

const char* kind_name(int kind) {
  constexpr std::array<const char*, 11> kNames{"launch",     "copy",        "fill",         "record",
                                               "wait",       "alloc",       "free",         "stream sync",
                                               "event sync", "device sync", "host function"};
  return kNames.at(static_cast<std::size_t>(kind));
}

int WorkLog::add(md_item item, const std::string& name, std::vector<int> needs, std::function<std::string()> action) {
  std::erase_if(needs, [this](int need) { return need < 0 || work(need).done; });
  item.name = names_.insert(name).first->c_str();
  items_.push_back(item);
  Work added;
  added.needs = std::move(needs);
  added.action = std::move(action);
  works_.push_back(std::move(added));
  ++issued_[item.tag];
  return size() - 1;
}

void WorkLog::add_wait(md_item item) {
  item.name = "";
  items_.push_back(item);
  works_.push_back({});
  works_.back().done = true;
}

std::vector<int> WorkLog::closure(const std::vector<int>& roots) const {
  std::set<int> found;
  std::vector<int> open = roots;
  while (!open.empty()) {
    const int seq = open.back();
    open.pop_back();
    if (seq < 0 || work(seq).done || !found.insert(seq).second) continue;
    open.insert(open.end(), work(seq).needs.begin(), work(seq).needs.end());
  }
  return {found.begin(), found.end()};
}

std::vector<int> WorkLog::undone() const {
  std::vector<int> found;
  for (int seq = 0; seq < size(); ++seq) {
    if (!work(seq).done) found.push_back(seq);
  }
  return found;
}

int WorkLog::issued(int tag) const {
  const auto count = issued_.find(tag);
  return count == issued_.end() ? 0 : count->second;
}

void WorkLog::reset() {
  items_.clear();
  works_.clear();
  names_.clear();
  issued_.clear();
}

std::string WorkLog::describe(int seq) const {
  const md_item& named = item(seq);
  return fmt::format("{} (item {})", named.name[0] != '\0' ? named.name : kind_name(named.kind), seq);
}

}  // namespace moediff::hiphost
