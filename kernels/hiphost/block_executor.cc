// Blocks on fibers: who runs next, barriers, warp collectives.
#include "kernels/hiphost/block_executor.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>

#include "kernels/hiphost/executing.h"

namespace moediff::hiphost {

__thread Place place __attribute__((tls_model("initial-exec"))) = {};
__thread Executing executing __attribute__((tls_model("initial-exec"))) = {};

namespace {

constexpr unsigned kLanes = 64;
constexpr std::size_t kSharedGuard = 64 << 10;

std::uint64_t lanes_of_warp(unsigned warp, unsigned threads) {
  const unsigned lanes = std::min(kLanes, threads - warp * kLanes);
  return lanes == kLanes ? ~0ull : (1ull << lanes) - 1;
}

/// The one that follows; (0,0,dim.z) after the last.
uint3 successor(uint3 index, const uint3& dim) {
  if (++index.x < dim.x) return index;
  index.x = 0;
  if (++index.y < dim.y) return index;
  index.y = 0;
  ++index.z;
  return index;
}
unsigned linear_index(const uint3& index, const uint3& dim) { return (index.z * dim.y + index.y) * dim.x + index.x; }
std::string to_string(const uint3& index) { return fmt::format("({},{},{})", index.x, index.y, index.z); }

}  // namespace

// ---------------------------------------------------------------------------------------------- called by kernels

void barrier() { executing.executor->barrier(); }
std::uint64_t warp_collective(WarpOp op, std::uint64_t value, unsigned source) {
  return executing.executor->warp_collective(op, value, source);
}
void* dynamic_shared() { return executing.executor->dynamic_shared(); }

// ---------------------------------------------------------------------------------------------- launches and blocks

BlockExecutor::BlockExecutor(StackPool& stacks) : stacks_(stacks) {
  void* map =
      mmap(nullptr, kSharedBytes + 2 * kSharedGuard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) std::abort();
  shared_map_ = static_cast<std::byte*>(map);
  if (mprotect(shared_map_ + kSharedGuard, kSharedBytes, PROT_READ | PROT_WRITE) != 0) std::abort();
}

BlockExecutor::~BlockExecutor() {
  for (auto& worker : workers_) stacks_.give(worker->stack);
  munmap(shared_map_, kSharedBytes + 2 * kSharedGuard);
}

bool BlockExecutor::beside_shared(const void* address, std::int64_t* distance) const {
  const auto* byte = static_cast<const std::byte*>(address);
  const std::byte* end = shared_map_ + kSharedGuard + kSharedBytes;
  if (byte < shared_map_ || byte >= end + kSharedGuard) return false;
  *distance = byte >= end ? byte - end + 1 : byte - shared_;
  return true;
}

std::string BlockExecutor::run(const Launch& launch) {
  const Place outer = std::exchange(place, {});
  executing.executor = this;
  start_launch(launch);
  current_ = &take_worker();
  switch_fiber(home_, *current_);
  executing.executor = nullptr;
  place = outer;
  return std::exchange(error_, {});
}

void BlockExecutor::start_launch(const Launch& launch) {
  launch_ = &launch;
  threads_ = launch.block.x * launch.block.y * launch.block.z;
  warps_.resize((threads_ + kLanes - 1) / kLanes);
  place.block = {0, 0, 0};
  place.block_dim = {launch.block.x, launch.block.y, launch.block.z};
  place.grid_dim = {launch.grid.x, launch.grid.y, launch.grid.z};
  const std::size_t shared = (launch.shared_bytes + 63) / 64 * 64;
  shared_ = shared_map_ + kSharedGuard + kSharedBytes - shared;
  start_block();
}

void BlockExecutor::start_block() {
  started_ = 0;
  live_ = threads_;
  next_thread_ = {0, 0, 0};
  for (unsigned warp = 0; warp < warps_.size(); ++warp) {
    warps_[warp].live = lanes_of_warp(warp, threads_);
    warps_[warp].arrived = 0;
  }
  if (launch_->shared_bytes != 0) std::memset(shared_, 0xFF, launch_->shared_bytes);
}

bool BlockExecutor::next_block() {
  place.block = successor(place.block, place.grid_dim);
  if (place.block.z == place.grid_dim.z) return false;
  start_block();
  return true;
}

// ---------------------------------------------------------------------------------------------- threads and fibers

void BlockExecutor::worker_main(Fiber& self) {
  auto& worker = static_cast<Worker&>(self);
  BlockExecutor& executor = *worker.executor;
  do {
    while (executor.started_ < executor.threads_) executor.start_thread();
  } while (executor.live_ == 0 && executor.next_block());
  if (Worker* next = executor.take_ready()) {
    executor.idle_.push_back(&worker);  // its stack is free as soon as it has been left
    executor.current_ = next;
    ++executor.switches_;
    leave_for(worker, *next);
  }
  if (executor.live_ != 0) executor.abandon(executor.deadlock_text());
  executor.idle_.push_back(&worker);
  leave_for(worker, executor.home_);
}

void BlockExecutor::start_thread() {
  place.thread = next_thread_;
  place.lane = started_++ % kLanes;
  next_thread_ = successor(next_thread_, place.block_dim);
  std::string error;
  try {
    launch_->invoke(launch_->closure);
  } catch (const std::exception& exception) {
    error = fmt::format("the kernel threw an exception: {}", exception.what());
  } catch (...) {
    error = "the kernel threw an exception";
  }
  if (!error.empty()) abandon(std::move(error));
  thread_ended();
}

void BlockExecutor::thread_ended() {
  --live_;
  Warp& warp = warps_[linear_index(place.thread, place.block_dim) / kLanes];
  warp.live &= ~(1ull << place.lane);
  // An ended thread counts as arrived, as on AMD.
  if (warp.arrived != 0 && warp.arrived == warp.live) complete(warp, nullptr);
  if (!at_barrier_.empty() && at_barrier_.size() == live_) release_barrier();
}

void BlockExecutor::barrier() {
  if (at_barrier_.size() + 1 == live_) {
    release_barrier();
    return;
  }
  at_barrier_.push_back(current_);
  wait();
}

void BlockExecutor::release_barrier() {
  ready_.insert(ready_.end(), at_barrier_.begin(), at_barrier_.end());
  at_barrier_.clear();
}

std::uint64_t BlockExecutor::warp_collective(WarpOp op, std::uint64_t value, unsigned source) {
  const unsigned lane = place.lane;
  Warp& warp = warps_[linear_index(place.thread, place.block_dim) / kLanes];
  if (warp.arrived != 0 && warp.op != op) {
    abandon(fmt::format("block {}: lanes of one warp meet at a shuffle and at a ballot", to_string(place.block)));
  }
  warp.op = op;
  warp.values[lane] = value;
  warp.sources[lane] = source;
  warp.waiting[lane] = current_;
  warp.arrived |= 1ull << lane;
  if (warp.arrived == warp.live) {
    complete(warp, current_);
  } else {
    wait();
  }
  return warp.results[lane];
}

void BlockExecutor::complete(Warp& warp, const Worker* self) {
  std::uint64_t ballot = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((warp.arrived >> lane & 1) != 0 && warp.values[lane] != 0) ballot |= 1ull << lane;
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((warp.arrived >> lane & 1) == 0) continue;
    const unsigned source = warp.sources[lane] % kLanes;
    const bool present = (warp.arrived >> source & 1) != 0;
    warp.results[lane] = warp.op == WarpOp::ballot ? ballot : present ? warp.values[source] : 0;
    if (warp.waiting[lane] != self) ready_.push_back(warp.waiting[lane]);
  }
  warp.arrived = 0;
}

/// Suspends the running thread until somebody has made it ready.
void BlockExecutor::wait() {
  Worker& self = *current_;
  self.thread = place.thread;
  self.lane = place.lane;
  Worker* next = started_ < threads_ ? &take_worker() : take_ready();
  if (next == nullptr) abandon(deadlock_text());
  current_ = next;
  ++switches_;
  switch_fiber(self, *next);
  place.thread = self.thread;
  place.lane = self.lane;
}

BlockExecutor::Worker& BlockExecutor::take_worker() {
  if (idle_.empty()) {
    workers_.push_back(std::make_unique<Worker>());
    workers_.back()->executor = this;
    workers_.back()->stack = stacks_.take();
    idle_.push_back(workers_.back().get());
  }
  Worker& worker = *idle_.back();
  idle_.pop_back();
  prepare(worker, &worker_main);
  return worker;
}

BlockExecutor::Worker* BlockExecutor::take_ready() {
  if (ready_head_ == ready_.size()) return nullptr;
  Worker* worker = ready_[ready_head_++];
  if (ready_head_ == ready_.size()) {
    ready_.clear();
    ready_head_ = 0;
  }
  return worker;
}

/// Ends the launch: every frame of its threads is forgotten, none is unwound.
void BlockExecutor::abandon(std::string error) {
  error_ = std::move(error);
  Worker& self = *current_;
  ready_.clear();
  ready_head_ = 0;
  at_barrier_.clear();
  idle_.clear();
  for (auto& worker : workers_) idle_.push_back(worker.get());
  leave_for(self, home_);
}

std::string BlockExecutor::deadlock_text() const {
  const auto describe = [](const Worker& worker) { return "thread " + to_string(worker.thread); };
  std::string text = fmt::format("{}{}:", kDeadlock, to_string(place.block));
  if (!at_barrier_.empty()) {
    text += fmt::format(" {} of {} live threads wait at __syncthreads, first {};", at_barrier_.size(), live_,
                        describe(*at_barrier_.front()));
  }
  for (unsigned index = 0; index < warps_.size(); ++index) {
    const Warp& warp = warps_[index];
    if (warp.arrived == 0) continue;
    const int waiting = __builtin_ctzll(warp.arrived), missing = __builtin_ctzll(warp.live & ~warp.arrived);
    text += fmt::format(" {} waits at a warp collective for lane {} of warp {};", describe(*warp.waiting[waiting]),
                        missing, index);
  }
  text.pop_back();
  return text;
}

}  // namespace moediff::hiphost
