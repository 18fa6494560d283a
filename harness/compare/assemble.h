// Which bytes a step was *meant* to read: the values of its operand as the candidate had produced them, put together at
// the operand's region. Physical accidents (a buffer overwritten in between) do not show here; that is the point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/run/run.h"

namespace moediff {

/// Where each element of an operand comes from.
struct GatherPlan {
  struct Element {
    std::int32_t source = 0;  ///< index into `values`
    std::int64_t index = 0;   ///< element of that value, row-major
  };
  std::vector<int> values;        ///< of Program::values
  bool identity = false;          ///< the operand is values[0] as a whole, element for element; `elements` is empty
  std::vector<Element> elements;  ///< by element of the operand, row-major
};

/// Is the operand one value as a whole, element for element?
bool is_whole_value(const Program& program, const Operand& operand);

/// None when the operand names no value, or its values do not cover it. Geometry: values and operand are strided
/// regions of one buffer. An operand that a rewrite has pointed to another buffer keeps its meaning: the regions are
/// then aligned at their beginnings.
std::optional<GatherPlan> plan_gather(const Program& program, const Operand& operand);

/// The step and operand that write a value.
struct Origin {
  int step = -1, operand = -1;
};
Origin origin(const Program& program, int value);

/// The tensor of Inputs that fills an initial value, or the rows of it that the value stands for.
std::span<const std::byte> initial_bytes(const Program& program, const Inputs& inputs, int value);

/// Bytes of a value as the candidate produced it: captured where it was written, or from the inputs. None when they
/// were not captured, or the writer's operand was not the whole value.
std::optional<std::span<const std::byte>> value_bytes(const Program& program, const Run& run, const Inputs& inputs,
                                                      int value);

/// Packed row-major bytes of an operand, from its values. None as above.
std::optional<std::vector<std::byte>> assemble(const Program& program, const Run& run, const Inputs& inputs, int step,
                                               int operand);

}  // namespace moediff
