// The kinds that quantise activations: by groups of a token, by token, by tensor. Codes and scales are compared bit by
// bit with fp32 arithmetic as IEEE 754 has it.
#include "harness/replay/compare.h"
#include "harness/replay/fp8.h"
#include "harness/replay/kinds.h"
#include "harness/replay/policy.h"
#include "reference/formats.h"

namespace moediff {
namespace {

/// One quantisation that a file expects: tensors of these names, those that are there.
struct Quantisation {
  std::string oracle;
  std::string codes, scales, values;
  Shape scale_shape;
};

struct Input {
  std::vector<double> x;
  std::int64_t rows = 0, columns = 0;
};

/// Expected tensors are read, then computed, so that a file's mistakes come first.
class QuantisationChecks {
 public:
  QuantisationChecks(ReplayFile& file, const Input& input, const Quantisation& wanted, const OraclePolicy& base)
      : input_(input), wanted_(wanted), spec_(resolved(oracle_policy(file, wanted.oracle, base).quant)) {
    const Shape shape{input.rows, input.columns};
    if (file.has(wanted.codes)) codes_ = file.bytes(wanted.codes, shape, spec_.fp8_dtype());
    if (file.has(wanted.scales)) scales_ = file.reals(wanted.scales, wanted.scale_shape);
    if (file.has(wanted.values)) values_ = file.reals(wanted.values, shape);
  }

  void run(std::vector<Check>& checks) const {
    const reference::Quantised actual = reference::quantise(input_.x, input_.rows, input_.columns, spec_);
    const DType format = spec_.fp8_dtype();
    if (!codes_.empty()) {
      checks.push_back(
          compare_codes({wanted_.codes, wanted_.oracle, "", "codes"}, codes_, encoded(actual.code, format), format));
    }
    if (!scales_.empty()) {
      checks.push_back(compare_exactly({wanted_.scales, wanted_.oracle, "f32", "scales"}, scales_, actual.scale));
    }
    if (!values_.empty()) {
      std::vector<double> values =
          reference::spread_scales(actual.scale, input_.rows, input_.columns, reference::scale_groups(spec_));
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = reference::round_to(DType::f32, values[i] * actual.code[i]);
      }
      checks.push_back(compare_exactly({wanted_.values, wanted_.oracle, "f32", "values"}, values_, values));
    }
  }

 private:
  const Input& input_;
  Quantisation wanted_;
  QuantSpec spec_;
  std::vector<std::byte> codes_;
  std::vector<double> scales_, values_;
};

Input read_input(ReplayFile& file) {
  Input input;
  const Shape shape = file.shape("x", 2);
  input.rows = shape[0], input.columns = shape[1];
  input.x = file.reals("x", shape);
  return input;
}

}  // namespace

std::vector<Check> replay_fp8_act_quant(ReplayFile& file) {
  OraclePolicy base;
  base.quant.scheme = QuantScheme::fp8_block;
  base.quant.fp8 = read_fp8_kind(file);
  base.quant.group = file.config().integer({"group_size"}, 1, 65536, 128);
  base.quant.fmax = file.config().real({"fp8_max"}, 1, 448, 0);
  const Input input = read_input(file);
  const std::int64_t groups = (input.columns + base.quant.group - 1) / base.quant.group;
  std::vector<QuantisationChecks> jobs;
  std::vector<std::string> oracles = oracles_with(file, ".q");
  for (const std::string& oracle : oracles) {
    const Quantisation wanted{oracle, oracle + ".q", oracle + ".scale", oracle + ".dequant", {input.rows, groups}};
    jobs.emplace_back(file, input, wanted, base);
  }
  check_policies(file, oracles);
  check_tolerances(file, {});
  file.throw_if_mistaken();
  std::vector<Check> checks;
  if (input.x.empty()) return checks;
  for (const QuantisationChecks& job : jobs) job.run(checks);
  return checks;
}

std::vector<Check> replay_fp8_per_token_quant(ReplayFile& file) {
  const double fmax = file.config().real({"fp8_max"}, 1, 448, 0);
  const Fp8Kind kind = read_fp8_kind(file);
  const Input input = read_input(file);
  std::vector<QuantisationChecks> jobs;
  for (const QuantScheme scheme : {QuantScheme::fp8_channel, QuantScheme::fp8_tensor}) {
    OraclePolicy base;
    base.quant.scheme = scheme;
    base.quant.fp8 = kind;
    base.quant.fmax = fmax;
    const bool tensor = scheme == QuantScheme::fp8_tensor;
    const std::string oracle = tensor ? "per_tensor" : "per_token";
    const Shape scales = tensor ? Shape{1} : Shape{input.rows, 1};
    jobs.emplace_back(file, input,
                      Quantisation{oracle, oracle + ".q_u8", oracle + ".scale", oracle + ".dequant", scales}, base);
  }
  check_policies(file, {"per_token", "per_tensor"});
  check_tolerances(file, {});
  file.throw_if_mistaken();
  std::vector<Check> checks;
  if (input.x.empty()) return checks;
  for (const QuantisationChecks& job : jobs) job.run(checks);
  return checks;
}

}  // namespace moediff
