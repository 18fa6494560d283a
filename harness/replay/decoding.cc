#include "harness/replay/decoding.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/replay/alternatives.h"

namespace moediff {
namespace {

constexpr std::size_t kMaxAlternatives = 64;  // of one token in one layer
constexpr int kMaxTrials = 256;               // of one token

using Ids = std::vector<std::int32_t>;
/// Experts of a layer and position, where the reference's own are not the only right ones.
using Choices = std::map<std::pair<std::int64_t, std::int64_t>, Ids>;

/// The choices, and the reference's ids everywhere else.
reference::ChooseExperts follow(const Choices& choices) {
  return [&choices](const reference::ExpertQuestion& question) {
    Ids ids = question.routing.ids;
    const std::int64_t top_k = question.moe.router.top_k;
    for (std::int64_t row = 0; row < static_cast<std::int64_t>(ids.size()) / top_k; ++row) {
      const auto choice = choices.find({question.layer, question.first_position + row});
      if (choice != choices.end()) std::copy(choice->second.begin(), choice->second.end(), ids.begin() + row * top_k);
    }
    return ids;
  };
}

/// Forgets what a state has seen from position `length` on.
void rewind(reference::ModelState& state, std::int64_t length) {
  for (reference::KvCache& cache : state.caches) {
    for (std::vector<double>* const all : {&cache.keys, &cache.values}) {
      all->resize(cache.length == 0
                      ? 0
                      : all->size() / static_cast<std::size_t>(cache.length) * static_cast<std::size_t>(length));
    }
    cache.length = length;
  }
  state.length = length;
}

double distance(std::span<const double> a, std::span<const double> b) {
  double largest = 0;
  for (std::size_t i = 0; i < b.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return std::isnan(largest) ? std::numeric_limits<double>::infinity() : largest;
}

/// One way through the alternatives of a token: which of how many is taken, in each layer with experts.
struct Path {
  std::vector<std::size_t> taken, of;

  /// The next way, depth first: what later layers choose from depends on earlier ones. False after the last.
  bool advance() {
    while (!taken.empty() && taken.back() + 1 == of.back()) taken.pop_back(), of.pop_back();
    if (taken.empty()) return false;
    ++taken.back();
    return true;
  }
};

/// Decodes token by token.
class Decoder {
 public:
  Decoder(const reference::LanguageModel& model, const StatedLogits& stated, double tolerance)
      : model_(model), stated_(stated), tolerance_(tolerance) {}

  /// The next token of the sequence: logits after it.
  std::vector<double> next(std::int32_t token) {
    const std::int64_t position = state_.length;
    Path path, best;
    std::vector<double> logits;
    double least = std::numeric_limits<double>::infinity();
    int trials = 0;
    do {
      rewind(state_, position);
      const std::vector<double> tried = run(token, path);
      const double off = distance(tried, stated_row(position));
      if (trials == 0 || off < least) least = off, best = path, logits = tried;
    } while (++trials < kMaxTrials && !stated_row(position).empty() && path.advance());
    if (trials == 1) return logits;
    rewind(state_, position);
    keep_ = true;
    logits = run(token, best);
    keep_ = false;
    return logits;
  }

  const Choices& choices() const { return choices_; }

 private:
  std::span<const double> stated_row(std::int64_t position) const {
    const auto i = static_cast<std::size_t>(position);
    return i < stated_.rows.size() ? stated_.rows[i] : std::span<const double>();
  }

  /// One way through; the path grows by the layers that it did not know of yet.
  std::vector<double> run(std::int32_t token, Path& path) {
    std::size_t layer = 0;
    const auto choose = [&](const reference::ExpertQuestion& question) {
      const std::vector<Ids> sets =
          alternatives(question.routing, question.moe.router, 0, tolerance_, kMaxAlternatives);
      if (layer == path.taken.size()) path.taken.push_back(0), path.of.push_back(sets.size());
      const Ids& ids = sets[path.taken[layer++]];
      if (keep_ && sets.size() > 1) choices_[{question.layer, question.first_position}] = ids;
      return ids;
    };
    return reference::forward(model_, {&token, 1}, state_, choose).logits;
  }

  const reference::LanguageModel& model_;
  const StatedLogits& stated_;
  double tolerance_;
  reference::ModelState state_;
  Choices choices_;
  bool keep_ = false;
};

}  // namespace

Decoded decode(const reference::LanguageModel& model, std::span<const std::int32_t> prompt, std::int64_t steps,
               const StatedLogits& stated, double tolerance) {
  Decoded out;
  Decoder decoder(model, stated, tolerance);
  std::vector<double> logits;
  for (const std::int32_t token : prompt) logits = decoder.next(token);
  for (std::int64_t step = 0; step < steps; ++step) {
    if (step > 0) logits = decoder.next(out.cached.tokens.back());
    out.cached.tokens.push_back(reference::argmax(logits));
    out.cached.logits.insert(out.cached.logits.end(), logits.begin(), logits.end());
  }
  const reference::ChooseExperts choose = follow(decoder.choices());
  out.ties = static_cast<std::int64_t>(decoder.choices().size());
  reference::ModelState state;
  out.prompt = reference::forward(model, prompt, state, choose);
  out.whole = reference::decode_greedily(model, prompt, steps, reference::Decoding::whole, choose);
  return out;
}

}  // namespace moediff
