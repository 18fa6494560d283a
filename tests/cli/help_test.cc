#include <gtest/gtest.h>

#include "tests/cli/program.h"

namespace moediff::cli {
namespace {

TEST(Help, EveryVerbHasOneWithAnExample) {
  for (const char* verb : {"list", "check", "run", "replay", "explain", "faults", "doctor"}) {
    const Result result = moediff(std::string(verb) + " --help");
    EXPECT_EQ(result.status, 0) << verb;
    EXPECT_NE(result.out.find("Example:\n  moediff " + std::string(verb)), std::string::npos) << result.out;
  }
}

TEST(Help, AMisspeltVerbIsAUsageErrorWithASuggestion) {
  const Result result = moediff("chekc scenarios/smoke");
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("did you mean 'moediff check'?"), std::string::npos) << result.err;
}

TEST(Help, NoArgumentsAndUnknownOptionsAreUsageErrors) {
  EXPECT_EQ(moediff("").status, 2);
  EXPECT_EQ(moediff("run scenarios/smoke --fliter x").status, 2);
  EXPECT_EQ(moediff("run").status, 2);
}

TEST(Help, ExplainKnowsCausesStagesRelationsAndFaults) {
  for (const char* topic : {"stale_read", "combine", "none=aux", "alias1"}) {
    const Result result = moediff(std::string("explain ") + topic);
    EXPECT_EQ(result.status, 0) << topic;
    EXPECT_NE(result.out.find(topic), std::string::npos);
  }
  const Result wrong = moediff("explain stale_raed");
  EXPECT_EQ(wrong.status, 2);
  EXPECT_NE(wrong.err.find("did you mean 'stale_read'?"), std::string::npos) << wrong.err;
}

TEST(Help, FaultsAreListedWithTheirPublicReports) {
  const Result result = moediff("faults");
  EXPECT_EQ(result.status, 0);
  for (const char* report :
       {"vllm-project/vllm#28942", "vllm-project/vllm#20152", "vllm-project/vllm#28430", "ROCm/aiter#2381"}) {
    EXPECT_NE(result.out.find(report), std::string::npos) << report;
  }
}

TEST(Help, DoctorNamesBackendsAndLimits) {
  const Result result = moediff("doctor");
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.out.find("backend host: hiphost"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("cores"), std::string::npos);
}

}  // namespace
}  // namespace moediff::cli
