// A provider of scale_add and residual_add in f32, and of a shared_gemm1 that copies its input to its output, which
// misbehaves on request: its variants name how.
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include "kernels/abi/moediff_abi.h"
#include "tests/unit/run/fake/fake_stream.h"

#ifndef FAKE_ABI_VERSION
#define FAKE_ABI_VERSION MOEDIFF_ABI_VERSION
#endif

namespace {

std::string variant;  // what select_variants chose
int calls = 0;

float* row(const md_tensor& tensor, std::int64_t i) { return static_cast<float*>(tensor.data) + i * tensor.stride[0]; }

/// out = a * factor + b, element by element.
void add(const md_tensor& a, const md_tensor& b, const md_tensor& out, float factor) {
  for (std::int64_t i = 0; i < out.shape[0]; ++i) {
    for (std::int64_t j = 0; j < out.shape[1]; ++j) {
      row(out, i)[j] = row(a, i)[j] * factor + (b.data == nullptr ? 0.0f : row(b, i)[j]);
    }
  }
}

void send_garbage() {
  const char text[] = "this is no message";
  ::send(3, text, sizeof text, 0);
}

/// Does the worst to the op with these operands; the good result is there already.
void misbehave(const md_tensor& a, const md_tensor& out) {
  auto* bytes = static_cast<unsigned char*>(out.data);
  if (variant == "crash") std::raise(SIGSEGV);
  if (variant == "abort") std::abort();
  if (variant == "exit") ::_exit(3);
  if (variant == "kill") std::raise(SIGKILL);
  if (variant == "garbage") send_garbage();
  if (variant == "overrun") std::memset(row(out, out.shape[0] - 1) + out.shape[1], 0, 4);
  if (variant == "write_input") std::memset(a.data, 7, 4);
  if (variant == "nondeterministic") bytes[0] = static_cast<unsigned char>(++calls);
  while (variant == "hang") usleep(1000);
}

/// Before the good result: looks at what the output held.
void peek(const md_tensor& out, float* carried) {
  const auto* bytes = static_cast<const unsigned char*>(out.data);
  if (variant == "reads_output") *carried = static_cast<float>(bytes[0]);
  if (variant == "crash_when_clean" && bytes[0] != 0xFF) std::raise(SIGSEGV);
}

void work(const md_tensor& a, const md_tensor& b, const md_tensor& out, float factor) {
  if (variant == "no_write") return;
  float carried = 0;
  peek(out, &carried);
  add(a, b, out, factor);
  row(out, 0)[0] += carried;
  misbehave(a, out);
}

/// out = hidden, by way of the workspace.
void copy_through(const md_tensor& hidden, const md_tensor& out, const md_tensor& workspace) {
  auto* scratch = static_cast<float*>(workspace.data);
  const float old = scratch[0];
  scratch[0] = 1.0f;
  scratch[1] = std::isnan(old) ? 2.0f : 3.0f;  // what a workspace holds between ops means nothing
  for (std::int64_t i = 0; i < out.shape[0]; ++i)
    std::memcpy(row(out, i), row(hidden, i), out.shape[1] * sizeof(float));
  if (variant == "stale_workspace") row(out, 0)[0] = old;
}

int call_shared_gemm1(const md_call& call) {
  const md_tensor hidden = call.tensors[MD_SHARED_GEMM1_HIDDEN], out = call.tensors[MD_SHARED_GEMM1_OUT];
  const md_tensor workspace = call.tensors[MD_SHARED_GEMM1_WORKSPACE];
  auto* stream = static_cast<FakeStream*>(call.stream);
  stream->enqueue(stream, "copy_kernel", [=] { copy_through(hidden, out, workspace); });
  return 0;
}

int call(const md_call* call) {
  if (call->op == MD_OP_SHARED_GEMM1) return call_shared_gemm1(*call);
  const bool scale = call->op == MD_OP_SCALE_ADD;
  if (!scale && call->op != MD_OP_RESIDUAL_ADD) return 2;
  if (variant == "refuse" && !scale) return 7;
  if (variant == "no_launch" && !scale) return 0;
  const md_tensor a = call->tensors[0], b = call->tensors[1], out = call->tensors[2];
  const float factor = scale ? call->params.factor : 1.0f;
  auto* stream = static_cast<FakeStream*>(call->stream);
  // Only residual_add misbehaves.
  if (scale) {
    stream->enqueue(stream, "scale_kernel", [=] { add(a, b, out, factor); });
  } else {
    stream->enqueue(stream, "residual_kernel", [=] { work(a, b, out, factor); });
  }
  return 0;
}

int select_variants(const char* variants) {
  if (std::strcmp(variants, "unknown") == 0) return 1;
  variant = variants;
  return 0;
}

const char* last_error() { return "the fake provider's last error"; }

const md_provider provider{FAKE_ABI_VERSION, "fake", FAKE_BACKEND, 0, call, select_variants, last_error};

}  // namespace

extern "C" const md_provider* moediff_provider(std::uint32_t) { return &provider; }
