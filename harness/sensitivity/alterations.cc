#include "harness/sensitivity/alterations.h"

#include <algorithm>

#include "harness/core/formats.h"

namespace moediff::alterations {
namespace {

template <typename Change>
void change_values(Inputs& inputs, const char* name, Change change) {
  Tensor& tensor = inputs.at(name);
  std::vector<double> values = to_doubles(tensor);
  change(values, tensor.shape);
  tensor = from_doubles(tensor.dtype, tensor.shape, values);
}

/// The last `count` elements of every row times `factor`.
void scale_tail(Inputs& inputs, const char* name, std::int64_t count, double factor) {
  change_values(inputs, name, [&](std::vector<double>& values, const Shape& shape) {
    const auto k = static_cast<std::size_t>(shape.back());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i % k + static_cast<std::size_t>(count) >= k) values[i] *= factor;
    }
  });
}

/// Runs of bytes of a tensor: `row` bytes a row of the last dimension, `matrix` bytes an expert.
struct Runs {
  std::vector<std::byte>& data;
  std::ptrdiff_t row, matrix;
  auto begin() const { return data.begin(); }
};
Runs runs(Inputs& inputs, const char* name) {
  Tensor& t = inputs.at(name);
  const auto row = static_cast<std::ptrdiff_t>(t.shape.back() * size_of(t.dtype));
  return {t.data, row, static_cast<std::ptrdiff_t>(t.shape[t.shape.size() - 2]) * row};
}

void swap_runs(Runs r, std::ptrdiff_t a, std::ptrdiff_t b, std::ptrdiff_t size) {
  std::swap_ranges(r.begin() + a, r.begin() + a + size, r.begin() + b);
}

}  // namespace

void last_k_dropped(const Case&, Inputs& inputs) { scale_tail(inputs, "w13", 1, 0); }
void last_k_of_w2_dropped(const Case&, Inputs& inputs) { scale_tail(inputs, "w2", 1, 0); }
void last_step_dropped(const Case&, Inputs& inputs) { scale_tail(inputs, "w13", 64, 0); }
void tail_counted_twice(const Case&, Inputs& inputs) { scale_tail(inputs, "w13", 32, 2); }

void gate_up_swapped(const Case&, Inputs& inputs) {
  const Runs r = runs(inputs, "w13");
  swap_runs(r, 0, r.matrix / 2, r.matrix / 2);
}

void gate_up_interleaved(const Case& spec, Inputs& inputs) {
  const Runs r = runs(inputs, "w13");
  const std::vector<std::byte> stacked = r.data;
  const std::ptrdiff_t inter = spec.shape.inter;
  for (std::ptrdiff_t e = 0; e < spec.shape.experts; ++e) {
    for (std::ptrdiff_t i = 0; i < 2 * inter; ++i) {
      const std::ptrdiff_t from = i % 2 * inter + i / 2;
      std::copy_n(stacked.begin() + e * r.matrix + from * r.row, r.row, r.begin() + e * r.matrix + i * r.row);
    }
  }
}

void experts_swapped(const Case&, Inputs& inputs) {
  for (const char* name : {"w13", "w2"})
    swap_runs(runs(inputs, name), 0, runs(inputs, name).matrix, runs(inputs, name).matrix);
}

void w2_rows_rolled(const Case&, Inputs& inputs) {
  const Runs r = runs(inputs, "w2");
  std::rotate(r.begin(), r.begin() + r.row, r.begin() + r.matrix);
}

void one_weight_off(const Case&, Inputs& inputs) {
  change_values(inputs, "w13", [](std::vector<double>& values, const Shape&) {
    *std::find_if(values.begin(), values.end(), [](double value) { return value != 0; }) *= 1 + 0x1p-7;
  });
}

void nibbles_swapped(const Case&, Inputs& inputs) {
  const Runs r = runs(inputs, "w13");
  for (std::ptrdiff_t i = 0; i < r.row; ++i) {
    const auto byte = std::to_integer<unsigned>(r.data[static_cast<std::size_t>(i)]);
    r.data[static_cast<std::size_t>(i)] = static_cast<std::byte>(byte >> 4 | (byte & 15) << 4);
  }
}

void zero_point_seven(const Case&, Inputs& inputs) {
  for (std::byte& byte : inputs.at("w13").data) {
    const auto pair = std::to_integer<unsigned>(byte);
    const unsigned low = std::min(pair & 15, 14u) + 1, high = std::min(pair >> 4, 14u) + 1;
    byte = static_cast<std::byte>(low | high << 4);
  }
}

void scales_shifted_along_k(const Case&, Inputs& inputs) {
  const Runs r = runs(inputs, "w13_scales");
  const auto element = static_cast<std::ptrdiff_t>(size_of(inputs.at("w13_scales").dtype));
  for (std::ptrdiff_t at = 0; at < r.matrix; at += r.row)
    std::rotate(r.begin() + at, r.begin() + at + element, r.begin() + at + r.row);
}

void scales_shifted_along_n(const Case&, Inputs& inputs) {
  const Runs r = runs(inputs, "w13_scales");
  std::rotate(r.begin(), r.begin() + r.row, r.begin() + r.matrix);
}

void one_scale_off(const Case&, Inputs& inputs) {
  change_values(inputs, "w13_scales", [](std::vector<double>& values, const Shape&) { values[0] *= 1 + 0x1p-6; });
}

void up_scales_from_gate(const Case&, Inputs& inputs) {
  const Runs r = runs(inputs, "w13_scales");
  for (std::ptrdiff_t e = 0; e < static_cast<std::ptrdiff_t>(r.data.size()); e += r.matrix)
    std::copy_n(r.begin() + e, r.matrix / 2, r.begin() + e + r.matrix / 2);
}

void scales_halved(const Case&, Inputs& inputs) {
  change_values(inputs, "w13_scales", [](std::vector<double>& values, const Shape&) {
    for (double& value : values) value /= 2;
  });
}

void gate_in_bf16(const Case&, Inputs& inputs) {
  change_values(inputs, "gate_weight", [](std::vector<double>& values, const Shape&) {
    for (double& value : values) value = round_to(DType::bf16, value);
  });
}

void bias_in_bf16(const Case&, Inputs& inputs) {
  change_values(inputs, "gate_bias", [](std::vector<double>& values, const Shape&) {
    for (double& value : values) value = round_to(DType::bf16, value);
  });
}

void gate_rows_swapped(const Case&, Inputs& inputs) {
  const Runs r = runs(inputs, "gate_weight");
  swap_runs(r, 0, r.row, r.row);
}

void bias_shifted(const Case&, Inputs& inputs) {
  change_values(inputs, "gate_bias", [](std::vector<double>& values, const Shape&) {
    std::rotate(values.begin(), values.begin() + 1, values.end());
  });
}

}  // namespace moediff::alterations
