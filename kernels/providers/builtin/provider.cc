// The builtin provider: checks the operands, picks the kernel, enqueues it. Its C face to the harness.
#include "kernels/providers/builtin/operands.h"
#include "kernels/providers/builtin/variants.h"

namespace moediff::kernels {
namespace {

struct State {
  State() { choose_kernels("", kernels); }
  OpKernel kernels[MD_OP_COUNT];
  History history;
};

State* const kState = new State;

/// The harness watches a library's static data for what kernels keep there. So that nothing of ours is seen in it, the
/// state is on the heap, and each thread looks only once at the pointer to it.
State& state() {
  thread_local State* const here = kState;
  return *here;
}

/// "router: expected operands of f32 or bf16 for this kernel, found f16".
std::string not_in(int op, const OpKernel& kernel, int model_dtype) {
  std::string known;
  for (const int dtype : {MD_F32, MD_BF16, MD_F16, MD_FIELD}) {
    if (kernel.of(dtype) != nullptr) known += (known.empty() ? "" : " or ") + std::string(dtype_name(dtype));
  }
  return std::string(op_name(op)) + ": expected operands of " + known + " for this kernel, found " +
         dtype_name(model_dtype);
}

int enqueue(const md_call* call) {
  if (call == nullptr || call->size < sizeof(md_call)) {
    return fail("md_call: expected a size of at least " + std::to_string(sizeof(md_call)) + ", found " +
                std::to_string(call == nullptr ? 0 : call->size));
  }
  if (op_name(call->op) == nullptr) return fail("md_call: op " + std::to_string(call->op) + " is none of md_op");
  int model_dtype = MD_F32;
  if (std::string text = check_operands(*call, &model_dtype); !text.empty()) return fail(std::move(text));
  State& s = state();
  if (call->op == MD_OP_GEMM1) s.history.gemm1_hidden = call->tensors[MD_GEMM1_HIDDEN];
  const OpKernel& kernel = s.kernels[call->op];
  const OpCall checked{call->tensors, call->tensor_count, call->params, static_cast<hipStream_t>(call->stream),
                       &s.history};
  const OpFunction function = kernel.of(model_dtype);
  if (function == nullptr) return fail(not_in(call->op, kernel, model_dtype));
  const int status = function(checked);
  if (call->op == MD_OP_COMBINE) ++s.history.combine_calls;
  return status;
}

int select_variants(const char* variants) {
  OpKernel chosen[MD_OP_COUNT];
  if (std::string text = choose_kernels(variants, chosen); !text.empty()) return fail(std::move(text));
  std::copy(std::begin(chosen), std::end(chosen), std::begin(state().kernels));
  state().history = {};
  return 0;
}

const char* last_error() { return error_text().c_str(); }

}  // namespace
}  // namespace moediff::kernels

extern "C" __attribute__((visibility("default"))) const md_provider* moediff_provider(uint32_t abi_version) {
  using namespace moediff::kernels;
  static constexpr md_provider kProvider = {
      MOEDIFF_ABI_VERSION, "builtin", MOEDIFF_BACKEND, MD_PROVIDER_DETERMINISTIC | MD_PROVIDER_BATCH_INVARIANT, enqueue,
      select_variants,     last_error};
  state();
  return abi_version == MOEDIFF_ABI_VERSION ? &kProvider : nullptr;
}
