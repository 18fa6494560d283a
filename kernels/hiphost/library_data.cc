// Finds a loaded library's writable static data: its writable segments, whole pages, without what the loader makes
// read-only after relocation. A library that is linked lazily has its .got.plt in there; providers are linked with
// -z now.
#include <dlfcn.h>
#include <link.h>

#include <algorithm>

#include "kernels/hiphost/observe.h"

namespace moediff::hiphost {
namespace {

struct Search {
  std::uintptr_t symbol = 0;
  bool found = false;
  std::uintptr_t begin = 0, end = 0;  ///< of all writable segments
  std::uintptr_t relro_begin = 0, relro_end = 0;
};

std::uintptr_t page_down(std::uintptr_t address) { return address / page_bytes() * page_bytes(); }
std::uintptr_t page_up(std::uintptr_t address) { return page_down(address + page_bytes() - 1); }

bool holds(const dl_phdr_info& info, std::uintptr_t symbol) {
  return std::any_of(info.dlpi_phdr, info.dlpi_phdr + info.dlpi_phnum, [&](const ElfW(Phdr) & segment) {
    const std::uintptr_t begin = info.dlpi_addr + segment.p_vaddr;
    return segment.p_type == PT_LOAD && symbol >= begin && symbol < begin + segment.p_memsz;
  });
}

int inspect(dl_phdr_info* info, std::size_t, void* user) {
  auto& search = *static_cast<Search*>(user);
  if (!holds(*info, search.symbol)) return 0;
  for (const ElfW(Phdr)* segment = info->dlpi_phdr; segment != info->dlpi_phdr + info->dlpi_phnum; ++segment) {
    const std::uintptr_t begin = info->dlpi_addr + segment->p_vaddr, end = begin + segment->p_memsz;
    if (segment->p_type == PT_GNU_RELRO) {
      search.relro_begin = page_down(begin);
      search.relro_end = page_down(end);
    } else if (segment->p_type == PT_LOAD && (segment->p_flags & PF_W) != 0) {
      search.begin = search.found ? std::min(search.begin, page_down(begin)) : page_down(begin);
      search.end = std::max(search.end, page_up(end));
      search.found = true;
    }
  }
  return 1;
}

}  // namespace

Block* adopt_library_data(Memory& memory, const void* symbol, const std::string& label) {
  Search search;
  search.symbol = reinterpret_cast<std::uintptr_t>(symbol);
  dl_iterate_phdr(&inspect, &search);
  if (!search.found) return nullptr;
  // RELRO at the front is cut off; elsewhere (lld: between two writable segments) it is a hole.
  if (search.relro_begin <= search.begin) search.begin = std::max(search.begin, search.relro_end);
  if (search.begin >= search.end) return nullptr;
  const bool hole = search.relro_begin > search.begin && search.relro_end <= search.end;
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<std::byte*>(address); };
  return &memory.adopt(at(search.begin), (search.end - search.begin) / page_bytes(),
                       hole ? at(search.relro_begin) : nullptr,
                       hole ? (search.relro_end - search.relro_begin) / page_bytes() : 0, label);
}

}  // namespace moediff::hiphost
