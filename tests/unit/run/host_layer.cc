#include "tests/unit/run/host_layer.h"

#include "harness/core/check.h"

namespace moediff::host_layer {

Case small_case(StreamMode stream, std::int64_t tokens) {
  Case spec;
  spec.id = "unit/run";
  spec.shape.hidden = 64;
  spec.shape.inter = 32;
  spec.shape.experts = 8;
  spec.shape.top_k = 2;
  spec.shape.n_shared = 1;
  spec.seed = 7;
  spec.dtype = DType::f32;
  spec.tokens = tokens;
  spec.stream = spec.effective_stream = stream;
  spec.residual = true;
  return spec;
}

ExecutorOptions options() {
  ExecutorOptions made;
  made.module_dir = MOEDIFF_BUILD_DIR;
  return made;
}

RunRequest request(const Case& spec, const Program& program, const std::string& variants) {
  RunRequest made;
  made.program = &program;
  made.inputs = std::make_shared<const Inputs>(make_inputs(spec).tensors);
  made.provider = {"builtin", variants};
  made.timeout_seconds = 30;
  return made;
}

int step_of(const Program& program, const std::string& name) {
  if (name.empty()) return -1;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (program.steps[i].name == name) return static_cast<int>(i);
  }
  CHECK(false, "no such step");
  return -1;
}

int buffer_of(const Program& program, const std::string& name) {
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    if (program.buffers[i].name == name) return static_cast<int>(i);
  }
  CHECK(false, "no such buffer");
  return -1;
}

}  // namespace moediff::host_layer
