#include "tests/unit/reports/sample_picture.h"

#include <utility>

namespace moediff {
namespace {

using Names = std::vector<std::string>;

PictureStep step(const char* name, const char* kind, const char* stream) {
  PictureStep made;
  made.name = name;
  made.kind = kind;
  made.stream = stream;
  return made;
}

PictureStep call(const char* name, const char* stream, Names reads, Names writes) {
  PictureStep made = step(name, "call", stream);
  made.reads = std::move(reads);
  made.writes = std::move(writes);
  return made;
}

PictureStep event(const char* name, const char* kind, const char* stream, int number) {
  PictureStep made = step(name, kind, stream);
  made.event = number;
  return made;
}

std::string at(const std::string& value, const std::string& buffer) {
  std::string text = value;
  text += " @ ";
  return text += buffer;
}
std::string own(const std::string& value) { return at(value, value); }

void add_routed(std::vector<PictureStep>& steps, const std::string& routed_buffer) {
  steps.push_back(
      call("router", "main", {own("hidden_states")}, {own("router_logits"), own("topk_ids"), own("topk_weights")}));
  steps.push_back(
      call("dispatch", "main", {own("topk_ids")}, {own("expert_offsets"), own("sorted_slots"), own("slot_rows")}));
  steps.push_back(step("alloc gemm1_out", "alloc", "main"));
  steps.push_back(call("gemm1", "main", {own("hidden_states"), own("sorted_slots")}, {own("gemm1_out")}));
  steps.push_back(call("activation", "main", {own("gemm1_out")}, {own("act_out")}));
  steps.push_back(step("free gemm1_out", "free", "main"));
  steps.push_back(call("gemm2", "main", {own("act_out")}, {own("gemm2_out")}));
  steps.push_back(call("combine", "main", {own("gemm2_out"), own("slot_rows"), own("topk_weights")},
                       {at("routed_out", routed_buffer)}));
}

void add_shared(std::vector<PictureStep>& steps, const char* stream, const std::string& input) {
  steps.push_back(call("shared_gemm1", stream, {input}, {own("shared_gemm1_out")}));
  steps.push_back(call("shared_activation", stream, {own("shared_gemm1_out")}, {own("shared_act_out")}));
  steps.push_back(call("shared_gemm2", stream, {own("shared_act_out")}, {own("shared_out")}));
}

}  // namespace

Picture one_stream_picture() {
  Picture picture{.streams = {"main"}, .steps = {}};
  add_routed(picture.steps, "hidden_states");
  picture.steps.back().clobbers = true;
  add_shared(picture.steps, "main", own("hidden_states"));
  picture.steps[picture.steps.size() - 3].victim = true;
  picture.steps.push_back(
      call("scale_add", "main", {"routed_out @ hidden_states", own("shared_out")}, {own("moe_out")}));
  return picture;
}

Picture two_stream_picture(bool joined) {
  Picture picture{.streams = {"main", "aux"}, .steps = {}};
  std::vector<PictureStep>& steps = picture.steps;
  steps.push_back(call("clone_hidden", "main", {own("hidden_states")}, {"hidden_clone @ hidden_clone"}));
  steps.back().kind = "copy";
  steps.push_back(event("fork", "record", "main", 0));
  steps.push_back(event("fork_wait", "wait", "aux", 0));
  add_routed(steps, "hidden_states");
  add_shared(steps, "aux", "hidden_clone @ hidden_clone");
  steps.back().clobbers = !joined;
  steps.push_back(event("join", "record", "aux", 1));
  if (joined) steps.push_back(event("join_wait", "wait", "main", 1));
  steps.push_back(call("scale_add", "main", {"routed_out @ hidden_states", own("shared_out")}, {own("moe_out")}));
  steps.back().victim = !joined;
  return picture;
}

}  // namespace moediff
