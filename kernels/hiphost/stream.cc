// The legacy null stream's rules, and handles.
#include "kernels/hiphost/stream.h"

#include <algorithm>
#include <utility>

namespace moediff::hiphost {
namespace {

template <class T>
auto position(std::vector<std::unique_ptr<T>>& alive, const T* handle) {
  return std::find_if(alive.begin(), alive.end(), [handle](const auto& one) { return one.get() == handle; });
}

template <class T>
void bury(std::vector<std::unique_ptr<T>>& alive, const T& handle, std::vector<std::unique_ptr<T>>& dead) {
  const auto found = position(alive, &handle);
  dead.push_back(std::move(*found));
  alive.erase(found);
}

}  // namespace

Stream& StreamTable::create_stream(bool blocking) {
  streams_.push_back(std::make_unique<Stream>(Stream{++streams_made_, blocking}));
  return *streams_.back();
}

Event& StreamTable::create_event() {
  events_.push_back(std::make_unique<Event>(Event{events_made_++}));
  return *events_.back();
}

Stream* StreamTable::find(hipStream_t handle) {
  if (handle == nullptr) return &null_stream_;
  return position(streams_, handle) != streams_.end() ? handle : nullptr;
}

Event* StreamTable::find(hipEvent_t handle) { return position(events_, handle) != events_.end() ? handle : nullptr; }

void StreamTable::destroy(Stream& stream) { bury(streams_, stream, dead_streams_); }
void StreamTable::destroy(Event& event) { bury(events_, event, dead_events_); }

std::vector<int> StreamTable::needs(const Stream& stream) const {
  if (stream.number == 0) return newest(stream);
  if (!stream.blocking) return {stream.last};
  return {stream.last, null_stream_.last};
}

std::vector<int> StreamTable::newest(const Stream& stream) const {
  std::vector<int> items{stream.last};
  if (stream.number != 0) return items;
  for (const auto* list : {&streams_, &dead_streams_}) {  // a destroyed stream's work still goes on
    for (const auto& other : *list) {
      if (other->blocking) items.push_back(other->last);
    }
  }
  return items;
}

void StreamTable::reset() {
  null_stream_ = {};
  while (!streams_.empty()) destroy(*streams_.back());
  while (!events_.empty()) destroy(*events_.back());
  for (auto& stream : dead_streams_) stream->last = -1;
  streams_made_ = events_made_ = 0;
}

}  // namespace moediff::hiphost
