// Learning sizes: derived letters (N, O, R) are kept in terms of those that they are made of.
#include "kernels/providers/builtin/dimensions.h"

#include "kernels/hip/platform.h"

namespace moediff::kernels {

Dimensions::Dimensions(const md_params& params, std::int64_t group) : group_(group < 1 ? 1 : group) {
  for (std::int64_t& value : value_) value = kUnknown;
  value_['K'] = params.top_k;
  value_['P'] = params.split_k;
  value_['1'] = 1;
}

std::int64_t Dimensions::whole(char letter) const {
  if (letter == 'O') return value_['E'] == kUnknown ? kUnknown : value_['E'] + 1;
  if (letter == 'N') return value_['I'] == kUnknown ? kUnknown : 2 * value_['I'];
  if (letter == 'R' && value_['W'] != kUnknown && value_['T'] != kUnknown) return value_['T'] * value_['W'];
  return value_[static_cast<unsigned char>(letter)];
}

std::int64_t Dimensions::expected(Dim dim) const {
  const std::int64_t n = whole(dim.letter);
  if (n == kUnknown) return n;
  switch (dim.cut) {
    case Dim::Cut::whole:
      return n;
    case Dim::Cut::pairs:
      return ceil_divide(n, 2);
    case Dim::Cut::groups:
      return ceil_divide(n, group_);
    case Dim::Cut::halves:
      break;
  }
  return 2 * ceil_divide(n / 2, group_);
}

bool Dimensions::learn_whole(char letter, std::int64_t value) {
  const std::int64_t wanted = whole(letter);
  if (value < 0 || (wanted != kUnknown && value != wanted)) return false;
  if (letter == 'O') return value >= 1 && learn_whole('E', value - 1);
  if (letter == 'N') return value % 2 == 0 && learn_whole('I', value / 2);
  value_[static_cast<unsigned char>(letter)] = value;
  const std::int64_t rows = value_['R'];
  return rows == kUnknown || whole('R') == rows;
}

bool Dimensions::learn(Dim dim, std::int64_t value) {
  return dim.cut == Dim::Cut::whole ? learn_whole(dim.letter, value) : value == expected(dim);
}

std::string Dimensions::describe(Dim dim) const {
  if (dim.letter == '1') return "1";
  std::string name = dim.letter == 'N' ? "2I" : dim.letter == 'O' ? "E+1" : std::string(1, dim.letter);
  const std::string group = std::to_string(group_);
  switch (dim.cut) {
    case Dim::Cut::whole:
      break;
    case Dim::Cut::pairs:
      name = "ceil(" + name + "/2)";
      break;
    case Dim::Cut::groups:
      name = "ceil(" + name + "/" + group + ")";
      break;
    case Dim::Cut::halves:
      name = "2*ceil(" + (dim.letter == 'N' ? "I" : name + "/2") + "/" + group + ")";
      break;
  }
  return expected(dim) == kUnknown ? name : name + "=" + std::to_string(expected(dim));
}

}  // namespace moediff::kernels
