#include "tests/unit/scenario/files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace moediff::testing {

Files::Files() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string(test->test_suite_name()) + "." + test->name() + "." + std::to_string(getpid());
  for (char& c : name) c = c == '/' ? '_' : c;
  folder_ = std::filesystem::path(::testing::TempDir()) / name;
  std::filesystem::create_directories(folder_);
}

Files::~Files() { std::filesystem::remove_all(folder_); }

std::string Files::write(const std::string& name, std::string_view text) const {
  const std::filesystem::path file = folder_ / name;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
  return file.string();
}

std::vector<Case> Files::load(const std::string& name, const LoadOptions& options) const {
  const std::vector<std::string> paths{path(name)};
  return load_cases(paths, options);
}

std::vector<std::string> Files::mistakes(const std::vector<std::string>& names, const LoadOptions& options) const {
  std::vector<std::string> paths, texts;
  for (const std::string& name : names) paths.push_back(path(name));
  try {
    load_cases(paths, options);
  } catch (const UserError& problem) {
    const std::string folder = folder_.string() + "/";
    for (const Error& error : problem.errors()) {
      std::string text = to_string(error);
      for (std::size_t at = 0; (at = text.find(folder, at)) != std::string::npos;) text.erase(at, folder.size());
      texts.push_back(text);
    }
  }
  return texts;
}

std::vector<Case> load_text(std::string_view text) {
  const Files files;
  files.write("x.yaml", "scenario: Test\n" + std::string(kModel) + std::string(text));
  return files.load("x.yaml");
}

std::vector<std::string> mistakes_of(std::string_view text) {
  const Files files;
  files.write("x.yaml", text);
  return files.mistakes({"x.yaml"});
}

std::vector<std::string> ids(const std::vector<Case>& cases) {
  std::vector<std::string> tails;
  for (const Case& spec : cases) tails.push_back(spec.id.substr(spec.id.find('/') + 1));
  return tails;
}

}  // namespace moediff::testing
