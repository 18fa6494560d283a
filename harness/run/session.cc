#include "harness/run/session.h"

#include <fmt/format.h>

#include <string_view>

#include "harness/run/failure.h"
#include "harness/run/trace.h"

namespace moediff {
namespace {

bool is_valid_tag(const Program& program, std::int32_t tag) {
  return tag >= 0 && tag < static_cast<std::int32_t>(program.steps.size());
}

/// The backend's text lists one damaged zone a line or separates them by "; ".
std::vector<std::string> split_zones(std::string_view text) {
  std::vector<std::string> zones;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(';'), text.find('\n'));
    std::string_view zone = text.substr(0, end);
    while (!zone.empty() && zone.front() == ' ') zone.remove_prefix(1);
    if (!zone.empty()) zones.emplace_back(zone);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return zones;
}

}  // namespace

RunSession::RunSession(Modules& modules, const md_provider& provider, const RunRequest& request, const Inputs& inputs,
                       StatusPage& page)
    : modules_(modules),
      backend_(modules.backend()),
      provider_(provider),
      program_(*request.program),
      page_(page),
      capture_(program_),
      stream_capture_(backend_, program_),
      kernels_(program_.steps.size()),
      hooks_capture_(!request.observe),
      serial_(request.schedule.policy != SchedulePolicy::threads),
      given_order_(request.schedule.policy == SchedulePolicy::given) {
  if (host() != nullptr) {
    start_host(request.schedule);
  } else {
    state_.streams = std::move(modules_.kept_streams);
    state_.events = std::move(modules_.kept_events);
  }
  try {
    prepare(backend_, program_, inputs, state_);
  } catch (...) {
    free_device_memory();
    throw;
  }
}

RunSession::~RunSession() { free_device_memory(); }

void RunSession::free_device_memory() {
  if (host() != nullptr) {
    host()->set_hooks(nullptr, nullptr, nullptr);
    host()->set_tag(-1);
    host()->reset();
    return;
  }
  for (std::size_t i = 0; i < state_.base.size(); ++i) {
    if (state_.base[i] != nullptr && !program_.buffers[i].pooled) backend_.free_memory(state_.base[i]);
  }
  modules_.kept_streams = std::move(state_.streams);
  modules_.kept_events = std::move(state_.events);
}

void RunSession::start_host(const Schedule& schedule) {
  static_assert(static_cast<int>(SchedulePolicy::submission) == MD_SCHEDULE_SUBMISSION &&
                    static_cast<int>(SchedulePolicy::threads) == MD_SCHEDULE_THREADS,
                "policies cross the ABI by number");
  host()->reset();
  require(backend_,
          host()->set_schedule(static_cast<int>(schedule.policy), schedule.seed, schedule.order.data(),
                               static_cast<std::int32_t>(schedule.order.size()), schedule.reuse_memory ? 1 : 0),
          "setting the schedule");
  host()->set_tag(-1);
  host()->set_hooks(&RunSession::on_tag, &RunSession::on_fault, this);
}

void RunSession::on_tag(void* user, std::int32_t tag, std::int32_t begin) {
  RunSession& self = *static_cast<RunSession*>(user);
  if (!is_valid_tag(self.program_, tag)) return;
  if (begin != 0) {
    if (self.hooks_capture_) self.capture_.begin(tag);
    if (self.serial_) write_text(self.page_.kernel, self.kernels_[tag]);
    self.page_.running = tag;
    return;
  }
  if (self.hooks_capture_) self.capture_.end(tag);
  std::int32_t expected = tag;
  self.page_.running.compare_exchange_strong(expected, -1);
}

void RunSession::on_fault(void* user, std::int32_t tag, const char* kernel, const char* label, std::int64_t distance,
                          std::int32_t is_write) {
  RunSession& self = *static_cast<RunSession*>(user);
  FaultReport& fault = self.page_.fault;
  fault.step = is_valid_tag(self.program_, tag) ? tag : -1;
  fault.is_write = is_write;
  fault.distance = distance;
  write_text(fault.kernel, kernel == nullptr ? "" : kernel);
  write_text(fault.block, label == nullptr ? "" : label);
  fault.seen = 1;
}

/// The kernels that a step launched, for the status page: known once the step is issued, before it is executed under
/// the policies that execute one item at a time.
void RunSession::note_kernels(int step, int first_item) {
  if (host() == nullptr || !serial_) return;
  const md_item* items = nullptr;
  const int count = host()->trace(&items);
  kernels_[step].clear();
  for (int i = first_item; i < count; ++i) {
    if (items[i].kind != MD_ITEM_LAUNCH || items[i].name == nullptr) continue;
    kernels_[step] += (kernels_[step].empty() ? "" : "+") + std::string(items[i].name);
  }
}

void RunSession::issue_step(int step) {
  page_.issuing = step;
  if (host() == nullptr) {
    stream_capture_.before(step, state_);
    issue(backend_, provider_, program_, step, state_);
    declared_.push_back(declared_item(program_, step));
    stream_capture_.after(step, state_);
    return;
  }
  const md_item* items = nullptr;
  const int first_item = host()->trace(&items);
  capture_.bind(step, state_);
  host()->set_tag(step);
  issue(backend_, provider_, program_, step, state_);
  host()->set_tag(-1);
  note_kernels(step, first_item);
}

void RunSession::capture_begin(int step) {
  capture_.bind(step, state_);
  capture_.begin(step);
}

/// The step whose work was begun last, or -1.
int RunSession::last_executed() const {
  if (host() == nullptr) return -1;
  const md_item* items = nullptr;
  const std::int32_t* order = nullptr;
  const int count = host()->trace(&items), executed = host()->executed(&order);
  if (executed == 0 || order[executed - 1] < 0 || order[executed - 1] >= count) return -1;
  const int tag = items[order[executed - 1]].tag;
  return is_valid_tag(program_, tag) ? tag : -1;
}

/// An error that the device reports is the running step's doing; only a given order may be our own mistake.
void RunSession::synchronize(int step) {
  const int code = backend_.device_synchronize();
  if (code == 0) return;
  const int running = last_executed();
  const RunStatus status = code == MD_ERROR_NEVER_ENDS ? RunStatus::hang
                           : given_order_              ? RunStatus::error
                                                       : RunStatus::provider_error;
  throw RunFailure(status, fmt::format("the device reports: {}", backend_.last_error()), running >= 0 ? running : step);
}

void RunSession::check_red_zones(int step) {
  const char* text = host()->check_red_zones();
  if (text == nullptr) return;
  const std::string who = step >= 0 ? program_.steps[step].name : "some step";
  for (const std::string& zone : split_zones(text)) red_zone_hits_.push_back(fmt::format("{} wrote {}", who, zone));
}

void RunSession::collect(Run& run) {
  if (host() == nullptr) {
    run.trace = std::move(declared_);
    declare_blocks(program_, run);
    run.capture = stream_capture_.finish();
    return;
  }
  check_red_zones(-1);
  collect_trace(*host(), left_out_, run);
  collect_blocks(*host(), program_, state_, run);
  run.red_zone_hits = std::move(red_zone_hits_);
  run.capture = capture_.finish();
}

}  // namespace moediff
