// When an expected value counts as met: one table of documented rules, by kind, precision and name; a file's metadata
// may state another limit (`tolerance.NAME`), but not another measure.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "harness/replay/expected.h"

namespace moediff {

/// What is measured. differing: elements that are not equal (NaN equals NaN). illegitimate: rows whose set of experts
/// the choice scores do not allow. of_largest: largest |actual - expected| / largest |expected|. relative_l2: |actual -
/// expected|_2 / |expected|_2. steps: largest difference in units in the last place of the expected value's dtype.
/// own_bound: largest |actual - expected| / bound, the bound being moediff's own, derived for each element.
/// absolute: largest |actual - expected|.
enum class Measure : std::uint8_t { differing, illegitimate, of_largest, relative_l2, steps, own_bound, absolute };
inline constexpr std::array<std::string_view, 7> kMeasureTexts{
    "number of elements that differ",
    "rows whose experts the scores do not allow",
    "largest difference / largest expected magnitude",
    "relative L2 distance",
    "largest difference in units in the last place",
    "largest difference / its own derived bound",
    "largest difference",
};

struct Rule {
  Measure measure;
  double limit;
  bool stated = false;  ///< the limit is the file's own
};
inline constexpr Rule kExactly{Measure::differing, 0};
inline constexpr Rule kLegitimate{Measure::illegitimate, 0};
inline constexpr Rule kWithinBound{Measure::own_bound, 1};

/// Softmax turns an absolute error of a logit into a relative one of its score, and logits in float32 have errors in
/// proportion to their size: behind a softmax, the float32 limit is at least this share of the largest logit (it takes
/// over from 4e-6 where logits reach 34).
inline constexpr double kSoftmaxPerLogit = 0x1p-23;
/// However large the logits of a file are, no more than this is granted.
inline constexpr double kMostSoftmaxLimit = 1e-5;

struct RuleRow {
  std::string_view kind, oracle, precision;  ///< "" fits all; an oracle fits where its name ends so
  Rule rule;
};

/// The first row that fits holds. Sources: the float64 limit is what independent implementations agree to among
/// themselves with room (5e-16 measured), the float32 limit five times what they are off in float32; of quantised
/// layers, a single intermediate value on the boundary of two codes moves outputs by up to about 1e-3. Logits of whole
/// models, of size 10 to 20 in the files that we know, are held to what they are off in float32 (1e-5), tenfold.
inline constexpr double kFloat32Limit = 4e-6;
inline constexpr std::array<RuleRow, 16> kRules{{
    {"fp8_block_gemm", "", "f32", {Measure::of_largest, 2e-6}},
    {"fp8_block_gemm", "", "bf16", {Measure::steps, 1}},
    {"fp8_block_moe", "", "f32", {Measure::relative_l2, 2e-3}},
    {"fp8_block_moe", "", "bf16", {Measure::relative_l2, 1e-2}},
    {"fp8_ds_moe", "w8a16", "f32", {Measure::of_largest, 1e-5}},
    {"fp8_ds_moe", "w8a8", "f32", {Measure::relative_l2, 2e-3}},
    {"fp8_ds_moe", "w8a8_ue8m0", "f32", {Measure::relative_l2, 2e-3}},
    {"fp8_ds_moe", "", "bf16", {Measure::relative_l2, 2e-2}},
    {"dsv3_layer", "", "f32", {Measure::of_largest, 1e-5}},
    {"dsv3_mtp", "", "f32", {Measure::of_largest, 1e-5}},
    {"dsv3_lm", "", "f64", {Measure::absolute, 1e-11}},
    {"dsv3_lm", "", "f32", {Measure::absolute, 1e-4}},
    {"qwen3_lm", "", "f64", {Measure::absolute, 1e-11}},
    {"qwen3_lm", "", "f32", {Measure::absolute, 1e-4}},
    {"", "", "f64", {Measure::of_largest, 1e-12}},
    {"", "", "f32", {Measure::of_largest, kFloat32Limit}},
}};

/// Largest limit that a file may state: beyond it a check could hardly fail.
inline constexpr double kLargestTolerance = 0.1;

/// The rule for `expected` in a file of this kind; a limit from the metadata goes before. Notes a tolerance that is no
/// number from 0 to kLargestTolerance.
Rule rule_for(ReplayFile& file, const ExpectedTensor& expected);
/// Is there a rule for values of this precision?
bool has_rule(std::string_view kind, const ExpectedTensor& expected);
/// Notes tolerances in the metadata that no numeric check of the file goes by.
void check_tolerances(ReplayFile& file, const std::vector<ExpectedTensor>& numeric);

}  // namespace moediff
