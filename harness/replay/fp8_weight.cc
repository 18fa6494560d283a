// The kinds about weights quantised in blocks: codes, scales and values of a matrix; the product with quantised
// activations.
#include <algorithm>
#include <cmath>

#include "harness/replay/compare.h"
#include "harness/replay/fp8.h"
#include "harness/replay/kinds.h"
#include "harness/replay/policy.h"
#include "reference/formats.h"

namespace moediff {
namespace {

const std::string kScaleEnding = ".weight_scale_inv";

std::int64_t blocks(std::int64_t size, std::int64_t block) { return (size + block - 1) / block; }

/// What one oracle expects of the quantised matrix.
struct WeightOracle {
  std::string name;
  QuantSpec spec;
  std::vector<std::byte> codes;
  std::vector<double> scales;
  struct Values {
    ExpectedTensor expected;
    DType dtype;
    std::vector<double> values;
  };
  std::vector<Values> values;
};

struct Dense {
  std::vector<double> w;
  std::int64_t n = 0, k = 0;
};

/// Tensors ORACLE.…dequant…_f32 and …_bf16.
void read_values(ReplayFile& file, const Dense& matrix, WeightOracle& oracle) {
  for (const auto& entry : file.tensors()) {
    const std::string& name = entry.first;
    if (name.rfind(oracle.name + ".", 0) != 0 || name.find("dequant") == std::string::npos) continue;
    const std::string precision = name.substr(name.rfind('_') + 1);
    if (precision != "f32" && precision != "bf16") continue;
    oracle.values.push_back({{name, oracle.name, precision, "values in " + precision},
                             precision == "f32" ? DType::f32 : DType::bf16,
                             file.reals(name, {matrix.n, matrix.k})});
  }
}

WeightOracle read_oracle(ReplayFile& file, const std::string& name, const Dense& matrix, const OraclePolicy& base) {
  WeightOracle oracle;
  oracle.name = name;
  oracle.spec = resolved(oracle_policy(file, name, base).quant);
  oracle.codes = file.bytes(name + ".q", {matrix.n, matrix.k}, oracle.spec.fp8_dtype());
  if (file.has(name + kScaleEnding)) {
    oracle.scales =
        file.reals(name + kScaleEnding, {blocks(matrix.n, oracle.spec.group), blocks(matrix.k, oracle.spec.group)});
  }
  read_values(file, matrix, oracle);
  return oracle;
}

void check_oracle(const WeightOracle& oracle, const Dense& matrix, std::vector<Check>& checks) {
  const reference::QuantisedWeight actual =
      reference::quantise_weight(matrix.w, matrix.n, matrix.k, oracle.spec, false, DType::f32);
  checks.push_back(compare_codes({oracle.name + ".q", oracle.name, "", "codes"}, oracle.codes, actual.codes,
                                 oracle.spec.fp8_dtype()));
  if (!oracle.scales.empty()) {
    checks.push_back(
        compare_exactly({oracle.name + kScaleEnding, oracle.name, "f32", "scales"}, oracle.scales, actual.scales));
  }
  const std::vector<double> products = reference::weight_values(
      {matrix.n, matrix.k, actual.codes, actual.scales, actual.sn, actual.sk}, oracle.spec, false, DType::f32);
  for (const WeightOracle::Values& wanted : oracle.values) {
    std::vector<double> values = products;
    for (double& value : values) {  // the product in float32, then the store
      value = reference::round_to(wanted.dtype, reference::round_to(DType::f32, value));
    }
    checks.push_back(compare_exactly(wanted.expected, wanted.values, values));
  }
}

/// A quantised operand of the product, as the values it stands for.
std::vector<double> read_activations(ReplayFile& file, std::int64_t rows, std::int64_t columns, const QuantSpec& spec) {
  const DType format = spec.fp8_dtype();
  const std::vector<double> codes = decoded(file.bytes("a.q", {rows, columns}, format), format);
  const std::vector<double> scales = file.reals("a.scale", {rows, blocks(columns, spec.group)});
  file.throw_if_mistaken();
  std::vector<double> values = reference::spread_scales(scales, rows, columns, reference::scale_groups(spec));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= codes[i];
  return values;
}

std::vector<double> read_weights(ReplayFile& file, std::int64_t n, std::int64_t k, const QuantSpec& spec) {
  const std::vector<std::byte> codes = file.bytes("b.q", {n, k}, spec.fp8_dtype());
  const std::int64_t sn = blocks(n, spec.group), sk = blocks(k, spec.group);
  const std::vector<double> scales = file.reals("b.weight_scale_inv", {sn, sk});
  file.throw_if_mistaken();
  return reference::weight_values({n, k, codes, scales, sn, sk}, spec, false, DType::f32);
}

/// Every tensor ORACLE.NAME_PRECISION that is neither operand.
std::vector<ExpectedTensor> products(const ReplayFile& file) {
  std::vector<ExpectedTensor> all;
  for (const auto& entry : file.tensors()) {
    const std::string& name = entry.first;
    const std::size_t dot = name.find('.'), bar = name.rfind('_');
    if (name.rfind("a.", 0) == 0 || name.rfind("b.", 0) == 0) continue;
    if (dot == std::string::npos || bar == std::string::npos || bar < dot) continue;
    const ExpectedTensor expected{name, name.substr(0, dot), name.substr(bar + 1), name.substr(dot + 1)};
    if (has_rule(file.kind(), expected)) all.push_back(expected);
  }
  return all;
}

QuantSpec read_spec(ReplayFile& file) {
  QuantSpec spec;
  spec.scheme = QuantScheme::fp8_block;
  spec.fp8 = read_fp8_kind(file);
  spec.group = read_block(file);
  return spec;
}

}  // namespace

std::vector<Check> replay_fp8_weight_quant(ReplayFile& file) {
  OraclePolicy base;
  base.quant = read_spec(file);
  const Shape shape = file.shape("w", 2);
  const Dense matrix{file.reals("w", shape), shape[0], shape[1]};
  if (!std::all_of(matrix.w.begin(), matrix.w.end(), [](double value) { return std::isfinite(value); })) {
    file.mistakes().add("w", "weights that are to be quantised must be finite", "write the file again");
  }
  file.throw_if_mistaken();
  std::vector<WeightOracle> oracles;
  const std::vector<std::string> names = oracles_with(file, ".q");
  for (const std::string& name : names) oracles.push_back(read_oracle(file, name, matrix, base));
  check_policies(file, names);
  check_tolerances(file, {});
  file.throw_if_mistaken();
  std::vector<Check> checks;
  if (matrix.w.empty()) return checks;
  for (const WeightOracle& oracle : oracles) check_oracle(oracle, matrix, checks);
  return checks;
}

std::vector<Check> replay_fp8_block_gemm(ReplayFile& file) {
  const QuantSpec spec = resolved(read_spec(file));
  const Shape a = file.shape("a.q", 2), b = file.shape("b.q", 2);
  const std::int64_t m = a[0], k = a[1], n = b[0];
  file.throw_if_mistaken();
  const std::vector<double> x = read_activations(file, m, k, spec), w = read_weights(file, n, k, spec);
  const std::vector<ExpectedTensor> wanted = products(file);
  check_policies(file, {});
  check_tolerances(file, wanted);
  std::vector<std::vector<double>> expected;
  std::vector<Rule> rules;
  for (const ExpectedTensor& one : wanted) {
    expected.push_back(file.reals(one.tensor, {m, n}));
    rules.push_back(rule_for(file, one));
  }
  file.throw_if_mistaken();
  std::vector<Check> checks;
  if (x.empty() || w.empty()) return checks;
  const std::vector<double> product = reference::linear(x, m, {w, n, k}).value;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    checks.push_back(compare_values(wanted[i], expected[i], {product, m}, rules[i], DType::bf16));
  }
  return checks;
}

}  // namespace moediff
