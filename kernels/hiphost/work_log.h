// What was issued, in issue order: the public trace, and beside each item the work it stands for.
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/abi/moediff_abi.h"

namespace moediff::hiphost {

struct Work {
  std::vector<int> needs;               ///< items that must be done before
  std::function<std::string()> action;  ///< returns "" or an error; empty: nothing to do
  bool done = false;
  std::chrono::steady_clock::time_point finished;  ///< records only
};

class WorkLog {
 public:
  /// Appends an item and returns its number (seq).
  int add(md_item item, const std::string& name, std::vector<int> needs, std::function<std::string()> action);
  /// Appends a host wait, which is in the trace for its order and is never executed.
  void add_wait(md_item item);
  /// Undone items among `roots` and all they need, ascending. Numbers below 0 are ignored.
  std::vector<int> closure(const std::vector<int>& roots) const;
  std::vector<int> undone() const;
  /// Items issued with the tag.
  int issued(int tag) const;
  void reset();

  const std::vector<md_item>& items() const { return items_; }
  Work& work(int seq) { return works_[static_cast<std::size_t>(seq)]; }
  const Work& work(int seq) const { return works_[static_cast<std::size_t>(seq)]; }
  const md_item& item(int seq) const { return items_[static_cast<std::size_t>(seq)]; }
  int size() const { return static_cast<int>(works_.size()); }
  /// "gemm1 (item 7)", "copy (item 3)".
  std::string describe(int seq) const;

 private:
  std::vector<md_item> items_;
  std::vector<Work> works_;
  std::set<std::string> names_;  ///< items point into it
  std::unordered_map<int, int> issued_;
};

/// "launch", "copy", … of an md_item_kind.
const char* kind_name(int kind);

}  // namespace moediff::hiphost
