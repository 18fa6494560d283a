#include "tests/cli/program.h"

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace moediff::cli {
namespace {

std::string slurp(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

Result moediff(const std::string& arguments, const std::string& environment) {
  const Folder folder;
  const std::string out = folder.path() + "/out", err = folder.path() + "/err";
  const int status =
      std::system((environment + " " MOEDIFF_BUILD_DIR "/moediff " + arguments + " >" + out + " 2>" + err).c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), slurp(out), slurp(err)};
}

Folder::Folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "moediff.XXXXXX").string();
  path_ = mkdtemp(pattern.data());
}

Folder::~Folder() { std::filesystem::remove_all(path_); }

std::string Folder::write(const std::string& name, const std::string& text) const {
  const std::string path = path_ + "/" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::string small_scenario(const std::string& more) {
  return "scenario: a small layer\n"
         "model: {hidden: 32, inter: 16, experts: 4, top_k: 2, n_shared: 1, routed_scaling_factor: 2.5}\n"
         "seed: 3\n" +
         more;
}

nlohmann::json read_json(const std::string& path) { return nlohmann::json::parse(slurp(path)); }

}  // namespace moediff::cli
