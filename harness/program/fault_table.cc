// Each rewrite turns a right Program into the wrong one that a public report describes, and into nothing else.
#include "harness/program/fault_table.h"

#include <algorithm>
#include <array>

#include "harness/program/rewrite.h"

namespace moediff {
namespace {

using Refusal = std::optional<std::string>;

std::vector<int> values_named(const Program& program, std::string_view name) {
  std::vector<int> found;
  for (std::size_t v = 0; v < program.values.size(); ++v) {
    if (program.values[v].name == name) found.push_back(static_cast<int>(v));
  }
  return found;
}

/// The buffer that the routed experts of chunk `index` read: hidden_states, or the staging buffer. Their first op reads
/// it.
int routed_input(const Program& program, std::size_t index) {
  for (const OpKind op : {OpKind::weigh_input, OpKind::quantize_a1, OpKind::gemm1}) {
    const std::vector<int> calls = find_calls(program, op);
    if (!calls.empty()) return buffer_of(program, calls[index], "hidden_states");
  }
  return -1;
}

// combine writes over the buffer that the routed experts read.
Refusal combine_in_place(Program& program) {
  const std::vector<int> combine = find_calls(program, OpKind::combine);
  for (std::size_t i = 0; i < combine.size(); ++i) {
    const Step& call = program.steps[static_cast<std::size_t>(combine[i])];
    const int out = call.operands.back().values.front();
    if (program.values[static_cast<std::size_t>(out)].buffer == routed_input(program, i))
      return "the layer is in place already";
  }
  // Rebinding may erase steps, so the calls are looked up again each time.
  for (std::size_t i = 0; i < combine.size(); ++i) {
    const int step = find_calls(program, OpKind::combine)[i];
    const int out = program.steps[static_cast<std::size_t>(step)].operands.back().values.front();
    rebind(program, out, routed_input(program, i));
  }
  return std::nullopt;
}

Refusal alias1(Program& program, std::string_view) {
  const std::vector<int> shared = find_calls(program, OpKind::shared_gemm1),
                         routed = find_calls(program, OpKind::combine);
  if (shared.empty()) return "there is no shared expert that could read the overwritten buffer";
  if (program.streams.size() > 1) return "the shared experts read a clone on the auxiliary stream";
  if (shared.front() < routed.front()) return "the shared experts run first";
  return combine_in_place(program);
}

Refusal alias2(Program& program, std::string_view) {
  if (find_calls(program, OpKind::combine).size() > 1 || find_step(program, "stage_hidden[0]") >= 0) {
    return "chunked, the routed experts write over the staging buffer, which the residual add does not read";
  }
  if (find_calls(program, OpKind::residual_add).empty())
    return "nothing reads hidden_states after the layer (residual: false)";
  return combine_in_place(program);
}

bool is_in_place(const Program& program) {
  const std::vector<int> combine = find_calls(program, OpKind::combine);
  return buffer_of(program, combine.front(), "routed_out") == routed_input(program, 0);
}

Refusal stream1(Program& program, std::string_view) {
  const int clone = find_step(program, "clone_hidden"), fork = find_step(program, "fork");
  if (clone < 0 || fork < 0) return "there is no clone and no fork (stream is not aux)";
  if (!is_in_place(program)) return "nothing writes what the clone reads (in_place is false)";
  program.steps[static_cast<std::size_t>(clone)].stream = program.steps[static_cast<std::size_t>(fork)].stream;
  move_step(program, clone, fork + 1);
  return std::nullopt;
}

Refusal drop_wait(Program& program, std::string_view name) {
  const int wait = find_step(program, name);
  if (wait < 0 || program.steps[static_cast<std::size_t>(wait)].kind != StepKind::wait) {
    return "there is no wait named '" + std::string(name) + "'";
  }
  erase_step(program, wait);
  return std::nullopt;
}

Refusal stream2(Program& program, std::string_view) {
  if (Refusal refusal = drop_wait(program, "fork")) return refusal;
  return drop_wait(program, "join");
}

Refusal redundant_wait(Program& program, std::string_view) {
  const int fork = find_step(program, "fork"), clone = find_step(program, "clone_hidden");
  const std::vector<int> last = find_calls(program, OpKind::shared_gemm2);
  if (fork < 0 || last.empty()) return "there is no fork to repeat (stream is not aux)";
  insert_edge(program, clone, last.front(), "again");
  return std::nullopt;
}

Refusal needs_two_split_gemms(const Program& program) {
  if (program.streams.size() < 2) return "both gemms run on one stream, in order (stream is not aux)";
  const std::vector<int> gemm1 = find_calls(program, OpKind::gemm1);
  if (buffer_of(program, gemm1.front(), "workspace") < 0) return "no gemm has a workspace (split_k is 1)";
  return std::nullopt;
}

Refusal workspace1(Program& program, std::string_view) {
  if (Refusal refusal = needs_two_split_gemms(program)) return refusal;
  const std::vector<int> mine = values_named(program, "shared_gemm1_workspace"),
                         theirs = values_named(program, "gemm1_workspace");
  if (mine.empty() || theirs.empty()) return "there are no two split-K gemms (split_k: 1, or no shared experts)";
  const int buffer = program.values[static_cast<std::size_t>(theirs.front())].buffer;
  Buffer& shared = program.buffers[static_cast<std::size_t>(buffer)];
  for (int value : mine) {
    shared.bytes = std::max(shared.bytes, program.values[static_cast<std::size_t>(value)].region.bytes());
    rebind(program, value, buffer);
  }
  return std::nullopt;
}

Refusal lifetime1(Program& program, std::string_view) {
  const int free = find_step(program, "free hidden_clone");
  const std::vector<int> readers = find_calls(program, OpKind::shared_gemm1);
  if (free < 0 || readers.empty()) return "there is no clone that could be freed early (stream is not aux)";
  move_step(program, free, readers.front() + 1);
  return std::nullopt;
}

// Kernel variants leave the Program as it is; these only say where planting them would show nothing.
Refusal alias1_undeclared(Program& program, std::string_view) {
  if (is_in_place(program)) return "the layer is in place already, and declares it";
  Program declared = program;
  return alias1(declared, "");
}

Refusal workspace1_undeclared(Program& program, std::string_view) { return needs_two_split_gemms(program); }

Refusal needs_shared_experts(Program& program, std::string_view) {
  if (find_calls(program, OpKind::shared_activation).empty()) return "there are no shared experts on their own";
  return std::nullopt;
}

// clang-format off
constexpr std::array<FaultRow, 20> kFaults{{
    {"alias1", "ALIAS-1", "vllm-project/vllm#28942", "declared", "n_shared > 0, effective_stream none, routed_first, in_place false",
     "the routed experts write their result over hidden_states (chunked: the staging buffer) before the shared experts read it", "", alias1},
    {"alias1_undeclared", "ALIAS-1", "vllm-project/vllm#28942", "undeclared", "n_shared > 0, effective_stream none, routed_first, in_place false",
     "as alias1, by a combine kernel that also writes through a pointer it kept from gemm1", "combine=alias1", alias1_undeclared},
    {"alias2", "ALIAS-2", "vllm-project/vllm#20152", "declared", "residual true, in_place false, chunk 0",
     "the routed experts write over hidden_states, and the residual add after the layer reads it", "", alias2},
    {"alias2_undeclared", "ALIAS-2", "vllm-project/vllm#20152", "undeclared", "any",
     "an op registered as pure scales its input in place", "gemm1=alias2", nullptr},
    {"stream1", "STREAM-1", "vllm-project/vllm#28430", "declared", "effective_stream aux, in_place true",
     "the defensive clone is made on the auxiliary stream after the fork, racing with the in-place routed write", "", stream1},
    {"stream2", "STREAM-2", "EfficientMoE/MoE-Infinity#197", "declared", "effective_stream aux",
     "both hand-offs between the streams lack their wait", "", stream2},
    {"drop_wait", "STREAM-2", "EfficientMoE/MoE-Infinity#197", "declared", "effective_stream aux, drop_wait: the wait's name",
     "one wait between the streams is missing", "", drop_wait},
    {"redundant_wait", "none", "none: a harmless change", "declared", "effective_stream aux",
     "a wait that other edges imply is added: must pass, and be reported as redundant", "", redundant_wait},
    {"workspace1", "WORKSPACE-1", "vllm-project/vllm#48223, #52024, #52033, #56098", "declared", "effective_stream aux, split_k > 1",
     "two split-K gemms on two streams keep their partial sums in one buffer", "", workspace1},
    {"workspace1_undeclared", "WORKSPACE-1", "vllm-project/vllm#48223, #52024, #52033, #56098", "undeclared", "effective_stream aux, split_k > 1",
     "as workspace1, by kernels with one static scratch array", "gemm1=static_scratch,shared_gemm1=static_scratch", workspace1_undeclared},
    {"lifetime1", "LIFETIME-1", "ROCm/aiter#2381", "declared", "effective_stream aux, in_place false",
     "the clone goes back to the main stream's pool while the auxiliary stream still has to read it", "", lifetime1},
    {"wrong_math", "KSEL-1", "ROCm/aiter#3933", "undeclared", "any", "gemm2 leaves out the last product of every dot product",
     "gemm2=wrong_math", nullptr},
    {"wrong_expert", "RSEM-1", "sgl-project/sglang#3705", "undeclared", "any", "the router takes the expert after the last one it should take",
     "router=wrong_expert", nullptr},
    {"nondeterministic", "DETERM-1", "huggingface/transformers#43362", "undeclared", "any",
     "combine adds its terms in an order that changes from call to call", "combine=nondeterministic", nullptr},
    {"reads_undeclared", "none", "none: a hidden input", "undeclared", "any", "activation reads hidden_states through a pointer it kept",
     "activation=reads_undeclared", nullptr},
    {"crash", "none", "none: a kernel that dies", "undeclared", "any", "activation dereferences a null pointer", "activation=crash", nullptr},
    {"hang", "none", "none: a kernel that does not end", "undeclared", "any", "activation loops for ever", "activation=hang", nullptr},
    {"out_of_bounds", "none", "none: a kernel that writes past its buffer", "undeclared", "any", "gemm2 writes past the end of its output",
     "gemm2=out_of_bounds", nullptr},
    {"reads_out_of_bounds", "none", "none: a kernel that reads past its buffer", "undeclared", "any", "gemm2 reads past the end of its input",
     "gemm2=reads_out_of_bounds", nullptr},
    {"barrier_divergence", "KSYNC-1", "sgl-project/sglang#3534", "undeclared", "n_shared > 0, effective_stream none or aux",
     "half of a block's threads wait at a barrier that the others never reach", "shared_activation=barrier_divergence", needs_shared_experts},
}};
// clang-format on

}  // namespace

std::span<const FaultRow> faults() { return kFaults; }

const FaultRow* find_fault(std::string_view name) {
  const auto found =
      std::find_if(kFaults.begin(), kFaults.end(), [&](const FaultRow& row) { return row.name == name; });
  return found == kFaults.end() ? nullptr : &*found;
}

}  // namespace moediff
