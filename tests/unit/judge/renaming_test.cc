// The judge knows no names: renaming every stream, buffer, value and step at random changes no cause (principle 2).
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "tests/unit/judge/founding_case.h"

namespace moediff::test {
namespace {

class Renamer {
 public:
  explicit Renamer(unsigned seed) : engine_(seed) {}
  std::string name() {
    // Names that mislead: other ops, other causes, faults, equal prefixes.
    constexpr std::array<const char*, 8> kStems{"combine", "stale_read",    "alias1", "gemm1",
                                                "x",       "hidden_states", "pass",   "workspace"};
    return kStems[engine_() % kStems.size()] + std::to_string(engine_() % 1000);
  }
  void rename(Program& program) {
    for (std::string& stream : program.streams) stream = name();
    for (Buffer& buffer : program.buffers) buffer.name = name();
    for (Value& value : program.values) value.name = name();
    for (Step& step : program.steps) step.name = name();
  }
  void rename(Diff& diff) {
    for (StageDiff& stage : diff.stages) stage.stage = stage.value = name();
  }

 private:
  std::mt19937 engine_;
};

FoundingCase variant(int which) {
  FoundingCase founding;
  if (which < 7) founding.plant();
  constexpr std::array<Cause, 7> kKinds{Cause::stale_read,       Cause::undeclared_write, Cause::undeclared_read,
                                        Cause::unordered_access, Cause::lifetime,         Cause::shared_workspace,
                                        Cause::uninitialised};
  if (which < 7) founding.order.hazards[0].kind = kKinds[which];
  if (which == 7) founding.stage(1, DiffMode::local).beyond_statistical = 1;
  if (which == 8) founding.stage(1, DiffMode::local).not_finite = 1;
  if (which == 9) founding.stage(0, DiffMode::local).routing_wrong = true;
  if (which == 10) founding.run.red_zone_hits = {"combine wrote 4 bytes past gemm1_out"};
  if (which == 11) founding.diff.stages.clear();
  return founding;
}

TEST(Renaming, ChangesNoStatusNoCauseNoBlamedStep) {
  for (int which = 0; which <= 12; ++which) {
    const Verdict before = variant(which).verdict();
    for (unsigned seed = 0; seed < 20; ++seed) {
      FoundingCase renamed = variant(which);
      Renamer renamer(seed);
      renamer.rename(renamed.program);
      renamer.rename(renamed.diff);
      const Verdict after = renamed.verdict();
      EXPECT_EQ(after.status, before.status) << which;
      EXPECT_EQ(after.cause, before.cause) << which;
      EXPECT_EQ(after.certain, before.certain) << which;
      EXPECT_EQ(after.hazard, before.hazard) << which;
      const bool by_text = which == 10;  // a red zone names its step in text only
      EXPECT_TRUE(by_text || after.blame.step == before.blame.step) << which;
    }
  }
}

}  // namespace
}  // namespace moediff::test
