// The command line as a value. The verbs are a table: name, what it does, an example for its --help.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace moediff {

enum class Verb : std::uint8_t { list, check, run, replay, conformance, sensitivity, explain, faults, doctor };

struct VerbRow {
  Verb verb;
  std::string_view name, summary, example;
};
inline constexpr std::array<VerbRow, 9> kVerbs{{
    {Verb::list, "list", "expand scenarios and print the cases, without running anything",
     "moediff list scenarios/streams --filter '*tokens6*' --canonical"},
    {Verb::check, "check", "validate scenarios, and find on the Programs alone which readers meet a wrong version",
     "moediff check scenarios/streams"},
    {Verb::run, "run", "run scenarios, judge every case, write reports", "moediff run scenarios/streams --out out"},
    {Verb::replay, "replay", "recompute what other implementations' files expect, and compare",
     "moediff replay tests/golden/data/dsv3_moe_01_t1_nogroup.safetensors --verbose"},
    {Verb::conformance, "conformance", "check a provider's own number conversions against the formats' definitions",
     "moediff conformance formats --all-floats --filter 'f32 to f8_e5m2'"},
    {Verb::sensitivity, "sensitivity", "plant subtle defects and show which checks see them, ours and the field's",
     "moediff sensitivity --markdown table.md"},
    {Verb::explain, "explain", "what a cause, a stage, a key, a word or a case of a report means",
     "moediff explain stale_read"},
    {Verb::faults, "faults", "the faults that can be planted, with their public reports", "moediff faults"},
    {Verb::doctor, "doctor", "backends, devices, versions and limits of this machine", "moediff doctor"},
}};

struct Command {
  Verb verb = Verb::run;
  std::vector<std::string> paths;  ///< list, check, run, replay
  std::string topic;               ///< explain, conformance
  std::string filter;
  std::string provider = "builtin";  ///< conformance, replay
  bool all_floats = false;           ///< conformance
  bool canonical = false;
  bool verbose = false, reference_only = false;  ///< replay
  std::optional<std::uint64_t> seed;
  std::string backend = "host";
  std::string out, json, junit;
  std::string progress = "auto";
  bool fail_fast = false;
  bool in_process = false;
  std::optional<double> timeout;
  int jobs = 0;                     ///< 0: one a core
  std::string report;               ///< explain: the JSON a case is looked up in
  std::string program = "moediff";  ///< as the user called it
  std::vector<std::string> words;   ///< as typed, for the record
};

/// Parses; prints help or a usage error and ends the process (0 or 2) where CLI11 asks for it.
Command parse_command_line(int argc, char** argv);

}  // namespace moediff
