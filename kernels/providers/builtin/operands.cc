// One table row an operand: its dtype and the letters of its dimensions. A letter takes the value of its first
// appearance; later ones must agree.
#include "kernels/providers/builtin/operands.h"

#include <cstring>

namespace moediff::kernels {
namespace {

enum class Type { model, f32, i32 };

struct OperandRule {
  const char* name;
  Type type;
  const char*
      dims;  // T tokens, H hidden, E experts, W top-k columns, R rows, I inter, N = 2I, O = E+1, K top_k, P split_k
  bool optional = false;
};

struct OpRule {
  const char* name;
  int count;
  OperandRule operands[6];
};

constexpr OpRule kRules[MD_OP_COUNT] = {
    {"router",
     6,
     {{"hidden_states", Type::model, "TH"},
      {"gate_weight", Type::model, "EH"},
      {"gate_bias", Type::f32, "E"},
      {"router_logits", Type::f32, "TE"},
      {"topk_ids", Type::i32, "TK"},
      {"topk_weights", Type::f32, "TK"}}},
    {"dispatch",
     4,
     {{"topk_ids", Type::i32, "TW"},
      {"expert_offsets", Type::i32, "O"},
      {"sorted_slots", Type::i32, "R"},
      {"slot_rows", Type::i32, "R"}}},
    {"gemm1",
     6,
     {{"hidden_states", Type::model, "TH"},
      {"sorted_slots", Type::i32, "R"},
      {"expert_offsets", Type::i32, "O"},
      {"w13", Type::model, "ENH"},
      {"gemm1_out", Type::model, "RN"},
      {"workspace", Type::f32, "PRN", true}}},
    {"activation", 2, {{"gemm1_out", Type::model, "RN"}, {"act_out", Type::model, "RI"}}},
    {"gemm2",
     4,
     {{"act_out", Type::model, "RI"},
      {"expert_offsets", Type::i32, "O"},
      {"w2", Type::model, "EHI"},
      {"gemm2_out", Type::model, "RH"}}},
    {"combine",
     4,
     {{"gemm2_out", Type::model, "RH"},
      {"slot_rows", Type::i32, "R"},
      {"topk_weights", Type::f32, "TW"},
      {"routed_out", Type::model, "TH"}}},
    {"shared_gemm1",
     4,
     {{"hidden_states", Type::model, "TH"},
      {"shared_w13", Type::model, "NH"},
      {"shared_gemm1_out", Type::model, "TN"},
      {"workspace", Type::f32, "PTN", true}}},
    {"shared_activation", 2, {{"shared_gemm1_out", Type::model, "TN"}, {"shared_act_out", Type::model, "TI"}}},
    {"shared_gemm2",
     3,
     {{"shared_act_out", Type::model, "TI"}, {"shared_w2", Type::model, "HI"}, {"shared_out", Type::model, "TH"}}},
    {"scale_add",
     3,
     {{"routed_out", Type::model, "TH"}, {"shared_out", Type::model, "TH", true}, {"moe_out", Type::model, "TH"}}},
    {"residual_add",
     3,
     {{"moe_out", Type::model, "TH"}, {"hidden_states", Type::model, "TH"}, {"layer_out", Type::model, "TH"}}},
};

constexpr const char* kDtypeNames[] = {"f32", "bf16", "f64", "i32", "u8"};

std::string dtype_name(int dtype) {
  return dtype >= MD_F32 && dtype <= MD_U8 ? kDtypeNames[dtype] : "dtype " + std::to_string(dtype);
}

/// Values of the letters so far; kUnknown before the first appearance.
class Dimensions {
 public:
  explicit Dimensions(const md_params& params) {
    for (std::int64_t& value : value_) value = kUnknown;
    value_['K'] = params.top_k;
    value_['P'] = params.split_k;
  }

  std::int64_t expected(char letter) const {
    if (letter == 'O') return value_['E'] == kUnknown ? kUnknown : value_['E'] + 1;
    if (letter == 'N') return value_['I'] == kUnknown ? kUnknown : 2 * value_['I'];
    if (letter == 'R' && value_['W'] != kUnknown && value_['T'] != kUnknown) return value_['T'] * value_['W'];
    return value_[static_cast<unsigned char>(letter)];
  }

  /// False when the value contradicts an earlier one, or can be none of this letter.
  bool learn(char letter, std::int64_t value) {
    const std::int64_t wanted = expected(letter);
    if (value < 0 || (wanted != kUnknown && value != wanted)) return false;
    if (letter == 'O') return value >= 1 && learn('E', value - 1);
    if (letter == 'N') return value % 2 == 0 && learn('I', value / 2);
    value_[static_cast<unsigned char>(letter)] = value;
    const std::int64_t rows = value_['R'];
    return rows == kUnknown || expected('R') == rows;
  }

 private:
  static constexpr std::int64_t kUnknown = -1;
  std::int64_t value_[128];

 public:
  /// "T=3", "2I=64", or "R" while unknown.
  std::string describe(char letter) const {
    const std::string name = letter == 'N' ? "2I" : letter == 'O' ? "E+1" : std::string(1, letter);
    return expected(letter) == kUnknown ? name : name + "=" + std::to_string(expected(letter));
  }
};

std::string expected_shape(const OperandRule& rule, const Dimensions& dimensions) {
  std::string text;
  for (const char* letter = rule.dims; *letter != 0; ++letter) {
    text += (text.empty() ? "[" : ", ") + dimensions.describe(*letter);
  }
  return text + "]";
}

std::string list(const std::int64_t* values, int count) {
  std::string text = "[";
  for (int i = 0; i < count && i < MD_MAX_RANK; ++i) text += (i == 0 ? "" : ", ") + std::to_string(values[i]);
  return text + "]";
}

std::string complaint(const OpRule& op, const OperandRule& rule, const std::string& expected,
                      const std::string& found) {
  return std::string(op.name) + ": operand " + rule.name + ": expected " + expected + ", found " + found;
}

std::int64_t elements(const md_tensor& tensor) {
  std::int64_t count = 1;
  for (int i = 0; i < tensor.rank; ++i) count *= tensor.shape[i];
  return count;
}

/// model_dtype is -1 until the first model operand decides it.
std::string check_dtype(const OpRule& op, const OperandRule& rule, const md_tensor& tensor, int* model_dtype) {
  if (rule.type == Type::model) {
    const bool known = tensor.dtype == MD_F32 || tensor.dtype == MD_BF16;
    if (*model_dtype < 0 && known) *model_dtype = tensor.dtype;
    if (known && tensor.dtype == *model_dtype) return {};
    const std::string expected =
        *model_dtype < 0 ? "f32 or bf16" : dtype_name(*model_dtype) + " as the operands before it";
    return complaint(op, rule, expected, dtype_name(tensor.dtype));
  }
  const int wanted = rule.type == Type::f32 ? MD_F32 : MD_I32;
  return tensor.dtype == wanted ? "" : complaint(op, rule, dtype_name(wanted), dtype_name(tensor.dtype));
}

std::string check_shape(const OpRule& op, const OperandRule& rule, const md_tensor& tensor, Dimensions* dimensions) {
  const int rank = static_cast<int>(std::strlen(rule.dims));
  const std::string expected = expected_shape(rule, *dimensions);
  if (tensor.rank != rank) return complaint(op, rule, expected, "rank " + std::to_string(tensor.rank));
  for (int i = 0; i < rank; ++i) {
    if (!dimensions->learn(rule.dims[i], tensor.shape[i]))
      return complaint(op, rule, expected, list(tensor.shape, rank));
  }
  return {};
}

/// Columns are adjacent, and rows do not overlap; ids and bias are vectors, so contiguous. Nothing is asked of a
/// dimension of one element or of an empty operand.
std::string check_strides(const OpRule& op, const OperandRule& rule, const md_tensor& tensor) {
  if (elements(tensor) == 0) return {};
  std::int64_t least = 1;
  for (int i = tensor.rank - 1; i >= 0; --i) {
    if (tensor.shape[i] == 1) continue;
    const bool innermost = i == tensor.rank - 1;
    if (innermost ? tensor.stride[i] != 1 : tensor.stride[i] < least) {
      return complaint(op, rule,
                       innermost ? "columns with stride 1" : "row strides of at least " + std::to_string(least),
                       "strides " + list(tensor.stride, tensor.rank));
    }
    least = tensor.stride[i] * tensor.shape[i];
    if (!innermost) least = tensor.stride[i] * (tensor.shape[i] - 1) + least / tensor.shape[i];
  }
  return {};
}

std::string check_operand(const OpRule& op, const OperandRule& rule, const md_tensor& tensor, Dimensions* dimensions,
                          int* model_dtype) {
  for (const std::string& text : {check_dtype(op, rule, tensor, model_dtype), check_shape(op, rule, tensor, dimensions),
                                  check_strides(op, rule, tensor)}) {
    if (!text.empty()) return text;
  }
  return tensor.data == nullptr && elements(tensor) > 0 ? complaint(op, rule, "device memory", "a null pointer") : "";
}

std::string check_params(const OpRule& op, const md_call& call) {
  const md_params& p = call.params;
  const std::string name = op.name;
  if (call.op == MD_OP_ROUTER) {
    const std::int64_t experts = call.tensors[MD_ROUTER_WEIGHT].shape[0];
    if (p.n_group < 1 || experts % p.n_group != 0) {
      return name + ": n_group: expected a divisor of the " + std::to_string(experts) + " experts, found " +
             std::to_string(p.n_group);
    }
    if (p.topk_group < 1 || p.topk_group > p.n_group) {
      return name + ": topk_group: expected 1 to n_group=" + std::to_string(p.n_group) + ", found " +
             std::to_string(p.topk_group);
    }
    const std::int64_t eligible = experts / p.n_group * p.topk_group;
    if (p.top_k < 1 || p.top_k > eligible) {
      return name + ": top_k: expected 1 to " + std::to_string(eligible) + " (experts in topk_group groups), found " +
             std::to_string(p.top_k);
    }
  }
  if (call.op == MD_OP_GEMM1) {
    const std::int64_t tokens = call.tensors[MD_GEMM1_HIDDEN].shape[0], rows = call.tensors[MD_GEMM1_SLOTS].shape[0];
    if (tokens == 0 ? rows != 0 : rows % tokens != 0) {
      return name + ": operand sorted_slots: expected a multiple of T=" + std::to_string(tokens) + ", found [" +
             std::to_string(rows) + "]";
    }
  }
  return {};
}

/// Split-K needs somewhere to put its partial sums.
std::string check_workspace(const OpRule& op, const md_call& call) {
  const OperandRule& last = op.operands[op.count - 1];
  if (std::strcmp(last.name, "workspace") != 0) return {};
  if (call.params.split_k < 1)
    return std::string(op.name) + ": split_k: expected at least 1, found " + std::to_string(call.params.split_k);
  const int out = op.count - 2;
  const bool absent = call.tensor_count < op.count || call.tensors[op.count - 1].data == nullptr;
  const bool needed = call.params.split_k > 1 && elements(call.tensors[out]) > 0;
  return absent && needed
             ? complaint(op, last, "f32 scratch, as split_k is " + std::to_string(call.params.split_k), "none")
             : "";
}

}  // namespace

const char* op_name(int op) { return op >= 0 && op < MD_OP_COUNT ? kRules[op].name : nullptr; }

std::string check_operands(const md_call& call, int* model_dtype) {
  const OpRule& op = kRules[call.op];
  *model_dtype = -1;
  int required = op.count;
  while (op.operands[required - 1].optional) --required;
  if (call.tensor_count < required || call.tensor_count > op.count) {
    return std::string(op.name) + ": expected " + std::to_string(required) + " to " + std::to_string(op.count) +
           " operands, found " + std::to_string(call.tensor_count);
  }
  Dimensions dimensions(call.params);
  for (int i = 0; i < call.tensor_count; ++i) {
    // A workspace that split_k == 1 makes superfluous is not looked at.
    const bool unused = op.operands[i].optional && (call.tensors[i].data == nullptr ||
                                                    (op.operands[i].dims[0] == 'P' && call.params.split_k == 1));
    if (unused) continue;
    const std::string text = check_operand(op, op.operands[i], call.tensors[i], &dimensions, model_dtype);
    if (!text.empty()) return text;
  }
  if (*model_dtype < 0) *model_dtype = MD_F32;
  const std::string text = check_params(op, call);
  return text.empty() ? check_workspace(op, call) : text;
}

}  // namespace moediff::kernels
