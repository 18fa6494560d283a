#include "harness/run/module.h"

#include <gmock/gmock.h>

#include "harness/core/error.h"
#include "tests/unit/run/toy.h"

namespace moediff {
namespace {

using testing::HasSubstr;

std::string provider_problem(const std::string& provider) {
  Modules modules("fake", RUN_TEST_MODULES);
  try {
    modules.provider(provider);
  } catch (const CannotRun& error) {
    return error.what();
  }
  return "";
}

TEST(Modules, ABackendTellsWhatItIs) {
  const BackendInfo info = Modules("fake", RUN_TEST_MODULES).info();
  EXPECT_EQ(info.name, "fake");
  EXPECT_EQ(info.runtime, "fake 1");
  EXPECT_EQ(info.device, "a fake device");
  EXPECT_EQ(info.devices, 1);
  EXPECT_EQ(info.problem, "");
}

TEST(Modules, AMissingBackendIsNamedWithItsPath) {
  try {
    Modules("quantum", RUN_TEST_MODULES);
    FAIL();
  } catch (const CannotRun& error) {
    EXPECT_THAT(error.what(), HasSubstr("backend 'quantum'"));
    EXPECT_THAT(error.what(), HasSubstr("libmoediff_quantum.so"));
  }
}

TEST(Modules, ALibraryThatIsNoBackendSaysWhichSymbolLacks) {
  try {
    Modules("empty_fake", RUN_TEST_MODULES);
    FAIL();
  } catch (const CannotRun& error) {
    EXPECT_THAT(error.what(), HasSubstr("does not export 'moediff_backend'"));
  }
}

TEST(Modules, AProviderIsFoundByNameAndByPath) {
  EXPECT_EQ(provider_problem("fake"), "");
  EXPECT_EQ(provider_problem(std::string(RUN_TEST_MODULES) + "/libmoediff_fake_fake.so"), "");
}

TEST(Modules, EachKindOfBadProviderHasItsOwnText) {
  EXPECT_THAT(provider_problem("nobody"), HasSubstr("does not exist"));
  EXPECT_THAT(provider_problem("empty"), HasSubstr("does not export 'moediff_provider'"));
  EXPECT_THAT(provider_problem("old"), HasSubstr("built for version 99"));
  EXPECT_THAT(provider_problem("foreign"), HasSubstr("is for backend 'rocm'"));
  EXPECT_THAT(provider_problem(MOEDIFF_SOURCE_DIR "/LICENSE"), HasSubstr("cannot load"));
}

}  // namespace
}  // namespace moediff
