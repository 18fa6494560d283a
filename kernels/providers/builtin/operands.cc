// A call's operands against the rows of operand_rules.h. A letter takes the value of its first appearance; later ones
// must agree. What codes and scales look like follows from the scheme.
#include "kernels/providers/builtin/operands.h"

#include "kernels/hip/hip_check.h"
#include "kernels/providers/builtin/dimensions.h"
#include "kernels/providers/builtin/operand_rules.h"
#include "kernels/providers/builtin/param_rules.h"

namespace moediff::kernels {
namespace {

constexpr const char* kDtypeNames[] = {"f32",       "bf16",        "f64",     "i32",         "u8",      "f16",   "i8",
                                       "f8_e4m3fn", "f8_e4m3fnuz", "f8_e5m2", "f8_e5m2fnuz", "f8_e8m0", "field", "i64"};
constexpr int kDtypes = sizeof(kDtypeNames) / sizeof(kDtypeNames[0]);

using Bits = std::uint32_t;
constexpr Bits bit(int dtype) { return Bits{1} << dtype; }
constexpr Bits kModel = bit(MD_F32) | bit(MD_BF16) | bit(MD_F16);
constexpr Bits kFp8Codes = bit(MD_F8_E4M3FN) | bit(MD_F8_E4M3FNUZ);
constexpr Bits kFloats = kModel | kFp8Codes | bit(MD_F64) | bit(MD_F8_E5M2) | bit(MD_F8_E5M2FNUZ) | bit(MD_F8_E8M0);

std::string list(const std::int64_t* values, int count) {
  std::string text = "[";
  for (int i = 0; i < count && i < MD_MAX_RANK; ++i) text += (i == 0 ? "" : ", ") + std::to_string(values[i]);
  return text + "]";
}

/// "f32 or bf16".
std::string dtype_names(Bits dtypes) {
  std::string text;
  for (int dtype = 0; dtype < kDtypes; ++dtype) {
    if ((dtypes & bit(dtype)) != 0) text += (text.empty() ? "" : " or ") + std::string(kDtypeNames[dtype]);
  }
  return text;
}

std::int64_t elements(const md_tensor& tensor) {
  std::int64_t count = 1;
  for (int i = 0; i < tensor.rank; ++i) count *= tensor.shape[i];
  return count;
}

class Check {
 public:
  /// The scheme is a valid one.
  Check(const md_call& call, bool algebra)
      : call_(call),
        op_(kOpRules[call.op]),
        scheme_(kSchemes[call.params.scheme]),
        dimensions_(call.params, call.params.scheme == MD_SCHEME_MXFP4 ? kMxGroup : call.params.group),
        algebra_(algebra) {}

  std::string run() {
    if (std::string text = check_count(); !text.empty()) return text;
    for (int i = 0; i < op_.count; ++i) {
      if (std::string text = check(i); !text.empty()) return text;
    }
    return check_sizes(call_);
  }

  int model_dtype() const { return algebra_ ? MD_FIELD : model_dtype_ < 0 ? MD_F32 : model_dtype_; }

 private:
  bool absent(int i) const { return i >= call_.tensor_count || call_.tensors[i].data == nullptr; }

  std::string complaint(const OperandRule& rule, const std::string& expected, const std::string& found) const {
    return std::string(op_.name) + ": operand " + rule.name + ": expected " + expected + ", found " + found;
  }

  std::string check_count() const {
    int required = op_.count;
    while (op_.operands[required - 1].presence != Presence::required) --required;
    if (call_.tensor_count >= required && call_.tensor_count <= op_.count) return {};
    const std::string expected = required == op_.count ? std::to_string(required)
                                                       : std::to_string(required) + " to " + std::to_string(op_.count);
    return std::string(op_.name) + ": expected " + expected + " operands, found " + std::to_string(call_.tensor_count);
  }

  enum class Need { required, optional, ignored, refused };
  Need need(int i) const {
    switch (op_.operands[i].presence) {
      case Presence::required:
        return Need::required;
      case Presence::optional:
        return Need::optional;
      case Presence::with_activation_codes:
        return scheme_.activations != ActivationScales::none ? Need::required : Need::refused;
      case Presence::with_weight_codes:
        return scheme_.code != Code::none ? Need::required : Need::refused;
      case Presence::with_split_k:
        return call_.params.split_k > 1 ? Need::required : Need::ignored;
      case Presence::with_weights:
        break;
    }
    return absent(i + 1) ? Need::ignored : Need::required;
  }

  std::string why(Presence presence) const {
    if (presence == Presence::with_split_k) return ", as split_k is " + std::to_string(call_.params.split_k);
    if (presence == Presence::with_weights) return ", as there are weights by slot";
    const bool by_scheme = presence == Presence::with_activation_codes || presence == Presence::with_weight_codes;
    return by_scheme ? std::string(", as the scheme is ") + scheme_.name : "";
  }

  std::string check(int i) {
    const OperandRule& rule = op_.operands[i];
    const Need wanted = need(i);
    if (wanted == Need::ignored || (wanted != Need::required && absent(i))) return {};
    if (wanted == Need::refused) return complaint(rule, "none" + why(rule.presence), "one");
    const md_tensor missing{}, &tensor = i < call_.tensor_count ? call_.tensors[i] : missing;
    // An empty operand needs no memory; one of rank 0 is none.
    if (tensor.data == nullptr && elements(tensor) > 0) {
      return complaint(rule, "device memory of " + expected_shape(rule, tensor) + why(rule.presence),
                       rule.presence == Presence::required ? "a null pointer" : "none");
    }
    std::string text = check_dtype(rule, tensor);
    if (text.empty()) text = check_shape(rule, tensor);
    return text.empty() ? check_strides(rule, tensor) : text;
  }

  Bits codes() const {
    if (scheme_.code == Code::nibbles) return bit(MD_U8);
    const Bits any = scheme_.code == Code::i8 ? bit(MD_I8) : kFp8Codes;
    return code_dtype_ < 0 ? any : any & bit(code_dtype_);
  }

  Bits dtypes(Holds holds) const {
    if (algebra_) return holds == Holds::i32 ? bit(MD_I32) : bit(MD_FIELD);
    const Bits model = model_dtype_ < 0 ? kModel : bit(model_dtype_);
    switch (holds) {
      case Holds::model:
        return model;
      case Holds::i32:
        return bit(MD_I32);
      case Holds::logits:
        return bit(MD_F32) | model;
      case Holds::activations:
        return scheme_.activations == ActivationScales::none ? model : codes();
      case Holds::activation_codes:
        return codes();
      case Holds::weights:
        return scheme_.code == Code::none ? model : codes();
      case Holds::weight_scales:
        return scheme_.weight_scale_dtype < 0 ? model : bit(scheme_.weight_scale_dtype);
      case Holds::any_float:
        return kFloats;
      case Holds::f32:
      case Holds::activation_scales:
        break;
    }
    return bit(MD_F32);
  }

  /// The first operand in the model dtype decides it for the others, and the first of codes likewise.
  std::string check_dtype(const OperandRule& rule, const md_tensor& tensor) {
    const bool known = tensor.dtype >= 0 && tensor.dtype < kDtypes;
    const Bits allowed = dtypes(rule.holds);
    if (!known || (allowed & bit(tensor.dtype)) == 0) {
      const std::string found = known ? kDtypeNames[tensor.dtype] : "dtype " + std::to_string(tensor.dtype);
      const bool decided = rule.holds == Holds::model && !algebra_ && model_dtype_ >= 0;
      return complaint(rule, dtype_names(allowed) + (decided ? " as the operands before it" : ""), found);
    }
    if (algebra_) return {};
    const bool model = rule.holds == Holds::model ||
                       (rule.holds == Holds::activations && scheme_.activations == ActivationScales::none) ||
                       (rule.holds == Holds::weights && scheme_.code == Code::none);
    if (model) model_dtype_ = tensor.dtype;
    const bool coded = rule.holds == Holds::activations || rule.holds == Holds::weights;
    if (!model && (coded || rule.holds == Holds::activation_codes)) code_dtype_ = tensor.dtype;
    return {};
  }

  struct Dims {
    int rank = 0;
    Dim dim[MD_MAX_RANK];
  };

  /// As the rule spells them; the last two cut where they are scales or packed codes.
  Dims dims(const OperandRule& rule, const md_tensor& tensor) const {
    Dims out;
    for (const char* letter = rule.dims; *letter != 0; ++letter) out.dim[out.rank++].letter = *letter;
    if (out.rank < 2) return out;
    Dim &n = out.dim[out.rank - 2], &k = out.dim[out.rank - 1];
    const Dim one;
    if (rule.holds == Holds::weights && tensor.dtype == MD_U8) k.cut = Dim::Cut::pairs;
    if (rule.holds == Holds::activation_scales) {
      const bool grouped = scheme_.activations == ActivationScales::group;
      k = grouped ? Dim{k.letter, Dim::Cut::groups} : one;
      if (scheme_.activations == ActivationScales::tensor) n = one;
    }
    if (rule.holds == Holds::weight_scales) {
      const bool grouped = scheme_.weights == WeightScales::block || scheme_.weights == WeightScales::group;
      k = grouped ? Dim{k.letter, Dim::Cut::groups} : one;
      if (scheme_.weights == WeightScales::tensor) n = one;
      if (scheme_.weights == WeightScales::block)
        n.cut = call_.params.halves != 0 ? Dim::Cut::halves : Dim::Cut::groups;
    }
    return out;
  }

  std::string expected_shape(const OperandRule& rule, const md_tensor& tensor) const {
    const Dims expected = dims(rule, tensor);
    std::string text;
    for (int i = 0; i < expected.rank; ++i) text += (i == 0 ? "[" : ", ") + dimensions_.describe(expected.dim[i]);
    return text + "]";
  }

  std::string check_shape(const OperandRule& rule, const md_tensor& tensor) {
    const Dims wanted = dims(rule, tensor);
    const std::string expected = expected_shape(rule, tensor) + why(rule.presence);
    if (tensor.rank != wanted.rank) return complaint(rule, expected, "rank " + std::to_string(tensor.rank));
    for (int i = 0; i < wanted.rank; ++i) {
      if (!dimensions_.learn(wanted.dim[i], tensor.shape[i])) {
        return complaint(rule, expected, list(tensor.shape, tensor.rank));
      }
    }
    return {};
  }

  /// Columns are adjacent, and rows do not overlap; ids and bias are vectors, so contiguous. Nothing is asked of a
  /// dimension of one element or of an empty operand.
  std::string check_strides(const OperandRule& rule, const md_tensor& tensor) const {
    if (elements(tensor) == 0) return {};
    std::int64_t least = 1;
    for (int i = tensor.rank - 1; i >= 0; --i) {
      if (tensor.shape[i] == 1) continue;
      const bool innermost = i == tensor.rank - 1;
      if (innermost ? tensor.stride[i] != 1 : tensor.stride[i] < least) {
        return complaint(rule, innermost ? "columns with stride 1" : "row strides of at least " + std::to_string(least),
                         "strides " + list(tensor.stride, tensor.rank));
      }
      least = tensor.stride[i] * tensor.shape[i];
      if (!innermost) least = tensor.stride[i] * (tensor.shape[i] - 1) + least / tensor.shape[i];
    }
    return {};
  }

  const md_call& call_;
  const OpRule& op_;
  const SchemeRule& scheme_;
  Dimensions dimensions_;
  const bool algebra_;
  int model_dtype_ = -1, code_dtype_ = -1;
};

/// MD_OP_CONVERT has f32 on one side.
std::string check_conversion(const md_call& call) {
  if (call.op != MD_OP_CONVERT) return {};
  const bool one_f32 = call.tensors[MD_CONVERT_FROM].dtype == MD_F32 || call.tensors[MD_CONVERT_TO].dtype == MD_F32;
  return one_f32 ? "" : "convert: expected f32 on one side, found none";
}

}  // namespace

const char* op_name(int op) { return op >= 0 && op < MD_OP_COUNT ? kOpRules[op].name : nullptr; }

const char* dtype_name(int dtype) { return dtype >= 0 && dtype < kDtypes ? kDtypeNames[dtype] : "unknown dtype"; }

std::string check_operands(const md_call& call, int* model_dtype) {
  bool algebra = false;
  for (int i = 0; i < call.tensor_count; ++i) algebra |= call.tensors[i].dtype == MD_FIELD;
  if (std::string text = check_params(call, algebra); !text.empty()) return text;
  Check check(call, algebra);
  if (std::string text = check.run(); !text.empty()) return text;
  *model_dtype = check.model_dtype();
  return check_conversion(call);
}

}  // namespace moediff::kernels
