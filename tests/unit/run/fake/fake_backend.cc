// A small backend for testing the harness without the real one. With FAKE_HOST: work is queued and runs at the next
// synchronisation in issue order, there is a trace, and every block counts as touched. Without: work runs at once and
// there is no host control, like a GPU seen from the harness.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "kernels/abi/moediff_abi.h"
#include "tests/unit/run/fake/fake_stream.h"

namespace {

constexpr int kRedZone = 64;
constexpr unsigned char kCanary = 0xA5;

struct Block {
  std::string label;
  std::vector<unsigned char> memory;  ///< red zone, bytes, red zone
  std::int64_t bytes = 0;
  int kind = 0;
  unsigned char* data() { return memory.data() + kRedZone; }
};

struct Item {
  md_item item;
  std::string name;
  std::function<void()> work;
};

struct Device {
  std::deque<Block> blocks;
  std::deque<FakeStream> streams;
  std::deque<int> events;
  std::deque<Item> items;
  std::size_t done = 0;
  std::vector<std::int32_t> executed;
  int tag = -1;
  md_tag_hook hook = nullptr;
  void* user = nullptr;
  bool observing = false;
  std::vector<md_item> trace;
  std::vector<md_block> table;
  std::vector<md_touch> touches;
  std::string damage;
  int schedules = 0;
};
Device device;  // the state that a runtime has

Block* find(const void* pointer) {
  for (Block& block : device.blocks) {
    if (pointer >= block.data() && pointer < block.data() + std::max<std::int64_t>(block.bytes, 1)) return &block;
  }
  return nullptr;
}

int number_of(const Block* block) {
  for (std::size_t i = 0; i < device.blocks.size(); ++i) {
    if (&device.blocks[i] == block) return static_cast<int>(i);
  }
  return -1;
}

bool has_tag(std::size_t from, std::size_t to, int tag) {
  for (std::size_t i = from; i < to; ++i) {
    if (device.items[i].item.tag == tag) return true;
  }
  return false;
}

int synchronize() {
  for (; device.done < device.items.size(); ++device.done) {
    Item& item = device.items[device.done];
    const int tag = item.item.tag;
    if (device.hook != nullptr && !has_tag(0, device.done, tag)) device.hook(device.user, tag, 1);
    if (item.work) item.work();
    if (device.hook != nullptr && !has_tag(device.done + 1, device.items.size(), tag)) device.hook(device.user, tag, 0);
    device.executed.push_back(static_cast<std::int32_t>(device.done));
  }
  return 0;
}

void add(int kind, md_stream stream, const char* name, int event, const void* to, std::int64_t bytes,
         std::function<void()> work) {
  md_item item{};
  item.kind = kind;
  item.tag = device.tag;
  item.stream = stream == nullptr ? 0 : static_cast<FakeStream*>(stream)->number;
  item.event = event;
  Block* block = to == nullptr ? nullptr : find(to);
  item.block = number_of(block);
  item.offset = block == nullptr ? 0 : static_cast<const unsigned char*>(to) - block->data();
  item.bytes = bytes;
  device.items.push_back({item, name, std::move(work)});
#ifndef FAKE_HOST
  synchronize();
#endif
}

void enqueue(FakeStream* stream, const char* kernel, std::function<void()> work) {
  add(MD_ITEM_LAUNCH, stream, kernel, -1, nullptr, 0, std::move(work));
}

int allocate(void** pointer, std::int64_t bytes, std::int32_t kind, const char* label) {
  Block block;
  block.label = label;
  block.bytes = bytes;
  block.kind = kind;
  block.memory.assign(bytes + 2 * kRedZone, kCanary);
  std::memset(block.data(), 0xFF, bytes);
  device.blocks.push_back(std::move(block));
  *pointer = device.blocks.back().data();
  return 0;
}

int free_memory(void* pointer) { return find(pointer) == nullptr ? 1 : 0; }

int copy_bytes(void* to, const void* from, std::int64_t bytes) {
  std::memcpy(to, from, bytes);
  return 0;
}

int stream_create(md_stream* stream, int) {
  device.streams.push_back({static_cast<int>(device.streams.size()) + 1, &enqueue});
  *stream = &device.streams.back();
  return 0;
}

int event_create(md_event* event) {
  device.events.push_back(static_cast<int>(device.events.size()));
  *event = &device.events.back();
  return 0;
}

int event_record(md_event event, md_stream stream) {
  add(MD_ITEM_RECORD, stream, "", *static_cast<int*>(event), nullptr, 0, {});
  return 0;
}

int stream_wait(md_stream stream, md_event event) {
  add(MD_ITEM_WAIT, stream, "", *static_cast<int*>(event), nullptr, 0, {});
  return 0;
}

int allocate_async(void** pointer, std::int64_t bytes, std::int32_t kind, const char* label, md_stream stream) {
  allocate(pointer, bytes, kind, label);
  add(MD_ITEM_ALLOC, stream, "", -1, *pointer, bytes, {});
  return 0;
}

int free_async(void* pointer, md_stream stream) {
  add(MD_ITEM_FREE, stream, "", -1, pointer, 0, {});
  return 0;
}

int copy_async(void* to, std::int64_t to_stride, const void* from, std::int64_t from_stride, std::int64_t row_bytes,
               std::int64_t rows, md_stream stream) {
  add(MD_ITEM_COPY, stream, "", -1, to, row_bytes * rows, [=] {
    for (std::int64_t row = 0; row < rows; ++row) {
      std::memcpy(static_cast<char*>(to) + row * to_stride, static_cast<const char*>(from) + row * from_stride,
                  row_bytes);
    }
  });
  return 0;
}

int fill_async(void* to, int value, std::int64_t bytes, md_stream stream) {
  add(MD_ITEM_FILL, stream, "", -1, to, bytes, [=] { std::memset(to, value, bytes); });
  return 0;
}

int device_synchronize() {
  add(MD_ITEM_DEVICE_SYNC, nullptr, "", -1, nullptr, 0, {});
  return synchronize();
}

int device_count() { return 1; }
int device_name(int, char* text, std::size_t size) {
  std::strncpy(text, "a fake device", size - 1);
  return 0;
}
int set_device(int) { return 0; }
const char* last_error() { return "the fake backend's last error"; }

#ifdef FAKE_HOST
int set_schedule(int policy, std::uint64_t, const std::int32_t*, std::int32_t, std::int32_t) {
  return policy == MD_SCHEDULE_THREADS ? 1 : 0;  // refused, to see the error
}
void set_tag(std::int32_t tag) { device.tag = tag; }
void set_hooks(md_tag_hook hook, md_fault_hook, void* user) {
  device.hook = hook;
  device.user = user;
}
std::int32_t trace(const md_item** items) {
  device.trace.clear();
  for (const Item& item : device.items) {
    device.trace.push_back(item.item);
    device.trace.back().name = item.name.c_str();
  }
  *items = device.trace.data();
  return static_cast<std::int32_t>(device.trace.size());
}
std::int32_t executed(const std::int32_t** order) {
  *order = device.executed.data();
  return static_cast<std::int32_t>(device.executed.size());
}
std::int32_t blocks(const md_block** table) {
  device.table.clear();
  for (Block& block : device.blocks)
    device.table.push_back({block.label.c_str(), block.data(), block.bytes, 0, block.kind});
  *table = device.table.data();
  return static_cast<std::int32_t>(device.table.size());
}
int watch_library(const void*, const char*) { return 0; }
int observe_begin() { return 0; }
std::int32_t observe_end(const md_touch** touches) {
  device.touches.clear();
  for (std::size_t i = 0; i < device.blocks.size(); ++i) {
    if (device.blocks[i].kind == MD_MEMORY_WEIGHT) continue;
    for (const int what : {MD_TOUCH_READ, MD_TOUCH_WRITE}) {
      device.touches.push_back({static_cast<std::int32_t>(i), what, 0, device.blocks[i].bytes});
    }
  }
  *touches = device.touches.data();
  return static_cast<std::int32_t>(device.touches.size());
}
const char* check_red_zones() {
  device.damage.clear();
  for (Block& block : device.blocks) {
    unsigned char* past = block.data() + block.bytes;
    const auto damaged = std::count_if(past, past + kRedZone, [](unsigned char c) { return c != kCanary; });
    if (damaged == 0) continue;
    device.damage += (device.damage.empty() ? "" : "; ") + std::to_string(damaged) + " bytes past " + block.label;
    std::memset(past, kCanary, kRedZone);
  }
  return device.damage.c_str();
}
void reset() {
  device.items.clear();
  device.done = 0;
  device.executed.clear();
  device.blocks.clear();
  device.streams.clear();
  device.events.clear();
}

const md_host_control host{set_schedule,  set_tag,       set_hooks,   trace,           executed, blocks,
                           watch_library, observe_begin, observe_end, check_red_zones, reset};
const md_backend backend{
    MOEDIFF_ABI_VERSION, "fake",     "fake 1",   device_count,  device_name,        set_device,   allocate,
    free_memory,         copy_bytes, copy_bytes, stream_create, event_create,       event_record, stream_wait,
    allocate_async,      free_async, copy_async, fill_async,    device_synchronize, last_error,   &host};
#else
const md_backend backend{
    MOEDIFF_ABI_VERSION, "fakegpu",  "fake 1",   device_count,  device_name,        set_device,   allocate,
    free_memory,         copy_bytes, copy_bytes, stream_create, event_create,       event_record, stream_wait,
    allocate_async,      free_async, copy_async, fill_async,    device_synchronize, last_error,   nullptr};
#endif

}  // namespace

extern "C" const md_backend* moediff_backend(std::uint32_t version) {
  return version == MOEDIFF_ABI_VERSION ? &backend : nullptr;
}
