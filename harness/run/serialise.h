// What crosses the socket between moediff and its worker, as bytes: see bytes.h.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/run/execute.h"
#include "harness/run/executor.h"
#include "harness/run/run.h"

namespace moediff {

/// A RunRequest without its inputs: those are sent once and then named by number.
struct WireRequest {
  Program program;
  std::uint64_t inputs = 0;
  ProviderSpec provider;
  Schedule schedule;
  bool observe = false;
  std::vector<ProbeCrash> crashes;
};

std::vector<std::byte> to_bytes(const WireRequest& request);
std::vector<std::byte> to_bytes(const Run& run);
std::vector<std::byte> to_bytes(const Inputs& inputs);
std::vector<std::byte> to_bytes(const BackendInfo& info);

/// nullopt when the bytes are not exactly one such object.
template <typename T>
std::optional<T> from_bytes(std::span<const std::byte> bytes);
template <>
std::optional<WireRequest> from_bytes(std::span<const std::byte> bytes);
template <>
std::optional<Run> from_bytes(std::span<const std::byte> bytes);
template <>
std::optional<Inputs> from_bytes(std::span<const std::byte> bytes);
template <>
std::optional<BackendInfo> from_bytes(std::span<const std::byte> bytes);

/// Does the Run fit the Program: lists as long as they should be, numbers in range, captures of the right sizes? A
/// worker whose memory a candidate overwrote may answer anything.
bool fits(const Run& run, const Program& program);

}  // namespace moediff
