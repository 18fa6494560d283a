// The logical dataflow of a Program in double with errors: from a value back to the inputs, through its producers.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "harness/compare/assemble.h"
#include "harness/compare/chained_stage.h"
#include "harness/compare/compare.h"
#include "harness/core/hash.h"

namespace moediff {

/// A value's numbers, shared with the memo. `key` names how they came about: equal keys, equal numbers.
struct Field {
  std::shared_ptr<const bounds::Uncertain> numbers;
  std::uint64_t key = 0;
};

class Dataflow {
 public:
  /// `legitimate`, by router step: whether to follow the candidate's choice.
  Dataflow(const Program& program, const Run& run, Expected& expected, const std::map<int, bool>& legitimate)
      : program_(program), run_(run), expected_(expected), legitimate_(legitimate) {}
  /// None when the value does not follow from the inputs (a fill, a copy of bytes without meaning).
  std::optional<Field> value(int index);

 private:
  struct Call {
    ChainedInputs inputs;
    std::uint64_t key = 0;
  };
  std::optional<Field> find(int index);
  Field initial(int index);
  std::optional<Field> operand(const Operand& wanted);
  std::optional<Field> computed(Origin from);
  std::optional<Call> gather(int step);
  WeightSet* weight(int step, int index, Hasher& hasher);  ///< null when it cannot be had; its keys go to `hasher`
  std::optional<std::vector<std::int32_t>> followed_choice(int step) const;
  std::optional<Field> remembered(std::uint64_t key) const;
  Field remember(std::uint64_t key, bounds::Uncertain numbers);

  const Program& program_;
  const Run& run_;
  Expected& expected_;
  const std::map<int, bool>& legitimate_;
  std::map<int, std::optional<Field>> known_;
};

}  // namespace moediff
