// One item at a time; the bookkeeping of tags.
#include "kernels/hiphost/runner.h"

#include <fmt/format.h>

#include <utility>

#include "kernels/hiphost/executing.h"

namespace moediff::hiphost {

namespace {

/// Sets `executing` for a while; a hook may throw.
struct Scope {
  explicit Scope(const Executing& now) { executing = now; }
  ~Scope() { executing = {}; }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
};

}  // namespace

std::string Runner::run(int seq) {
  const md_item& item = log_.item(seq);
  const bool tagged = item.tag >= 0 && hook_ != nullptr;
  const Scope scope({true, item.tag, item.name[0] != '\0' ? item.name : kind_name(item.kind), nullptr});
  if (begin(seq, item.tag) && tagged) hook_(user_, item.tag, 1);
  std::string error;
  if (auto action = std::exchange(log_.work(seq).action, nullptr)) error = action();
  if (item.kind == MD_ITEM_RECORD) log_.work(seq).finished = std::chrono::steady_clock::now();
  if (end(item.tag) && tagged) hook_(user_, item.tag, 0);
  return error.empty() ? error : fmt::format("{}: {}", log_.describe(seq), error);
}

std::string Runner::run_kernel(const Launch& launch) {
  std::unique_ptr<BlockExecutor> executor = take_executor();
  std::string error = executor->run(launch);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(executor));
  return error;
}

void Runner::set_hook(md_tag_hook hook, void* user) {
  hook_ = hook;
  user_ = user;
}

void Runner::reset() {
  tags_.clear();
  executed_.clear();
}

bool Runner::begin(int seq, int tag) {
  const std::lock_guard lock(mutex_);
  executed_.push_back(seq);
  return !std::exchange(tags_[tag].open, true);
}

bool Runner::end(int tag) {
  const std::lock_guard lock(mutex_);
  TagState& state = tags_[tag];
  if (++state.executed != log_.issued(tag)) return false;
  state.open = false;
  return true;
}

std::unique_ptr<BlockExecutor> Runner::take_executor() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<BlockExecutor>(stacks_);
  std::unique_ptr<BlockExecutor> executor = std::move(idle_.back());
  idle_.pop_back();
  return executor;
}

}  // namespace moediff::hiphost
