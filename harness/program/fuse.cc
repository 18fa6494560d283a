// Shared experts as further routed experts: expert j of them is rows j of each half of the shared gate and up
// projections, and columns j of the shared down projection; codes, scales and offsets alike.
#include <algorithm>
#include <cstring>

#include "harness/core/check.h"
#include "harness/program/build.h"
#include "harness/program/input_parts.h"

namespace moediff {
namespace {

/// Part j of S along a dimension of `extent` elements; a dimension of one element belongs to all.
struct Part {
  std::int64_t begin, size;
};
Part part_of(std::int64_t extent, std::int64_t parts, std::int64_t j) {
  if (extent == 1) return {0, 1};
  CHECK(extent % parts == 0, "shared experts end where their tensors can be cut");
  return {j * (extent / parts), extent / parts};
}

void append_rows(std::vector<std::byte>& to, const Tensor& from, Part rows, Part columns) {
  const std::int64_t element = size_of(from.dtype), width = from.shape[1];
  for (std::int64_t r = rows.begin; r < rows.begin + rows.size; ++r) {
    const std::byte* begin = from.data.data() + (r * width + columns.begin) * element;
    to.insert(to.end(), begin, begin + columns.size * element);
  }
}

/// Appends expert j of the shared tensor to the routed one. `halves`: rows are gate, then up.
void append_expert(Tensor& routed, const Tensor& shared, std::int64_t parts, std::int64_t j, bool halves) {
  const std::int64_t rows = shared.shape[0], columns = shared.shape[1];
  if (!halves) {
    append_rows(routed.data, shared, {0, rows}, part_of(columns, parts, j));
  } else if (rows == 1) {
    append_rows(routed.data, shared, {0, 1}, {0, columns});
  } else {
    const Part half = part_of(rows / 2, parts, j);
    append_rows(routed.data, shared, half, {0, columns});
    append_rows(routed.data, shared, {rows / 2 + half.begin, half.size}, {0, columns});
  }
  ++routed.shape[0];
}

void fuse(const Case& spec, Inputs& inputs, const std::string& name, bool halves) {
  const auto routed = inputs.find(name), shared = inputs.find("shared_" + name);
  if (routed == inputs.end() || shared == inputs.end()) return;
  Tensor all = routed->second;
  for (std::int64_t j = 0; j < spec.shape.n_shared; ++j)
    append_expert(all, shared->second, spec.shape.n_shared, j, halves);
  CHECK(static_cast<std::int64_t>(all.data.size()) == all.size() * size_of(all.dtype), "fused tensors are whole");
  inputs[name + "_fused"] = std::move(all);
}

/// The constant columns of the top-k buffers: ids L.., weight 1.
void add_constant_columns(const Case& spec, Inputs& inputs) {
  const MoeShape& s = spec.shape;
  const bool field = spec.arithmetic == Arithmetic::field;
  Tensor ids(DType::i32, {spec.tokens, s.n_shared}),
      weights(field ? DType::field : DType::f32, {spec.tokens, s.n_shared});
  for (std::size_t i = 0; i < static_cast<std::size_t>(spec.tokens * s.n_shared); ++i) {
    ids.as<std::int32_t>()[i] = static_cast<std::int32_t>(s.experts + static_cast<std::int64_t>(i) % s.n_shared);
    if (field) {
      weights.as<std::uint64_t>()[i] = 1;
    } else {
      weights.as<float>()[i] = 1.0f;
    }
  }
  inputs["shared_ids"] = std::move(ids);
  inputs["shared_weights"] = std::move(weights);
}

bool can_be_fused(const Case& spec) {
  const QuantSpec& q = spec.quant;
  if (q.scheme == QuantScheme::none) return true;
  const WeightScales scales = row(q.scheme).weight_scales;
  const bool blocks = scales == WeightScales::block || scales == WeightScales::group;
  const std::int64_t block = q.scheme == QuantScheme::mxfp4 ? kMxGroup : q.group;
  const bool packed = row(q.scheme).activation == ActivationScales::none;
  const bool cut =
      spec.shape.n_shared > 1 && blocks && (spec.shape.inter % block != 0 || (packed && spec.shape.inter % 2 != 0));
  return q.shared == SharedWeights::same && !cut;
}

}  // namespace

void add_fused(const Case& spec, Inputs& inputs) {
  if (spec.shape.n_shared == 0 || !can_be_fused(spec)) return;
  for (const char* part : {"", "_scales", "_offset"}) {
    fuse(spec, inputs, std::string("w13") + part, true);
    fuse(spec, inputs, std::string("w2") + part, false);
  }
  add_constant_columns(spec, inputs);
}

}  // namespace moediff
