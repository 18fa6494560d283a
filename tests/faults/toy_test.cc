// Six broken schedules and one good one of a two-stream toy, on the real machine: kernels, runtime, observation,
// clocks.
#include <gtest/gtest.h>

#include "harness/order/order.h"
#include "harness/program/builder.h"
#include "harness/run/executor.h"

namespace moediff {
namespace {

constexpr int kMain = 0, kAux = 1;
constexpr std::int64_t kRows = 4, kColumns = 8;

// main: a = 2x, c = x + y, out = b + c; aux, between fork and join: b = 2a.
struct Toy {
  ProgramBuilder builder{{"main", "aux"}};
  int x = input("x"), y = input("y"), a = own("a"), b = own("b"), c = own("c"), out = own("out");

  int input(const char* name) { return builder.add_own(name, DType::f32, {kRows, kColumns}, BufferKind::input, name); }
  int own(const char* name) { return builder.add_own(name, DType::f32, {kRows, kColumns}, BufferKind::activation); }
  int over(const char* name, int other, std::int64_t row_begin = 0, std::int64_t rows = kRows) {
    const int buffer = builder.program.values[static_cast<std::size_t>(other)].buffer;
    return builder.add_value(name, DType::f32, {rows, kColumns}, buffer, {row_begin, 0, 0});
  }
  // Calls are named by what they make: the tests speak of those.
  void twice(const char* name, int stream, int from, int to) {
    OpParams params;
    params.factor = 2.0;
    Operand source = builder.whole(from);
    source.region.rows = source.shape[0] = builder.program.values[static_cast<std::size_t>(to)].shape[0];
    builder.call(OpKind::scale_add, stream, {source, Operand{}, builder.whole(to)}, params);
    builder.program.steps.back().name = name;
  }
  void sum(const char* name, int stream, int left, int right, int to) {
    builder.call(OpKind::residual_add, stream, {builder.whole(left), builder.whole(right), builder.whole(to)});
    builder.program.steps.back().name = name;
  }
  Program finish() {
    builder.program.outputs = {out};
    builder.program.tokens = kRows;
    builder.program.shape.hidden = kColumns;
    validate(builder.program);
    return builder.program;
  }
};

std::vector<Hazard> findings(const Program& program, const std::string& variants = "") {
  ExecutorOptions options;
  options.module_dir = MOEDIFF_BUILD_DIR;
  options.worker_command = MOEDIFF_BUILD_DIR "/moediff";
  const auto executor = make_executor(options);
  Inputs inputs;
  for (const char* name : {"x", "y"}) {
    std::vector<double> values;
    for (int i = 0; i < kRows * kColumns; ++i) values.push_back(i + (name[0] == 'x' ? 1 : 100));
    inputs[name] = from_doubles(DType::f32, {kRows, kColumns}, values);
  }
  RunRequest request;
  request.program = &program;
  request.inputs = std::make_shared<const Inputs>(inputs);
  request.provider.variants = variants;
  const Run traced = executor->run(request);
  request.observe = true;
  const Run observed = executor->run(request);
  EXPECT_EQ(traced.status, RunStatus::ok) << traced.detail;
  EXPECT_EQ(observed.status, RunStatus::ok) << observed.detail;
  const OrderResult result = analyse_order(program, traced, &observed);
  EXPECT_TRUE(result.complete || !result.hazards.empty()) << result.incomplete_reason;
  return result.hazards;
}

void expect_finding(const Program& program, Cause kind, const char* writer, const char* reader,
                    const std::string& variants = "") {
  const std::vector<Hazard> hazards = findings(program, variants);
  ASSERT_FALSE(hazards.empty());
  const auto name = [&](int step) {
    return step < 0 ? std::string() : program.steps[static_cast<std::size_t>(step)].name;
  };
  EXPECT_EQ(to_string(hazards[0].kind), to_string(kind));
  EXPECT_EQ(name(hazards[0].writer), writer);
  EXPECT_EQ(name(hazards[0].reader), reader);
}

TEST(Toy, TheGoodScheduleRaisesNoAlarm) {
  Toy t;
  t.twice("make a", kMain, t.x, t.a);
  t.builder.wait("fork", kMain, kAux);
  t.twice("make b", kAux, t.a, t.b);
  t.sum("make c", kMain, t.x, t.y, t.c);
  t.builder.wait("join", kAux, kMain);
  t.sum("make out", kMain, t.b, t.c, t.out);
  EXPECT_TRUE(findings(t.finish()).empty());
}

TEST(Toy, AnInPlaceWriteOnTheAuxiliaryStreamWhileMainReads) {
  Toy t;
  const int over_x = t.over("b over x", t.x);
  t.twice("make a", kMain, t.x, t.a);
  t.builder.wait("fork", kMain, kAux);
  t.twice("make b", kAux, t.a, over_x);
  t.sum("make c", kMain, t.x, t.y, t.c);
  t.builder.wait("join", kAux, kMain);
  t.twice("unused b", kMain, t.a, t.b);
  t.sum("make out", kMain, over_x, t.c, t.out);
  expect_finding(t.finish(), Cause::unordered_access, "make b", "make c");
}

TEST(Toy, AMissingJoin) {
  Toy t;
  t.twice("make a", kMain, t.x, t.a);
  t.builder.wait("fork", kMain, kAux);
  t.twice("make b", kAux, t.a, t.b);
  t.sum("make c", kMain, t.x, t.y, t.c);
  t.sum("make out", kMain, t.b, t.c, t.out);
  expect_finding(t.finish(), Cause::unordered_access, "make b", "make out");
}

TEST(Toy, AClobberOnTheSameStream) {
  Toy t;
  const int over_x = t.over("a over x", t.x);
  t.twice("make a", kMain, t.y, over_x);
  t.sum("make c", kMain, t.x, t.y, t.c);
  t.twice("plain a", kMain, t.y, t.a);
  t.twice("make b", kMain, t.a, t.b);
  t.sum("make out", kMain, t.b, t.c, t.out);
  expect_finding(t.finish(), Cause::stale_read, "make a", "make c");
}

TEST(Toy, AnInteriorViewWritten) {
  Toy t;
  const int view = t.over("rows 1-2 of x", t.x, 1, 2);
  t.twice("make a", kMain, t.x, t.a);
  t.builder.wait("fork", kMain, kAux);
  t.twice("make view", kAux, t.a, view);
  t.twice("make b", kAux, t.a, t.b);
  t.sum("make c", kMain, t.x, t.y, t.c);
  t.builder.wait("join", kAux, kMain);
  t.sum("make out", kMain, t.b, t.c, t.out);
  expect_finding(t.finish(), Cause::unordered_access, "make view", "make c");
}

TEST(Toy, AnUndeclaredWrite) {
  Toy t;
  t.twice("make a", kMain, t.x, t.a);
  t.twice("make b", kMain, t.a, t.b);
  t.sum("make c", kMain, t.x, t.y, t.c);
  t.sum("make out", kMain, t.b, t.x, t.out);
  expect_finding(t.finish(), Cause::undeclared_write, "make c", "make out", "residual_add=scribbles");
}

TEST(Toy, FreedAndReusedTooEarly) {
  Toy t;
  const int first = t.builder.add_own("first", DType::f32, {kRows, kColumns}, BufferKind::activation, "", true);
  const int second = t.builder.add_own("second", DType::f32, {kRows, kColumns}, BufferKind::activation, "", true);
  const auto buffer = [&](int value) { return t.builder.program.values[static_cast<std::size_t>(value)].buffer; };
  t.twice("make a", kMain, t.x, t.a);
  t.builder.alloc(buffer(first), kMain);
  t.twice("make first", kMain, t.x, first);
  t.builder.wait("fork", kMain, kAux);
  t.twice("make b", kAux, first, t.b);
  t.builder.free(buffer(first), kMain);
  t.builder.alloc(buffer(second), kMain);
  t.twice("make second", kMain, t.y, second);
  t.sum("make c", kMain, second, t.y, t.c);
  t.builder.wait("join", kAux, kMain);
  t.sum("make out", kMain, t.b, t.c, t.out);
  t.builder.free(buffer(second), kMain);
  expect_finding(t.finish(), Cause::lifetime, "make second", "make b");
}

}  // namespace
}  // namespace moediff
