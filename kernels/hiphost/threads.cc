// The policy `threads`: real concurrency, one thread a stream.
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "kernels/hiphost/fault.h"
#include "kernels/hiphost/scheduler.h"

namespace moediff::hiphost {
namespace {

/// What the threads share: who is done, and the first error.
struct Progress {
  std::mutex mutex;
  std::condition_variable changed;
  std::string error;
};

bool may_run(const WorkLog& log, int seq) {
  for (const int need : log.work(seq).needs) {
    if (!log.work(need).done) return false;
  }
  return true;
}

void run_stream(WorkLog& log, const std::vector<int>& items, const RunItem& run, Progress& progress) {
  const SignalStack signal_stack;
  for (const int seq : items) {
    std::unique_lock lock(progress.mutex);
    progress.changed.wait(lock, [&] { return !progress.error.empty() || may_run(log, seq); });
    if (!progress.error.empty()) return;
    lock.unlock();
    std::string error = run(seq);
    lock.lock();
    log.work(seq).done = error.empty();
    if (!error.empty() && progress.error.empty()) progress.error = error;
    progress.changed.notify_all();
  }
}

}  // namespace

std::string drain_by_threads(WorkLog& log, const std::vector<int>& wanted, const RunItem& run) {
  std::map<int, std::vector<int>> streams;
  for (const int seq : wanted) streams[log.item(seq).stream].push_back(seq);
  Progress progress;
  std::vector<std::thread> threads;
  for (const auto& [number, items] : streams) {
    threads.emplace_back([&, &items = items] { run_stream(log, items, run, progress); });
  }
  for (std::thread& thread : threads) thread.join();
  return progress.error;
}

}  // namespace moediff::hiphost
