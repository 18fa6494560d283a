// Quantisation of activations: codes and scales of a matrix, from its elements or from the gated activation of them.
#pragma once

#include "kernels/activation/gated.h"

namespace moediff::kernels {

/// Elements that share a scale.
enum class ScaleScope { group, row, tensor };

/// out of md_params: how a scale follows from the largest magnitude, and a code from an element.
struct QuantizePolicy {
  int scale_kind;  ///< MD_SCALES_FP32...
  int scale_from;  ///< MD_SCALE_FROM_DIVISION...
  int scale_by;    ///< MD_SCALE_BY_DIVISION...
  int half_to;     ///< MD_HALF_TO_EVEN...: int8 codes only
  float fmax, amax_floor;
};

/// Codes [rows, columns] and scales, [rows, ceil(columns / group)] (group), [rows, 1] (row) or one (tensor), of an
/// input [rows, columns] or, gated, [rows, 2 columns]: gate, then up. Arithmetic as kernels/abi/moediff_abi.h says.
/// Types are md_dtype: input f32, bf16, f16 or field; codes an 8-bit type, or field; scales f32 or field. Strides are
/// in elements.
struct Quantize {
  const void* in = nullptr;
  std::int32_t in_dtype = MD_F32;
  std::int64_t in_stride = 0;
  bool gated = false;
  Gating gating{};

  void* codes = nullptr;
  std::int32_t code_dtype = MD_F8_E4M3FN;
  std::int64_t rows = 0, columns = 0, code_stride = 0;

  void* scales = nullptr;
  std::int64_t scale_stride = 0;
  ScaleScope scope = ScaleScope::row;
  std::int64_t group = 0;  ///< scope group only
  QuantizePolicy policy{};
};

hipError_t launch_quantize(const Quantize& job, hipStream_t stream);

}  // namespace moediff::kernels
