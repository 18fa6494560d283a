// The MTP module.
#include <algorithm>

#include "reference/decoder.h"
#include "reference/embedding.h"
#include "reference/require.h"

namespace moediff::reference {
namespace {

/// Rows of `a` and `b`, side by side.
std::vector<double> side_by_side(std::span<const double> a, std::span<const double> b, std::int64_t hidden) {
  std::vector<double> out;
  for (auto left = a.begin(), right = b.begin(); left != a.end(); left += hidden, right += hidden) {
    out.insert(out.end(), left, left + hidden);
    out.insert(out.end(), right, right + hidden);
  }
  return out;
}

}  // namespace

MtpTrace mtp(const MtpModule& module, std::span<const std::int32_t> tokens, std::span<const double> hidden,
             std::int64_t first, KvCache& cache, const ChooseExperts& choose) {
  const auto rows = static_cast<std::int64_t>(tokens.size());
  const std::int64_t width = module.head.k();
  require(rows > 0 && static_cast<std::int64_t>(hidden.size()) == rows * width, "hidden must be [tokens, hidden]");
  std::vector<double> embedded = embed(module.embedding, tokens, width);
  if (module.mask_first && first == 0) std::fill_n(embedded.begin(), width, 0.0);
  const std::vector<double> joined = side_by_side(rms_norm(embedded, module.embedding_norm, module.epsilon),
                                                  rms_norm(hidden, module.hidden_norm, module.epsilon), width);
  MtpTrace trace;
  trace.input = linear(joined, rows, module.projection).value;
  trace.hidden = decoder_layer(module.layer, trace.input, rows, first, std::span(&cache, 1), choose).out;
  trace.normed = rms_norm(trace.hidden, module.head_norm, module.epsilon);
  trace.logits = linear(trace.normed, rows, module.head).value;
  return trace;
}

}  // namespace moediff::reference
