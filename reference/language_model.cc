// A causal language model and its greedy decoding.
#include <algorithm>

#include "reference/decoder.h"
#include "reference/embedding.h"
#include "reference/require.h"

namespace moediff::reference {

ModelTrace forward(const LanguageModel& model, std::span<const std::int32_t> tokens, ModelState& state,
                   const ChooseExperts& choose) {
  const auto rows = static_cast<std::int64_t>(tokens.size());
  require(rows > 0, "a model needs tokens");
  state.caches.resize(model.layers.size());
  ModelTrace trace;
  trace.hidden.push_back(embed(model.embedding, tokens, model.head.k()));
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const std::span<KvCache> cache(&state.caches[i], 1);
    trace.hidden.push_back(decoder_layer(model.layers[i], trace.hidden.back(), rows, state.length, cache, choose).out);
  }
  state.length += rows;
  trace.normed = rms_norm(trace.hidden.back(), model.final_norm, model.epsilon);
  trace.logits = linear(trace.normed, rows, model.head).value;
  return trace;
}

std::int32_t argmax(std::span<const double> values) {
  require(!values.empty(), "nothing is the largest of nothing");
  return static_cast<std::int32_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

Generation decode_greedily(const LanguageModel& model, std::span<const std::int32_t> prompt, std::int64_t steps,
                           Decoding decoding, const ChooseExperts& choose) {
  std::vector<std::int32_t> sequence(prompt.begin(), prompt.end());
  std::size_t seen = 0;  // of the sequence, by the state
  ModelState state;
  Generation out;
  for (std::int64_t step = 0; step < steps; ++step) {
    if (decoding == Decoding::whole) state = {}, seen = 0;
    const ModelTrace trace = forward(model, std::span(sequence).subspan(seen), state, choose);
    seen = sequence.size();
    const auto last = std::span(trace.logits).last(static_cast<std::size_t>(model.head.n()));
    out.logits.insert(out.logits.end(), last.begin(), last.end());
    out.tokens.push_back(argmax(last));
    sequence.push_back(out.tokens.back());
  }
  return out;
}

}  // namespace moediff::reference
