// Every kind of mistake: the exact place, value, rule and remedy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/scenario/files.h"

namespace moediff::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// One line that stands at line 3 of an otherwise right scenario with `tokens: 5`, and what is said about it.
struct Mistake {
  const char* name;
  const char* line;
  const char* said;
};

void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.line; }

class OneMistake : public ::testing::TestWithParam<Mistake> {};

TEST_P(OneMistake, IsReportedWithPlaceValueRuleAndRemedy) {
  const Mistake& mistake = GetParam();
  const std::string text = "scenario: Test\n" + std::string(kModel) + mistake.line + "\ntokens: 5\n";
  EXPECT_THAT(mistakes_of(text), ElementsAre("x.yaml:" + std::string(mistake.said)));
}

const Mistake kMistakes[] = {
    {"MisspeltKey", "sed: 7", "3:1: error: found 'sed': there is no such key; did you mean 'seed'?"},
    {"KeyOfASection", "top_k: 2", "3:1: error: found 'top_k': there is no such key; it belongs below model"},
    {"KeyWithAPath", "model.top_k: 2",
     "3:1: error: found 'model.top_k': there is no such key; the keys here are scenario, id, include, model, input, "
     "seed, dtype, arithmetic, "
     "tokens, variation, stream, effective_stream, aux_threshold, order, in_place, chunk, split_k, residual, schedule, "
     "provider, "
     "fault, "
     "drop_wait, timeout, router, expert, quant, axes, lockstep, expect"},
    {"TopLevelKeyInASection", "input: {dtype: f32}",
     "3:9: error: found 'dtype': there is no such key in input; it belongs at the top level"},
    {"KeyTwice", "stream: aux\nstream: none",
     "4:1: error: found 'stream': the key is given twice (first in line 3); remove one of the two"},
    {"NothingGiven", "seed:",
     "3:1: error: found 'nothing': seed takes one value; write seed: followed by a whole number from 0 to "
     "9007199254740992"},
    {"ListForAValue", "seed: [1, 2]",
     "3:7: error: found 'a list': seed takes one value; to vary it, write it under axes"},
    {"MapForAValue", "seed: {a: 1}",
     "3:7: error: found 'a map': seed takes one value; write seed: followed by a whole number from 0 to "
     "9007199254740992"},
    {"ValueForAMap", "input: 5",
     "3:8: error: found '5': input must be a map; write its keys below input: kind, distribution, bias_scale, "
     "idle_experts, capture, "
     "checkpoint, hidden_states, weights_prefix, expected_prefix, layer"},
    {"WordForANumber", "seed: seven",
     "3:7: error: found 'seven': seed must be a whole number; use a value from 0 to 9007199254740992"},
    {"FractionForAWholeNumber", "chunk: 1.5",
     "3:8: error: found '1.5': chunk must be a whole number; use a value from 0 to 1048576"},
    {"NumberInQuotes", "chunk: \"4\"",
     "3:8: error: found '4': chunk must be a whole number, not text; write 4 without quotes"},
    {"NegativeNumber", "chunk: -1", "3:8: error: found '-1': chunk must be at least 0; use a value from 0 to 1048576"},
    {"ZeroWhereOneIsLeast", "split_k: 0",
     "3:10: error: found '0': split_k must be at least 1; use a value from 1 to 64"},
    {"NumberTooLarge", "split_k: 65", "3:10: error: found '65': split_k must be at most 64; use a value from 1 to 64"},
    {"NumberBeyondItsType", "seed: 99999999999999999999",
     "3:7: error: found '99999999999999999999': seed must be a whole number; use a value from 0 to 9007199254740992"},
    {"ZeroTime", "timeout: 0",
     "3:10: error: found '0': timeout must be above 0; use a value above 0 and at most 86400"},
    {"NotFinite", "timeout: inf",
     "3:10: error: found 'inf': timeout must be a number; use a value above 0 and at most 86400"},
    {"YesForTrue", "in_place: yes", "3:11: error: found 'yes': in_place must be true or false; write true"},
    {"WordForABoolean", "in_place: maybe",
     "3:11: error: found 'maybe': in_place must be true or false; use true or false"},
    {"MisspeltWord", "stream: auxx",
     "3:9: error: found 'auxx': stream must be one of none, aux, fused; did you mean 'aux'?"},
    {"UnknownWord", "dtype: int4",
     "3:8: error: found 'int4': dtype must be one of f32, bf16, f16; use one of f32, bf16, f16"},
    {"MisspeltSchedule", "schedule: revers",
     "3:11: error: found 'revers': schedule must be a schedule; did you mean 'reverse'?"},
    {"ScheduleWithoutSeed", "schedule: random",
     "3:11: error: found 'random': schedule must be a schedule; use submission, reverse, random:SEED, "
     "given:ITEM,ITEM,… or threads"},
    {"EmptyText", "provider: \"\"",
     "3:11: error: found '\"\"': provider must not be empty; write a text, or remove the key"},
    {"TwoLines", "provider: \"a\\nb\"", "3:11: error: found 'a\nb': provider must be one line; remove the line break"},
    {"Tag", "seed: !!int 7",
     "3:7: error: found 'tag:yaml.org,2002:int': tags are not used in scenarios; remove the tag: the key decides the "
     "type"},
    {"CaptureKeyForGenerated", "input: {layer: 1}",
     "3:16: error: found '1': input.layer is used only with kind: capture; remove it, or write kind: capture"},
    {"IncompleteCapture", "input: {kind: capture, capture: a, hidden_states: h}",
     "3:15: error: found 'capture': an input of this kind needs input.checkpoint, input.weights_prefix; add "
     "input.checkpoint, input.weights_prefix"},
    {"GeneratedKeyForCapture",
     "input: {kind: capture, capture: a, checkpoint: b, hidden_states: h, weights_prefix: w, bias_scale: 1}",
     "3:100: error: found '1': input.bias_scale is used only with kind: generated; remove it, or write kind: "
     "generated"},
    {"WaitWithoutItsFault", "drop_wait: fork",
     "3:1: error: found 'drop_wait': drop_wait is used only with fault: drop_wait; add that fault, or remove the key"},
    {"FaultWithoutItsWait", "fault: drop_wait",
     "3:8: error: found 'drop_wait': fault: drop_wait needs the name of a wait; add drop_wait: and the name"},
    {"UntrueEffectiveStream", "effective_stream: aux",
     "3:19: error: found 'aux': effective_stream follows from stream, tokens, chunk, aux_threshold and n_shared, and "
     "is none here; write none, or "
     "remove the key"},
    {"AxisAndValue", "axes: {tokens: [1, 5]}",
     "4:1: error: found 'tokens': the key has a value already (line 3); keep one: a fixed value, an axis, or a part of "
     "a lockstep"},
    {"MisspeltAxis", "axes: {streem: [none]}",
     "3:8: error: found 'streem': there is no such key in axes; did you mean 'stream'?"},
    {"AxisThatCannotVary", "axes: {scenario: [a, b]}",
     "3:8: error: found 'scenario': there is no such key in axes; it belongs at the top level"},
    {"DerivedAxis", "axes: {effective_stream: [none]}",
     "3:8: error: found 'effective_stream': the key follows from the others and cannot vary by itself; vary stream, "
     "tokens or chunk"},
    {"EmptyAxis", "axes: {chunk: []}", "3:15: error: found '[]': chunk has no value; list at least one"},
    {"ValueListedTwice", "axes: {chunk: [0, 4, 04]}",
     "3:22: error: found '04': the value is listed twice (first in line 3, column 19); remove one of the two"},
    {"WrongValueOfAnAxis", "axes: {dtype: [bf16, fp8]}",
     "3:22: error: found 'fp8': dtype must be one of f32, bf16, f16; did you mean 'f32'?"},
    {"AxesAsAList", "axes: [tokens]",
     "3:7: error: found 'a list': axes must be a map of keys and lists; write axes: {tokens: [1, 5]}"},
    {"RangeBackwards", "axes: {chunk: \"9..1\"}",
     "3:15: error: found '9..1': a range must not end before it begins; write 1..9"},
    {"RangeOutOfRange", "axes: {chunk: \"-2..5\"}",
     "3:15: error: found '-2': chunk must be at least 0; use a value from 0 to 1048576"},
    {"RangeWithoutEnd", "axes: {chunk: {from: 1}}",
     "3:15: error: found 'a map': a range needs from and to; write {from: 1, to: 9, step: 2}; step is 1 when left out"},
    {"RangeWithUnknownKey", "axes: {chunk: {from: 1, to: 9, stepp: 2}}",
     "3:32: error: found 'stepp': there is no such key in a range; did you mean 'step'?"},
    {"RangeWithZeroStep", "axes: {chunk: {from: 1, to: 9, step: 0}}",
     "3:38: error: found '0': step must be at least 1; use a value from 1 to 9007199254740992"},
    {"RangeOfFractions", "axes: {timeout: {from: 1, to: 9}}",
     "3:17: error: found '1..9': a range needs a key with whole numbers; list the values of timeout"},
    {"RangeTooLong", "axes: {seed: \"0..100000\"}",
     "3:14: error: found '0..100000': a range must not have more than 100000 values; use a larger step"},
    {"TooManyCases", "axes: {seed: \"1..1000\", chunk: \"0..1000\"}",
     "3:25: error: found 'chunk': the axes multiply to more than 100000 cases; shorten the lists, or split the "
     "scenario"},
    {"UnequalLockstep", "lockstep: {chunk: [0, 4], seed: [1]}",
     "3:27: error: found 'seed': the lists of a lockstep must be equally long: chunk has 2, seed has 1; give each key "
     "of the lockstep as many values"},
    {"UnequalLockstepTheOtherWay", "lockstep: {chunk: [0], seed: [1, 2]}",
     "3:24: error: found 'seed': the lists of a lockstep must be equally long: chunk has 1, seed has 2; give each key "
     "of "
     "the lockstep as many values"},
    {"ExpectAsAWord", "expect: fail",
     "3:9: error: found 'fail': expect must be a map; write expect: followed by keys and values"},
    {"MisspeltExpectKey", "expect: {statsu: fail}",
     "3:10: error: found 'statsu': there is no such key in expect; did you mean 'status'?"},
    {"MisspeltStatus", "expect: {status: fial}",
     "3:18: error: found 'fial': status must be one of pass, fail, inconclusive; did you mean 'fail'?"},
    {"WeightOnTheInputOfTopTwo", "router: {weight_on: input}",
     "3:21: error: found 'input': a weight on the input needs top_k 1: a token has one input and as many weights as "
     "experts; use weight_on: gemm1, or top_k: 1"},
    {"TooManyIdleExperts", "input: {idle_experts: 7}",
     "3:23: error: found '7': idle_experts must leave top_k (2) of the 8 experts; use a value from 0 to 6"},
    {"PoisonWithoutIdleExperts", "variation: poisoned_idle",
     "3:12: error: found 'poisoned_idle': variation: poisoned_idle needs experts that no token chooses; add "
     "input.idle_experts"},
    {"ShiftOfSigmoidScores", "variation: shifted",
     "3:12: error: found 'shifted': variation: shifted needs scoring: softmax, whose scores do not depend on a shift "
     "of "
     "all logits; use router.scoring: softmax"},
    {"FmaxBeyondTheFormat", "quant: {scheme: int8_channel, fmax: 128}",
     "3:37: error: found '128': fmax must not exceed the format's largest value (127); use a value up to 127, or 0"},
    {"MisspeltScheme", "quant: {scheme: fp8_blok}",
     "3:17: error: found 'fp8_blok': scheme must be one of none, fp8_block, fp8_tensor, fp8_channel, int8_channel, "
     "int4_group, mxfp4; did you mean 'fp8_block'?"},
    {"MisspeltBlamedOp", "expect: {status: fail, blame: {op: gem1}}",
     "3:36: error: found 'gem1': op must be one of router, dispatch, gemm1, activation, gemm2, combine, shared_gemm1, "
     "shared_activation, shared_gemm2, scale_add, residual_add, weigh_input, quantize_a1, quantize_a2, "
     "activation_quantize, shared_quantize_a1, shared_quantize_a2, shared_activation_quantize, convert, clone_hidden, "
     "stage_hidden, unstage_output; did you "
     "mean 'gemm1'?"},
    {"CauseOfAPass", "expect: {cause: stale_read}",
     "3:9: error: found 'pass': only a failure has a cause and someone to blame; write status: fail, or remove cause "
     "and blame"},
    {"MisspeltCondition", "expect: {when: {chunck: 0}, status: pass}",
     "3:17: error: found 'chunck': there is no such key in when; did you mean 'chunk'?"},
    {"WrongValueInACondition", "expect: {when: {stream: nonne}, status: pass}",
     "3:25: error: found 'nonne': stream must be one of none, aux, fused; did you mean 'none'?"},
    {"OrderOfWords", "expect: {when: {stream: \">none\"}, status: pass}",
     "3:25: error: found '>none': stream has no order; compare numbers only, or list the values"},
    {"ComparisonWithoutNumber", "expect: {when: {tokens: \">\"}, status: pass}",
     "3:25: error: found '>': tokens must be a whole number; use a value from 1 to 1048576"},
};

INSTANTIATE_TEST_SUITE_P(EveryKind, OneMistake, ::testing::ValuesIn(kMistakes),
                         [](const auto& row) { return std::string(row.param.name); });

struct ModelMistake {
  const char* name;
  const char* model;  ///< after "model: {hidden: 64, inter: 32, " (31 characters)
  const char* said;
};

void PrintTo(const ModelMistake& mistake, std::ostream* out) { *out << mistake.model; }

class ImpossibleModel : public ::testing::TestWithParam<ModelMistake> {};

TEST_P(ImpossibleModel, IsReportedAtTheValueThatBreaksTheRule) {
  const std::string text =
      "scenario: Test\ntokens: 5\nmodel: {hidden: 64, inter: 32, " + std::string(GetParam().model) + "}\n";
  EXPECT_THAT(mistakes_of(text), ElementsAre("x.yaml:3:" + std::string(GetParam().said)));
}

TEST(Mistakes, MoreRowsThanALaunchHoldsAreRefused) {
  EXPECT_THAT(
      mistakes_of("scenario: Test\ntokens: 524289\nmodel: {hidden: 4, inter: 4, experts: 4, top_k: 2}\n"),
      ElementsAre("x.yaml:2:9: error: found '524289': tokens times (top_k + n_shared) must not exceed 1048576 rows; "
                  "use at most 524288 tokens"));
}

const ModelMistake kModelMistakes[] = {
    {"MoreChosenThanThere", "experts: 8, top_k: 9",
     "51: error: found '9': top_k must not exceed experts (8); use a value from 1 to 8"},
    {"GroupsThatDoNotDivide", "experts: 8, top_k: 2, n_group: 3",
     "63: error: found '3': n_group must divide experts (8); use one of 1, 2, 4, 8"},
    {"MoreGroupsChosenThanThere", "experts: 8, top_k: 2, n_group: 2, topk_group: 3",
     "78: error: found '3': topk_group must not exceed n_group (2); use a value from 1 to 2"},
    {"MoreChosenThanInTheGroups", "experts: 8, top_k: 5, n_group: 4, topk_group: 2",
     "51: error: found '5': top_k must not exceed the 4 experts in topk_group (2) of the n_group (4) groups; use a "
     "value from 1 to 4, or raise topk_group"},
    {"GroupsThatDoNotDivideAreTheOnlyMistake", "experts: 8, top_k: 3, n_group: 3",
     "63: error: found '3': n_group must divide experts (8); use one of 1, 2, 4, 8"},
    {"MissingKey", "experts: 8",
     "1: error: model.top_k is required; add top_k: whole number from 1 to 4096 (experts a token "
     "(num_experts_per_tok))"},
    {"ZeroExperts", "experts: 0, top_k: 2",
     "41: error: found '0': experts must be at least 1; use a value from 1 to 4096"},
    {"MisspeltKeyIsNotAlsoMissing", "expert: 8, top_k: 2",
     "32: error: found 'expert': there is no such key in model; did you mean 'experts'?"},
};

INSTANTIATE_TEST_SUITE_P(EveryRule, ImpossibleModel, ::testing::ValuesIn(kModelMistakes),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Mistakes, OfOneFileAreAllReportedFromTopToBottom) {
  EXPECT_THAT(mistakes_of("scenario: Test\n"
                          "model:\n"
                          "  hiden: 64\n"
                          "  inter: -1\n"
                          "  experts: 8\n"
                          "  top_k: 9\n"
                          "  n_group: 3\n"
                          "  topk_group: 5\n"
                          "tokens: many\n"
                          "expect: {status: fial}\n"),
              ElementsAre(HasSubstr("x.yaml:3:3: error: found 'hiden'"), HasSubstr("x.yaml:4:10: error: found '-1'"),
                          HasSubstr("x.yaml:6:10: error: found '9'"), HasSubstr("x.yaml:7:12: error: found '3'"),
                          HasSubstr("x.yaml:8:15: error: found '5'"), HasSubstr("x.yaml:9:9: error: found 'many'"),
                          HasSubstr("x.yaml:10:18: error: found 'fial'")));
}

TEST(Mistakes, OfAllFilesAreReportedAtOnce) {
  const Files files;
  files.write("a.yaml", "scenario: A\nsed: 1\ntokens: 5\n" + std::string(kModel));
  files.write("b.yaml", "scenario: B\ntokens: 0\n" + std::string(kModel));
  EXPECT_THAT(files.mistakes({"b.yaml", "a.yaml", "c.yaml"}),
              ElementsAre(HasSubstr("b.yaml:2:9: error: found '0'"), HasSubstr("a.yaml:2:1: error: found 'sed'"),
                          HasSubstr("c.yaml: error: found 'c.yaml': there is no such file")));
}

TEST(Mistakes, OfAnAxisValueAreReportedOnceAtThatValue) {
  EXPECT_THAT(mistakes_of("scenario: Test\n" + std::string(kModel) +
                          "tokens: 5\naxes:\n  chunk: [0, 4]\n  split_k: [1, 64]\n  hidden: [32, 64]\n"),
              ElementsAre(HasSubstr("x.yaml:7:3: error: found 'hidden': the key has a value already")));
  EXPECT_THAT(mistakes_of("scenario: Test\nmodel: {hidden: 64, inter: 32, experts: 4}\ntokens: 5\naxes:\n  chunk: [0, "
                          "4]\n  top_k: [1, 5]\n"),
              ElementsAre("x.yaml:6:14: error: found '5': top_k must not exceed experts (4); use a value from 1 to 4"));
}

TEST(Mistakes, OfYamlItselfNameTheirPlace) {
  EXPECT_THAT(mistakes_of("scenario: Test\nmodel: {hidden: 64\ntokens: 5\n"),
              ElementsAre(HasSubstr("x.yaml:3:7: error: this is not YAML: ")));
  EXPECT_THAT(
      mistakes_of(""),
      ElementsAre("x.yaml:1:1: error: found 'nothing': the file is empty; write a scenario, or remove the file"));
  EXPECT_THAT(mistakes_of("- a\n"),
              ElementsAre(HasSubstr("x.yaml:1:1: error: found 'a list': a scenario is a map of keys and values")));
  EXPECT_THAT(mistakes_of("scenario: A\n---\nscenario: B\n"),
              ElementsAre(HasSubstr("error: found '---': a file holds one YAML document")));
  EXPECT_THAT(mistakes_of("scenario: A\n? [a]\n: b\n"),
              ElementsAre(HasSubstr("x.yaml:2:3: error: a key must be a word")));
}

TEST(Mistakes, AliasesThatMultiplyAreRefused) {
  std::string text = "scenario: Test\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = "*a" + std::to_string(i - 1), name = "a" + std::to_string(i);
    text += name + ": &" + name + " [" + before;
    for (int k = 0; k < 9; ++k) text += ", " + before;
    text += "]\n";
  }
  EXPECT_THAT(mistakes_of(text), ElementsAre(HasSubstr("the file's aliases expand to too many values")));
}

TEST(Mistakes, FaultNamesAreCheckedWhereTheyAreKnown) {
  const Files files;
  files.write("x.yaml",
              "scenario: Test\n" + std::string(kModel) + "tokens: 5\naxes: {fault: [none, alias1, alais2]}\n");
  const std::vector<std::string> faults{"alias1", "alias2"};
  EXPECT_THAT(files.mistakes({"x.yaml"}, {.seed_override = {}, .known_faults = faults}),
              ElementsAre("x.yaml:4:30: error: found 'alais2': there is no such fault; did you mean 'alias2'?"));
  EXPECT_THAT(files.mistakes({"x.yaml"}), IsEmpty());
}

TEST(Mistakes, ASeedThatJsonCannotHoldIsRefused) {
  const Files files;
  files.write("x.yaml", "scenario: Test\n" + std::string(kModel) + "tokens: 5\n");
  const std::uint64_t most = std::uint64_t{1} << 53;
  EXPECT_THAT(files.mistakes({"x.yaml"}, {.seed_override = most + 1, .known_faults = {}}),
              ElementsAre(HasSubstr("the seed must be at most 2^53")));
  EXPECT_EQ(files.load("x.yaml", {.seed_override = most, .known_faults = {}}).front().seed, most);
}

}  // namespace
}  // namespace moediff::testing
