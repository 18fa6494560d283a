#include "harness/diagnose/experiments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "harness/order/order.h"
#include "harness/program/build.h"
#include "harness/program/fault_table.h"
#include "harness/program/rewrite.h"
#include "tests/unit/program/layer_case.h"

namespace moediff {
namespace {

const ExperimentRow& experiment(std::string_view name) {
  const auto rows = experiments();
  return *std::find_if(rows.begin(), rows.end(), [&](const ExperimentRow& row) { return row.name == name; });
}

// The faulty Program with the hazards that the static check finds in it.
struct Faulty {
  Program program;
  std::vector<Hazard> hazards;
};

Faulty plant(Case spec, const char* fault) {
  Faulty faulty{build_moe_layer(spec), {}};
  EXPECT_EQ(find_fault(fault)->rewrite(faulty.program, spec.drop_wait), std::nullopt);
  faulty.hazards = static_check(faulty.program).hazards;
  EXPECT_FALSE(faulty.hazards.empty());
  return faulty;
}

bool clean(const Program& program) { return static_check(program).hazards.empty(); }

TEST(Experiments, NamesAreUniqueAndEveryOneIsTriedForSomething) {
  std::set<std::string_view> names;
  for (const ExperimentRow& row : experiments()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.tried_for.empty()) << row.name;
    EXPECT_FALSE(row.question.empty()) << row.name;
  }
}

TEST(Experiments, RestoreSaysWhatIsRestoredBeforeWhom) {
  const Faulty faulty = plant(layer_case(), "alias1");
  const auto intervention = experiment("restore").apply(faulty.program, faulty.hazards);
  ASSERT_TRUE(intervention);
  EXPECT_EQ(intervention->name, "restore hidden_states before shared_gemm1");
  validate(intervention->program);
}

TEST(Experiments, RestoreReachesTheVictimOfEveryChunk) {
  Case spec = layer_case();
  spec.chunk = 2;
  const Faulty faulty = plant(spec, "alias1");
  const auto intervention = experiment("restore").apply(faulty.program, faulty.hazards);
  ASSERT_TRUE(intervention);
  for (const char* chunk : {"[0]", "[1]", "[2]"}) {
    EXPECT_GE(find_step(intervention->program, std::string("restore before shared_gemm1") + chunk), 0) << chunk;
  }
}

TEST(Experiments, AddingTheMissingEdgesLeavesNoHazard) {
  for (const char* wait : {"fork", "join"}) {
    Case spec = with_stream(layer_case(), StreamMode::aux);
    spec.drop_wait = wait;
    const Faulty faulty = plant(spec, "drop_wait");
    const auto intervention = experiment("add_edge").apply(faulty.program, faulty.hazards);
    ASSERT_TRUE(intervention) << wait;
    EXPECT_TRUE(clean(intervention->program)) << wait;
    EXPECT_FALSE(clean(faulty.program)) << wait;
  }
}

TEST(Experiments, PrivateWorkspacesCureASharedOneAndNothingElse) {
  Case spec = with_stream(layer_case(), StreamMode::aux);
  spec.split_k = 2;
  const Faulty shared = plant(spec, "workspace1");
  const auto cure = experiment("private_workspace").apply(shared.program, shared.hazards);
  ASSERT_TRUE(cure);
  EXPECT_TRUE(clean(cure->program));
  EXPECT_TRUE(cure->keeps_order);

  const Faulty race = plant(spec, "stream2");
  const auto no_cure = experiment("private_workspace").apply(race.program, race.hazards);
  ASSERT_TRUE(no_cure);
  EXPECT_FALSE(clean(no_cure->program));
  const Faulty plain = plant(with_stream(layer_case(), StreamMode::aux), "stream2");
  EXPECT_FALSE(experiment("private_workspace").apply(plain.program, plain.hazards)) << "there is no workspace";
}

TEST(Experiments, SynchronisingCuresARaceButNotAWrongOrder) {
  const Faulty race = plant(with_stream(layer_case(), StreamMode::aux), "stream2"),
               order = plant(layer_case(), "alias1");
  const auto with_race = experiment("synchronise").apply(race.program, race.hazards),
             with_order = experiment("synchronise").apply(order.program, order.hazards);
  EXPECT_TRUE(clean(with_race->program));
  EXPECT_FALSE(clean(with_order->program));
}

TEST(Experiments, NeverReusingMemoryChangesOnlyThePolicy) {
  const Faulty faulty = plant(with_stream(layer_case(), StreamMode::aux), "lifetime1");
  const auto intervention = experiment("never_reuse").apply(faulty.program, faulty.hazards);
  ASSERT_TRUE(intervention);
  EXPECT_FALSE(intervention->reuse_memory);
  EXPECT_EQ(hash(intervention->program), hash(faulty.program));
}

}  // namespace
}  // namespace moediff
