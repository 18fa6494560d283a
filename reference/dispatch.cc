// Which row of the grouped products belongs to which slot: a stable counting sort of the slots by expert.
#include <algorithm>
#include <numeric>

#include "reference/api.h"
#include "reference/require.h"

namespace moediff::reference {

Dispatch dispatch(std::span<const std::int32_t> ids, std::int64_t experts) {
  const auto exists = [&](std::int32_t id) { return 0 <= id && id < experts; };
  require(std::all_of(ids.begin(), ids.end(), exists), "ids must name experts");
  Dispatch out;
  out.offsets.resize(static_cast<std::size_t>(experts) + 1);
  for (const std::int32_t id : ids) ++out.offsets[static_cast<std::size_t>(id) + 1];
  std::partial_sum(out.offsets.begin(), out.offsets.end(), out.offsets.begin());

  out.slots.resize(ids.size());
  out.rows.resize(ids.size());
  std::vector<std::int32_t> next(out.offsets.begin(), out.offsets.end() - 1);
  for (std::size_t slot = 0; slot < ids.size(); ++slot) {
    const std::int32_t to = next[static_cast<std::size_t>(ids[slot])]++;
    out.rows[slot] = to;
    out.slots[static_cast<std::size_t>(to)] = static_cast<std::int32_t>(slot);
  }
  return out;
}

}  // namespace moediff::reference
