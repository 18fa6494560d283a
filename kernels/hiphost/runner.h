// Executes one item on the calling thread: tag hooks round it, what the fault handler needs to know, block executors.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/hiphost/block_executor.h"
#include "kernels/hiphost/work_log.h"

namespace moediff::hiphost {

class Runner {
 public:
  explicit Runner(WorkLog& log) : log_(log) {}

  /// Thread safe. Returns "" or the error with the item's name.
  std::string run(int seq);
  /// Runs a launch on a block executor of the calling thread.
  std::string run_kernel(const Launch& launch);
  void set_hook(md_tag_hook hook, void* user);
  void reset();

  const std::vector<int>& executed() const { return executed_; }
  StackPool& stacks() { return stacks_; }

 private:
  struct TagState {
    int executed = 0;
    bool open = false;
  };
  /// Notes the item as executed; true when it opens its tag.
  bool begin(int seq, int tag);
  /// True when the item was the last issued one of its tag.
  bool end(int tag);
  std::unique_ptr<BlockExecutor> take_executor();

  WorkLog& log_;
  StackPool stacks_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<BlockExecutor>> idle_;
  std::unordered_map<int, TagState> tags_;
  std::vector<int> executed_;
  md_tag_hook hook_ = nullptr;
  void* user_ = nullptr;
};

}  // namespace moediff::hiphost
