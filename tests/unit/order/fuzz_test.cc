// analyse_order against the truth: it reports a hazard exactly when some interleaving shows a wrong version.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/order/brute_force.h"

namespace moediff::test {
namespace {

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return below(100) < percent; }

 private:
  std::mt19937 engine_;
};

struct Sample {
  Program program;
  Run run;
};

/// A Program of up to 7 calls on 2 or 3 streams. Readers mostly mean the newest version of a buffer in issue order, so
/// that a good part of the samples is sound; some mean another one, even one that is written later.
class Sampler {
 public:
  Sampler(unsigned seed, bool pooled)
      : dice_(seed), streams_(2 + dice_.below(2)), toy_(streams_ == 2 ? Names{"s0", "s1"} : Names{"s0", "s1", "s2"}) {
    const int buffers = 2 + dice_.below(3);
    for (int b = 0; b < buffers; ++b) {
      const bool is_pooled = pooled && b > 0 && dice_.chance(60);
      toy_.buffer("b" + std::to_string(b), BufferKind::activation, 64, is_pooled);
      const bool is_initial = !is_pooled && (b == 0 || dice_.chance(60));
      newest_.push_back(is_initial ? toy_.value("i" + std::to_string(b), b, true) : -1);
    }
  }

  Sample draw() {
    const int calls = 2 + dice_.below(5);
    int home = 0;
    for (int i = 0; i < calls; ++i) {
      if (dice_.chance(35)) cross(home);
      add_call(i, home);
      if (dice_.chance(5)) toy_.host_sync();
    }
    free_some(home);
    mean_another();
    if (dice_.chance(30)) toy_.program.outputs = {static_cast<int>(toy_.program.values.size()) - 1};
    Sample sample{toy_.program, traced(toy_.program)};
    if (dice_.chance(15)) put_on_null_stream(sample.run);
    return sample;
  }

 private:
  using Names = std::vector<std::string>;

  /// The work moves to another stream, mostly with a wait.
  void cross(int& home) {
    const int to = (home + 1 + dice_.below(streams_ - 1)) % streams_;
    if (dice_.chance(75)) toy_.wait("w" + std::to_string(toy_.program.events), home, to);
    if (dice_.chance(80)) home = to;
  }

  void add_call(int number, int home) {
    const int stream = dice_.chance(85) ? home : dice_.below(streams_);
    std::vector<int> reads;
    for (const int value : newest_) {
      if (value >= 0 && reads.size() < 2 && dice_.chance(60)) reads.push_back(value);
    }
    const int target = dice_.below(static_cast<int>(newest_.size()));
    if (toy_.program.buffers[target].pooled && newest_[target] < 0) {
      if (allocated_.count(target) > 0) return;  // freed before
      toy_.alloc(target, stream);
      allocated_.insert(target);
    }
    newest_[target] = toy_.value("v" + std::to_string(number), target);
    toy_.call("step" + std::to_string(number), stream, reads, newest_[target]);
    if (toy_.program.buffers[target].pooled && dice_.chance(25)) free_some(stream);
  }

  void free_some(int stream) {
    for (const int buffer : allocated_) {
      if (freed_.count(buffer) > 0 || !dice_.chance(60)) continue;
      toy_.free(buffer, stream);
      freed_.insert(buffer);
      if (dice_.chance(80)) newest_[buffer] = -1;
    }
  }

  /// Now and then one operand means another value of its buffer.
  void mean_another() {
    if (!dice_.chance(20)) return;
    Program& program = toy_.program;
    const int value = dice_.below(static_cast<int>(program.values.size()));
    for (Step& step : program.steps) {
      if (step.kind != StepKind::call) continue;
      for (int operand = 0; operand < 2; ++operand) {
        if (step.operands[operand].buffer != program.values[value].buffer || dice_.chance(70)) continue;
        if (step.operands[2].values.front() != value) step.operands[operand].values = {value};
      }
    }
  }

  void put_on_null_stream(Run& run) {
    const int moved = 1 + dice_.below(streams_);
    for (TraceItem& item : run.trace) item.stream = item.stream == moved ? 0 : item.stream;
  }

  Dice dice_;
  int streams_;
  Toy toy_;
  std::vector<int> newest_;  ///< by buffer: its last version in issue order, -1: none
  std::set<int> allocated_, freed_;
};

std::string text_of(const Sample& sample) {
  std::string text;
  for (std::size_t i = 0; i < sample.run.trace.size(); ++i) {
    const TraceItem& item = sample.run.trace[i];
    const Step& step = sample.program.steps[item.step];
    text += "stream " + std::to_string(item.stream) + ": " + step.name;
    if (step.event >= 0) text += " event " + std::to_string(step.event);
    for (const Operand& o : step.operands) {
      if (o.buffer < 0) continue;
      text += " " + sample.program.values[o.values.front()].name + "@" + sample.program.buffers[o.buffer].name + "#" +
              std::to_string(sample.run.placement[o.buffer].block);
    }
    text += "\n";
  }
  return text;
}

bool names(const OrderResult& result, Cause kind) {
  return std::any_of(result.hazards.begin(), result.hazards.end(), [&](const Hazard& h) { return h.kind == kind; });
}

/// No false alarm: what a hazard says of its reader is true of some interleaving.
bool is_true(const Hazard& hazard, const Truth& truth) {
  const std::pair<int, int> writers{std::min(hazard.writer, hazard.reader), std::max(hazard.writer, hazard.reader)};
  if (truth.either_order.count(writers) > 0) return true;
  if (hazard.kind == Cause::lifetime) {
    return truth.outside_life.count(hazard.reader) > 0 || truth.wrong_reads.count({hazard.reader, hazard.value}) > 0;
  }
  if (hazard.reader < 0) return truth.wrong_outputs.count(hazard.value) > 0;
  return truth.wrong_reads.count({hazard.reader, hazard.value}) > 0;
}

struct Counts {
  int sound = 0, broken = 0;
};

void compare_with_truth(unsigned seed, bool pooled, Counts& counts) {
  const Sample sample = Sampler(seed, pooled).draw();
  validate(sample.program);
  const Truth truth = all_interleavings(sample.program, sample.run);
  const OrderResult result = analyse_order(sample.program, sample.run, nullptr);
  ASSERT_EQ(result.hazards.empty(), truth.sound())
      << "seed " << seed << "\n"
      << text_of(sample) << testing::PrintToString(summary(sample.program, result));
  for (const Hazard& hazard : result.hazards) {
    ASSERT_TRUE(is_true(hazard, truth)) << "seed " << seed << "\n"
                                        << text_of(sample) << testing::PrintToString(summary(sample.program, result));
  }
  ASSERT_EQ(names(result, Cause::lifetime) || truth.outside_life.empty(), true) << text_of(sample);
  ++(truth.sound() ? counts.sound : counts.broken);
}

TEST(Fuzz, AHazardIsReportedExactlyWhenSomeInterleavingShowsAWrongVersion) {
  Counts counts;
  for (unsigned seed = 0; seed < 1500 && !HasFatalFailure(); ++seed) compare_with_truth(seed, false, counts);
  EXPECT_GT(counts.sound, 200);
  EXPECT_GT(counts.broken, 200);
}

TEST(Fuzz, TheSameWithPooledMemory) {
  Counts counts;
  for (unsigned seed = 0; seed < 1500 && !HasFatalFailure(); ++seed) compare_with_truth(seed, true, counts);
  EXPECT_GT(counts.sound, 200);
  EXPECT_GT(counts.broken, 200);
}

TEST(Fuzz, WaitsNamedRedundantCanAllGoWithoutANewHazard) {
  int removed = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    const Sample sample = Sampler(seed, false).draw();
    const OrderResult before = analyse_order(sample.program, sample.run, nullptr);
    Sample lean = sample;
    for (auto step = before.redundant_waits.rbegin(); step != before.redundant_waits.rend(); ++step) {
      lean.run.trace.erase(lean.run.trace.begin() + *step);  // one item a step
      ++removed;
    }
    const OrderResult after = analyse_order(lean.program, lean.run, nullptr);
    ASSERT_EQ(summary(sample.program, before), summary(lean.program, after)) << "seed " << seed << "\n"
                                                                             << text_of(sample);
    ASSERT_TRUE(after.redundant_waits.empty()) << "seed " << seed << "\n" << text_of(sample);
  }
  EXPECT_GT(removed, 100);
}

/// Does the hazard have a reader of another step's value? (Two writers may leave nothing for anybody to read.)
bool has_victim(const Program& program, const Hazard& hazard) {
  return hazard.kind != Cause::lifetime && hazard.reader >= 0 && producer(program, hazard.value) != hazard.reader;
}

TEST(Fuzz, WitnessOrdersCanHappenAndShowTheHazard) {
  int victims = 0, others = 0, others_shown = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    const Sample sample = Sampler(seed, seed % 2 == 1).draw();
    for (const Hazard& hazard : analyse_order(sample.program, sample.run, nullptr).hazards) {
      const auto orders = witness_orders(sample.program, sample.run, hazard);
      ASSERT_EQ(orders.empty(), hazard.edge_missing.empty()) << "seed " << seed << "\n" << text_of(sample);
      ASSERT_LE(orders.size(), 6u);
      bool shown = false;
      for (const auto& order : orders) {
        ASSERT_TRUE(can_happen(sample.run.trace, order)) << "seed " << seed << "\n" << text_of(sample);
        const bool shows = shows_wrong_version(sample.program, sample.run, order);
        ASSERT_TRUE(shows || !has_victim(sample.program, hazard)) << "seed " << seed << "\n" << text_of(sample);
        shown |= shows;
      }
      if (orders.empty()) continue;
      victims += has_victim(sample.program, hazard) ? 1 : 0;
      others += has_victim(sample.program, hazard) ? 0 : 1;
      others_shown += !has_victim(sample.program, hazard) && shown ? 1 : 0;
    }
  }
  EXPECT_GT(victims, 200);
  EXPECT_GT(others_shown, others / 2);
}

}  // namespace
}  // namespace moediff::test
