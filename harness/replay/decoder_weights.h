// The weights of decoders under the names of Hugging Face checkpoints, as the reference's structures. What differs
// between oracles (policies) is set afterwards.
#pragma once

#include <string>

#include "harness/replay/decoder_shape.h"
#include "harness/replay/policy.h"
#include "reference/decoder.h"

namespace moediff {

/// The layer with number `index`, of tensors that begin with `prefix` ("model.layers.3.", or nothing).
reference::DecoderLayer load_layer(ReplayFile& file, const DecoderShape& shape, const std::string& prefix,
                                   std::int64_t index);
reference::LanguageModel load_model(ReplayFile& file, const DecoderShape& shape);
/// The MTP layer comes after the last layer of the main model; embedding and head are shared with it.
reference::MtpModule load_mtp(ReplayFile& file, const DecoderShape& shape);

/// What these families' routers do, before an oracle's own policies.
RouterPolicy family_policy(DecoderFamily family);
/// Lets a layer compute as an oracle does.
void adopt(reference::DecoderLayer& layer, const OraclePolicy& policy);

}  // namespace moediff
