// The sizes and constants of a decoder, read from the configuration of its Hugging Face checkpoint.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/model/moe_shape.h"
#include "harness/replay/file.h"
#include "reference/rope.h"

namespace moediff {

/// deepseek_v3: latent attention, sigmoid routing in groups with a bias, shared experts. qwen3_moe: grouped-query
/// attention with normalised heads, softmax routing.
enum class DecoderFamily : std::uint8_t { deepseek_v3, qwen3_moe };

struct DecoderShape {
  DecoderFamily family = DecoderFamily::deepseek_v3;
  std::int64_t vocabulary = 0, layers = 0;             ///< 0 where the file need not have them
  std::int64_t hidden = 1, inter = 1;                  ///< inter: of dense blocks
  std::int64_t heads = 1, kv_heads = 1, head_dim = 1;  ///< head_dim: qwen3_moe
  std::int64_t q_rank = 0, kv_rank = 1, nope_dim = 1, rope_dim = 2, value_dim = 1;  ///< deepseek_v3
  MoeShape moe;
  double epsilon = 1e-6;
  reference::Rope rope;
  std::int64_t first_moe_layer = 0, sparse_step = 1;
  std::vector<std::int64_t> dense_layers;  ///< beside those before first_moe_layer

  bool has_moe(std::int64_t layer) const;
};

/// `whole_model`: with vocabulary and layers. Notes mistakes; the result is in range even then.
DecoderShape read_decoder_shape(ReplayFile& file, DecoderFamily family, bool whole_model);

/// A whole number in the metadata outside of the configuration.
std::int64_t metadata_integer(ReplayFile& file, const std::string& key, std::int64_t low, std::int64_t high,
                              std::int64_t otherwise);

/// Notes attention over more positions than can be replayed.
void limit_attention(ReplayFile& file, const DecoderShape& shape, std::int64_t sequences, std::int64_t positions);

}  // namespace moediff
