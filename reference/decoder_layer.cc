// One decoder layer: attention sequence by sequence, everything else token by token.
#include "reference/decoder.h"
#include "reference/require.h"

namespace moediff::reference {
namespace {

std::vector<double> sum(std::span<const double> a, std::span<const double> b) {
  std::vector<double> out(a.begin(), a.end());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] += b[i];
  return out;
}

}  // namespace

LayerTrace decoder_layer(const DecoderLayer& layer, std::span<const double> x, std::int64_t rows, std::int64_t first,
                         std::span<KvCache> caches, const ChooseExperts& choose) {
  const auto sequences = static_cast<std::int64_t>(caches.size());
  require(sequences > 0 && rows % sequences == 0, "rows must be equally many a sequence");
  LayerTrace trace;
  trace.input_norm = rms_norm(x, layer.input_norm, layer.epsilon);
  const std::size_t size = trace.input_norm.size() / caches.size();
  for (std::size_t i = 0; i < caches.size(); ++i) {
    const auto own = std::span(trace.input_norm).subspan(i * size, size);
    trace.attention.push_back(attention(layer.attention, own, rows / sequences, first, caches[i]));
    const std::vector<double>& out = trace.attention.back().out;
    trace.attention_out.insert(trace.attention_out.end(), out.begin(), out.end());
  }
  const std::vector<double> h = sum(x, trace.attention_out);
  trace.post_norm = rms_norm(h, layer.post_norm, layer.epsilon);
  if (const Mlp* const dense = std::get_if<Mlp>(&layer.block)) {
    trace.moe.out = mlp(*dense, trace.post_norm, rows);
  } else {
    trace.moe = moe(std::get<Moe>(layer.block), trace.post_norm, rows, layer.index, first, choose);
  }
  trace.out = sum(h, trace.moe.out);
  return trace;
}

}  // namespace moediff::reference
