// The router's three outputs: logits by bound, choice by legitimacy, weights given the choice.
#pragma once

#include <vector>

#include "harness/compare/diff.h"
#include "harness/compare/stage.h"
#include "harness/run/run.h"

namespace moediff {

/// Diffs of router_logits, topk_ids and topk_weights. The choice and the weights follow from the candidate's own
/// logits, so an error is reported where it arises and not again downstream.
std::vector<StageDiff> compare_router(const Program& program, const Run& run, int step, DiffMode mode,
                                      const StageInputs& inputs, const StageResult& logits);

/// Did every token choose distinct experts in range that rounding explains, and are the logits within their bounds?
bool routing_is_legitimate(const std::vector<StageDiff>& router_diffs);

}  // namespace moediff
