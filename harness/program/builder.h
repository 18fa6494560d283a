// A small kit to write Programs with: buffers, values and steps by name, operands from values.
#pragma once

#include <string>
#include <vector>

#include "harness/program/program.h"

namespace moediff {

/// Where a value lies in its buffer: rows from `row_begin` on, `row_stride` bytes apart (0: the value's own row
/// length), from column byte `column_offset`.
struct Placing {
  std::int64_t row_begin = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_offset = 0;
};

class ProgramBuilder {
 public:
  explicit ProgramBuilder(std::vector<std::string> streams);

  int add_buffer(std::string name, BufferKind kind, std::int64_t bytes, bool pooled = false);
  /// A value placed in a buffer (see Placing).
  int add_value(std::string name, DType dtype, Shape shape, int buffer, Placing placing = {}, std::string initial = "");
  /// A value in a buffer of its own, of the same name.
  int add_own(std::string name, DType dtype, Shape shape, BufferKind kind, std::string initial = "",
              bool pooled = false);

  /// The whole of a value.
  Operand whole(int value) const;
  /// Rows [begin, end) of a value.
  Operand rows(int value, std::int64_t begin, std::int64_t end) const;
  /// Values that lie side by side in one buffer, seen as one tensor of `columns` columns (rows [begin, end)).
  Operand side_by_side(const std::vector<int>& values, std::int64_t columns, std::int64_t begin,
                       std::int64_t end) const;

  /// Steps are named `name`, or `name[chunk]`.
  void call(OpKind op, int stream, std::vector<Operand> operands, OpParams params = {}, int chunk = -1);
  void copy(const std::string& name, int stream, Operand from, Operand to, int chunk = -1);
  void alloc(int buffer, int stream);
  void free(int buffer, int stream);
  /// `to` waits for what `from` has been given so far: a record named `name.record` and a wait named `name`.
  void wait(const std::string& name, int from, int to);

  Program program;

 private:
  void pool_step(StepKind kind, int buffer, int stream);
};

/// "name" or "name[chunk]".
std::string step_name(std::string_view name, int chunk);

}  // namespace moediff
