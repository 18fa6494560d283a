// Runtime: what only the harness does (md_host_control), and the object itself.
#include <algorithm>
#include <utility>

#include "kernels/hiphost/executing.h"
#include "kernels/hiphost/runtime.h"

namespace moediff::hiphost {

Runtime& Runtime::get() {
  // Never destroyed: device code of other libraries and the fault handler may outlive every static.
  static Runtime* const runtime = new Runtime;
  return *runtime;
}

Runtime::Runtime() {
  faults_.memory = &memory_;
  faults_.observer = &observer_;
  faults_.stacks = &runner_.stacks();
  install_fault_handler(faults_);
}

Status Runtime::set_schedule(int policy, std::uint64_t seed, std::vector<int> order, bool reuse_memory) {
  if (executing.active) return usable();
  const std::lock_guard lock(mutex_);
  if (!scheduler_.configure(policy, seed, std::move(order))) return {hipErrorInvalidValue, "no such schedule policy"};
  pool_.set_reuse(reuse_memory);
  return {};
}

void Runtime::set_tag(int tag) {
  const std::lock_guard lock(mutex_);
  tag_ = tag;
}

void Runtime::set_hooks(md_tag_hook tag_hook, md_fault_hook fault_hook, void* user) {
  const std::lock_guard lock(mutex_);
  runner_.set_hook(tag_hook, user);
  faults_.hook = fault_hook;
  faults_.user = user;
}

const std::vector<md_block>& Runtime::blocks() {
  const std::lock_guard lock(mutex_);
  block_list_.clear();
  for (const auto& block : memory_.blocks()) {
    block_list_.push_back(
        {block->label.c_str(), block->address, block->extent, block->provider_owned ? 1 : 0, block->kind});
  }
  return block_list_;
}

Status Runtime::watch_library(const void* symbol, const std::string& label) {
  if (executing.active) return usable();
  const std::lock_guard lock(mutex_);
  if (adopt_library_data(memory_, symbol, label) != nullptr) return {};
  return {hipErrorInvalidValue, "no loaded library with writable data holds the symbol"};
}

Status Runtime::observe_begin() {
  if (Status status = usable(); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  if (observer_.active()) return {hipErrorIllegalState, "observation has begun already"};
  install_fault_handler(faults_);
  observer_.begin();
  return {};
}

Status Runtime::observe_end(const std::vector<md_touch>** touches) {
  if (executing.active) return usable();
  const std::lock_guard lock(mutex_);
  if (!observer_.active()) return {hipErrorIllegalState, "observation ends without having begun"};
  std::string problem;
  touches_ = observer_.end(problem);
  *touches = &touches_;
  return problem.empty() ? Status{} : Status{hipErrorIllegalState, problem};
}

const std::string& Runtime::check_red_zones() {
  // A hook may ask, between two items of a sequential policy: then the mutex is held on its behalf.
  const auto lock = executing.active ? std::unique_lock<std::mutex>() : std::unique_lock(mutex_);
  red_zone_text_ = observer_.active() ? "red zones cannot be checked during observation" : memory_.check_red_zones();
  return red_zone_text_;
}

void Runtime::reset() {
  const std::lock_guard lock(mutex_);
  std::string ignored;
  if (observer_.active()) observer_.end(ignored);
  log_.reset();
  streams_.reset();
  pool_.reset();
  memory_.reset();
  runner_.reset();
  scheduler_.reset();
  tag_ = -1;
  device_error_ = {};
}

}  // namespace moediff::hiphost
