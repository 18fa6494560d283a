// Streams and events: who has to wait for whom, decided when an item is issued.
#pragma once

#include <memory>
#include <vector>

#include "kernels/hiphost/include/hip/hip_runtime.h"

namespace moediff::hiphost {

struct Stream {
  int number = 0;        ///< 0: the legacy null stream; else in creation order
  bool blocking = true;  ///< takes part in the null stream's rules
  int last = -1;         ///< seq of the newest item
};

struct Event {
  int number = 0;   ///< in creation order from 0
  int record = -1;  ///< seq of the newest record, -1: never recorded
};

class StreamTable {
 public:
  Stream& create_stream(bool blocking);
  Event& create_event();
  Stream& null_stream() { return null_stream_; }
  /// nullptr: not a living stream. A null handle is the null stream.
  Stream* find(hipStream_t handle);
  Event* find(hipEvent_t handle);
  void destroy(Stream& stream);
  void destroy(Event& event);
  /// Items that the next item of the stream has to wait for. Legacy rules: an item of the null stream waits for all
  /// blocking streams, and an item of a blocking stream waits for the null stream.
  std::vector<int> needs(const Stream& stream) const;
  /// Items that a host wait for the stream has to wait for.
  std::vector<int> newest(const Stream& stream) const;
  /// Handles of before are never valid again.
  void reset();

 private:
  Stream null_stream_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<std::unique_ptr<Event>> events_;
  int streams_made_ = 0, events_made_ = 0;
  // Kept, so that no new handle has the address of an old one.
  std::vector<std::unique_ptr<Stream>> dead_streams_;
  std::vector<std::unique_ptr<Event>> dead_events_;
};

}  // namespace moediff::hiphost
