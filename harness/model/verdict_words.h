// The words of a verdict: status, cause, confidence. Contract with scripts (record.md): names never change.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace moediff {

enum class Status : std::uint8_t { pass, fail, inconclusive, skipped, error };
inline constexpr std::array<std::string_view, 5> kStatusNames{"pass", "fail", "inconclusive", "skipped", "error"};
constexpr std::string_view to_string(Status status) { return kStatusNames[static_cast<std::size_t>(status)]; }

enum class Cause : std::uint8_t {
  stale_read,
  undeclared_write,
  undeclared_read,
  unordered_access,
  lifetime,
  shared_workspace,
  out_of_bounds,
  uninitialised,
  wrong_math,
  wrong_routing,
  wrong_scale,
  wrong_format,
  wrong_layout,
  wrong_weights,
  wrong_index,
  wrong_order_of_collectives,
  stale_map,
  stale_graph_argument,
  nondeterministic,
  padding_leak,
  batch_variant,
  overflow,
  nan,
  crash,
  hang,
  other,
};
struct CauseRow {
  Cause cause;
  std::string_view name;
  std::string_view meaning;  ///< one sentence for `explain`
};
inline constexpr std::array<CauseRow, 26> kCauses{{
    {Cause::stale_read, "stale_read",
     "an op read a buffer after another op had declared to overwrite the version it needed"},
    {Cause::undeclared_write, "undeclared_write", "an op changed memory that it does not declare to write"},
    {Cause::undeclared_read, "undeclared_read", "an op's result depends on memory that it does not declare to read"},
    {Cause::unordered_access, "unordered_access", "two ops touch the same bytes, one writes, and no wait orders them"},
    {Cause::lifetime, "lifetime", "memory went back to the pool before its last reader or writer was done"},
    {Cause::shared_workspace, "shared_workspace", "two ops that may run at once use one scratch buffer"},
    {Cause::out_of_bounds, "out_of_bounds", "a kernel touched memory outside the buffers it was given"},
    {Cause::uninitialised, "uninitialised", "an op read bytes that nobody had written"},
    {Cause::wrong_math, "wrong_math", "an op's result is wrong for the inputs it read, which were the right ones"},
    {Cause::wrong_routing, "wrong_routing", "experts were chosen that no rounding of the scores can explain"},
    {Cause::wrong_scale, "wrong_scale", "a scale was left out, applied twice or taken from the wrong place"},
    {Cause::wrong_format, "wrong_format", "bytes were read in another number format than they were written in"},
    {Cause::wrong_layout, "wrong_layout", "a tensor was read in another layout than it was written in"},
    {Cause::wrong_weights, "wrong_weights", "weights are not those of the checkpoint"},
    {Cause::wrong_index, "wrong_index", "a row, expert or token index points elsewhere"},
    {Cause::wrong_order_of_collectives, "wrong_order_of_collectives", "ranks issue collectives in different orders"},
    {Cause::stale_map, "stale_map", "an expert map of before a rebalancing was used after it"},
    {Cause::stale_graph_argument, "stale_graph_argument", "a graph replay used an argument of capture time"},
    {Cause::nondeterministic, "nondeterministic", "the same run twice gave different bits"},
    {Cause::padding_leak, "padding_leak", "padding rows changed the valid rows"},
    {Cause::batch_variant, "batch_variant", "a row's bits depend on the rows beside it"},
    {Cause::overflow, "overflow", "an index or a value exceeded its type"},
    {Cause::nan, "nan", "a NaN or infinity appeared where all inputs were finite"},
    {Cause::crash, "crash", "the worker process died"},
    {Cause::hang, "hang", "the run did not end within its time limit, or a barrier was not reached by all threads"},
    {Cause::other, "other", "none of the named causes; see the explanation"},
}};
constexpr std::string_view to_string(Cause cause) { return kCauses[static_cast<std::size_t>(cause)].name; }

enum class Confidence : std::uint8_t { unknown, fits, proved };
inline constexpr std::array<std::string_view, 3> kConfidenceNames{"unknown", "fits", "proved"};
constexpr std::string_view to_string(Confidence c) { return kConfidenceNames[static_cast<std::size_t>(c)]; }

}  // namespace moediff
