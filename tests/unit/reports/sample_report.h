// A report like one of a real run: the founding bug caught, a dropped wait, passes, a skipped case, relations.
#pragma once

#include <cstddef>

#include "harness/store/record.h"

namespace moediff {

/// vllm#28942: combine writes routed_out into hidden_states, and shared_gemm1 reads it afterwards. Caught as expected.
CaseRecord founding_bug();
/// Two streams without the wait that orders them; the scenario expected a pass.
CaseRecord dropped_wait();
/// Two streams, all waits in place.
CaseRecord two_streams_pass();
/// A combination that means nothing.
CaseRecord skipped_case();
/// A wrong result where the order is right; the scenario named another cause.
CaseRecord wrong_routing_case();
/// A known failure that passes.
CaseRecord surprising_pass();

/// All of the above and three relations, summarized.
Report sample_report();
/// `cases` cases of 256 tokens, a third of them failing, for size and speed.
Report large_report(std::size_t cases);

}  // namespace moediff
