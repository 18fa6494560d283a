// A Program: the steps of one case in host issue order, on streams, over buffers. Plain data; everything else reads or
// rewrites it (architecture §3).
//
// Logical and physical are kept apart. A *value* is a logical tensor, written once (by one step, or present at the
// start); a *buffer* is memory. "In place" means that two values lie in the same bytes of one buffer. A step's
// *operand* says both: which bytes the kernel is handed (buffer, region) and which values it means by them. The
// difference between what is meant and what is there is what moediff looks for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/dtype.h"
#include "harness/core/tensor.h"
#include "harness/model/expert_policy.h"
#include "harness/model/moe_shape.h"
#include "harness/model/ops.h"
#include "harness/model/quant.h"
#include "harness/model/router_policy.h"

namespace moediff {

/// Strided bytes of a buffer: `rows` runs of `row_bytes`, `stride` bytes apart, from `offset`.
struct Region {
  std::int64_t offset = 0;
  std::int64_t rows = 1;
  std::int64_t row_bytes = 0;
  std::int64_t stride = 0;  ///< of no meaning when rows == 1
  bool operator==(const Region&) const = default;

  std::int64_t bytes() const { return rows * row_bytes; }
  std::int64_t begin() const { return offset; }
  std::int64_t end() const { return rows == 0 ? offset : offset + (rows - 1) * stride + row_bytes; }
};
bool overlap(const Region& a, const Region& b);
bool contains(const Region& outer, const Region& inner);
/// "rows 0-4 of 640 bytes".
std::string to_string(const Region& region);

enum class BufferKind : std::uint8_t {
  activation,  ///< intermediate value
  input,       ///< holds an input at the start; may be written (in place)
  weight,      ///< read-only for good
  workspace,   ///< scratch of an op: what it holds between ops means nothing
};
std::string_view to_string(BufferKind kind);

struct Buffer {
  std::string name;
  BufferKind kind = BufferKind::activation;
  std::int64_t bytes = 0;
  bool pooled = false;  ///< allocated and freed by Alloc / Free steps from the stream-ordered pool; otherwise lives for
                        ///< the whole Session
};

struct Value {
  std::string name;  ///< "hidden_states", "gemm1_out", …; chunks of one tensor share the name
  int chunk = -1;    ///< which chunk of the batch, -1 when not chunked
  DType dtype = DType::f32;
  Shape shape;
  int buffer = -1;
  Region region;        ///< its bytes, row-major in `region`
  std::string initial;  ///< name of the tensor in Inputs that fills it before the first step; "" = written by a step
  int row_offset = 0;   ///< first token (first dimension) of this value in the whole batch: for naming coordinates
};

/// What a step hands to a kernel (physical) and what it means by it (logical).
struct Operand {
  int buffer = -1;  ///< -1: operand absent (optional slot)
  Region region;
  DType dtype = DType::f32;
  Shape
      shape;  ///< dimensions as the kernel sees them; row-major within a row, first dimension strided by region.stride
  std::vector<int> values;  ///< values read, or the one written
};

/// Scalars of an op. Builders set what the op uses and leave the rest at its default, so that equal work is equal data.
struct OpParams {
  int top_k = 0;  ///< columns the router writes
  int n_group = 1;
  int topk_group = 1;
  bool norm_topk_prob = true;
  double factor = 1.0;  ///< router: multiplied into the weights (fused); scale_add: applied to routed_out
  int split_k = 1;      ///< gemm1, shared_gemm1: number of K splits, partial sums in the workspace operand
  RouterPolicy router;  ///< router
  ExpertPolicy expert;  ///< activation, activation_quantize; combine
  QuantSpec quant;      ///< quantize_*, activation_quantize, gemms of quantised weights; `fmax` is never 0 here
  bool halves = false;  ///< gemm1, shared_gemm1: weight rows are gate, then up, each with block rows of its own
  std::uint64_t field_factor = 1;  ///< algebra mode: takes the place of `factor`
  bool saturate = false;           ///< convert: finite values beyond the largest become the largest
  bool operator==(const OpParams&) const = default;
};

enum class StepKind : std::uint8_t { call, copy, fill, record, wait, alloc, free, host_sync };
std::string_view to_string(StepKind kind);

struct Step {
  StepKind kind = StepKind::call;
  std::string name;            ///< unique in the Program: "gemm1", "gemm1[2]" for chunk 2, "clone_hidden", "fork", …
  int stream = 0;              ///< index in Program::streams
  OpKind op = OpKind::router;  ///< call
  std::vector<Operand> operands;  ///< call: by slot; copy: {source, destination}; fill: {destination}
  OpParams params;                ///< call
  int event = -1;                 ///< record, wait
  int buffer = -1;                ///< alloc, free
  int chunk = -1;
};

struct Program {
  std::vector<std::string> streams;  ///< names: "main", "aux"
  std::vector<Buffer> buffers;
  std::vector<Value> values;
  std::vector<Step> steps;
  int events = 0;
  std::vector<int> outputs;  ///< values that are the case's result (chunks of moe_out or layer_out, in row order)
  MoeShape shape;
  std::int64_t tokens = 0;
  DType dtype = DType::f32;
  bool shared_fused = false;
};

/// Reads and writes of a step as indices into `operands` (by the op's slot table; copy reads 0 and writes 1).
/// Scratch operands are in both.
std::vector<int> read_operands(const Step& step);
std::vector<int> write_operands(const Step& step);
/// The step that writes a value, or -1 (initial).
int producer(const Program& program, int value);
/// Content hash over everything that decides what the Program does; names of streams, buffers, values and steps
/// excluded.
std::uint64_t hash(const Program& program);
/// CHECKs the invariants above: indices in range, regions inside buffers, every value written exactly once or initial.
void validate(const Program& program);

}  // namespace moediff
