// Safetensors: what is written can be read, and every kind of damage is an error that says what is wrong.
#include "harness/core/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "harness/core/error.h"

namespace moediff {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string temporary(const std::string& name) {
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  std::string test = std::string(info->test_suite_name()) + "." + info->name();
  std::replace(test.begin(), test.end(), '/', '_');
  return testing::TempDir() + "moediff." + test + "." + name;
}

/// A file made of a stated header length, a header and `data_bytes` zeros.
std::string write_raw(std::uint64_t length, const std::string& header, std::size_t data_bytes) {
  std::string path = temporary("raw.safetensors");
  std::ofstream file(path, std::ios::binary);
  for (int i = 0; i < 8; ++i) file.put(static_cast<char>(length >> (8 * i) & 0xff));
  file << header << std::string(data_bytes, '\0');
  return path;
}
std::string write_raw(const std::string& header, std::size_t data_bytes) {
  return write_raw(header.size(), header, data_bytes);
}

/// The text of the UserError that `action` throws.
template <typename Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}
std::string open_error(const std::string& path) {
  return error_of([&] { SafetensorsFile file(path); });
}

TEST(Safetensors, ReadsBackWhatWasWritten) {
  const std::string path = temporary("file");
  const std::vector<double> values{1, 2, 4, 8, 16, 64};  // of every dtype
  std::map<std::string, Tensor> tensors;
  for (const DTypeRow& row : kDTypes) {
    if (!row.safetensors.empty()) tensors[std::string(row.name)] = from_doubles(row.dtype, {2, 3}, values);
  }
  write_safetensors(path, tensors, {{"seed", "1"}});

  const SafetensorsFile file(path);
  EXPECT_THAT(file.metadata(), ElementsAre(testing::Pair("seed", "1")));
  EXPECT_EQ(file.tensors().size(), kDTypes.size() - 3) << "two fnuz formats and the field have no name in the format";
  for (const DTypeRow& row : kDTypes) {
    if (row.safetensors.empty()) continue;
    const Tensor tensor = file.read(std::string(row.name), {2, 3});
    EXPECT_EQ(tensor.dtype, row.dtype);
    EXPECT_EQ(to_doubles(tensor), values) << row.name;
  }
}

TEST(Safetensors, WritesScalarsAndEmptyTensors) {
  const std::string path = temporary("file");
  write_safetensors(
      path, {{"empty", Tensor(DType::f32, {0, 4})}, {"scalar", from_doubles(DType::f64, {}, std::vector<double>{7})}});
  const SafetensorsFile file(path);
  EXPECT_THAT(file.read("empty").shape, ElementsAre(0, 4));
  EXPECT_THAT(to_doubles(file.read("scalar")), ElementsAre(7));
}

TEST(Safetensors, AlignsTheDataToEightBytes) {
  const std::string path = temporary("file");
  write_safetensors(path, {{"a", Tensor(DType::u8, {3})}});
  EXPECT_EQ(std::filesystem::file_size(path) % 8, 3u);
}

TEST(Safetensors, ListsDtypesItCannotReadAndRefusesToReadThem) {
  const std::string path = write_raw(
      R"({"w":{"dtype":"BOOL","shape":[4],"data_offsets":[0,4]},"v":{"dtype":"NEW","shape":[2],"data_offsets":[4,5]}})",
      5);
  const SafetensorsFile file(path);
  EXPECT_EQ(file.tensors().at("w").dtype, "BOOL");
  EXPECT_THAT(error_of([&] { file.read("w"); }), AllOf(HasSubstr(path), HasSubstr("'w'"), HasSubstr("BOOL")));
  EXPECT_THAT(error_of([&] { file.read("v"); }), HasSubstr("NEW"));
}

TEST(Safetensors, SuggestsTheNearestNameForATensorThatIsAbsent) {
  const std::string path = temporary("file");
  write_safetensors(path, {{"mlp.gate.weight", Tensor(DType::f32, {1})}});
  const SafetensorsFile file(path);
  EXPECT_THAT(error_of([&] { file.read("mlp.gate.weights"); }), HasSubstr("did you mean 'mlp.gate.weight'?"));
  EXPECT_THAT(error_of([&] { file.read("x"); }), AllOf(HasSubstr("found 'x'"), HasSubstr("none of a similar name")));
}

TEST(Safetensors, ComparesTheShapeWithTheExpectedOne) {
  const std::string path = temporary("file");
  write_safetensors(path, {{"w", Tensor(DType::f32, {2, 3})}});
  const SafetensorsFile file(path);
  EXPECT_THAT(error_of([&] {
                file.read("w", {3, 2});
              }),
              AllOf(HasSubstr("'w'"), HasSubstr("found '[2, 3]'"), HasSubstr("[3, 2]")));
}

TEST(Safetensors, SaysWhenAFileIsMissingOrNoFile) {
  EXPECT_THAT(open_error("no/such/file"),
              AllOf(HasSubstr("no/such/file"), HasSubstr("No such file"), HasSubstr("check the path")));
  EXPECT_THAT(open_error("."), HasSubstr("regular file"));
}

TEST(Safetensors, SaysWhenAFileCannotBeWritten) {
  EXPECT_THAT(error_of([] { write_safetensors("no/such/folder/x", {}); }), HasSubstr("writable"));
  EXPECT_THAT(error_of([] {
                write_safetensors("/dev/full", {{"w", Tensor(DType::f64, {100000})}});
              }),
              HasSubstr("writable"));
}

TEST(SafetensorsHeaderLength, MustFitTheFile) {
  EXPECT_THAT(open_error(write_raw(100, "{}", 0)), HasSubstr("header length 100"));
  EXPECT_THAT(open_error(write_raw(~std::uint64_t{0}, "{}", 0)), HasSubstr("header length 18446744073709551615"));
  EXPECT_THAT(open_error(write_raw(~std::uint64_t{7}, "{}", 0)),
              HasSubstr("must fit the file of 10 bytes"));  // 8 + length wraps to 0
}

TEST(SafetensorsHeaderLength, NeedsEightBytes) {
  const std::string path = temporary("short");
  std::ofstream(path) << "abc";
  EXPECT_THAT(open_error(path), HasSubstr("found '3 bytes'"));
}

struct Damage {
  const char* name;
  const char* header;
  const char* message;  ///< part of the error; the data section has 8 bytes
};
void PrintTo(const Damage& damage, std::ostream* out) { *out << damage.name; }
class SafetensorsHeader : public testing::TestWithParam<Damage> {};

TEST_P(SafetensorsHeader, IsNotTrusted) {
  const std::string path = write_raw(GetParam().header, 8);
  EXPECT_THAT(open_error(path), AllOf(HasSubstr(path + ": error: "), HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    Damages, SafetensorsHeader,
    testing::Values(
        Damage{"no_json", "{\"a\":", "valid JSON"}, Damage{"no_object", "[1]", "must be a JSON object"},
        Damage{"empty", "", "valid JSON"}, Damage{"not_utf8", "{\"\xff\":1}", "valid JSON"},
        Damage{"deep", R"({"a":{"shape":[[1]]}})", "deeper than 3"},
        Damage{
            "twice",
            R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
            "only once"},
        Damage{"key_twice", R"({"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})", "only once"},
        Damage{"number", R"({"a":3})", "dtype must be a string"},
        Damage{"no_shape", R"({"a":{"dtype":"U8","data_offsets":[0,1]}})", "tensor 'a': shape must be a list"},
        Damage{"negative", R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", "found '[-1]'"},
        Damage{"fraction", R"({"a":{"dtype":"U8","shape":[1.5],"data_offsets":[0,1]}})", "shape must be"},
        Damage{"huge_number", R"({"a":{"dtype":"U8","shape":[99999999999999999999],"data_offsets":[0,1]}})",
               "shape must be"},
        Damage{"three_offsets", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}})", "two byte offsets"},
        Damage{"backwards", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[2,1]}})", "backwards"},
        Damage{"outside", R"({"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}})", "data section of 8 bytes"},
        Damage{"far_outside",
               R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[4611686018427387900,4611686018427387901]}})",
               "data section"},
        Damage{"too_small", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})",
               "F32 of shape [2] must have 8 bytes"},
        Damage{"f16_too_large", R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[0,8]}})", "must have 4 bytes"},
        Damage{"overflow", R"({"a":{"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,0]}})",
               "fit 64 bits"},
        Damage{
            "overlap",
            R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[2],"data_offsets":[3,5]}})",
            "tensor 'b': its bytes must not overlap those of tensor 'a'"},
        Damage{"metadata", R"({"__metadata__":{"a":1}})", "must be a string"},
        Damage{"metadata_list", R"({"__metadata__":["a"]})", "object of strings"}),
    [](const auto& damage) { return std::string(damage.param.name); });

TEST(SafetensorsHeaderErrors, AreReportedTogether) {
  const std::string text = open_error(write_raw(
      R"({"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,8]},"c":1})",
      8));
  EXPECT_THAT(text, AllOf(HasSubstr("tensor 'a'"), HasSubstr("tensor 'b'"), HasSubstr("tensor 'c'")));
}

TEST(SafetensorsHeaderErrors, StayShortForAHostileFile) {
  std::string header = "{";
  for (int i = 0; i < 1000; ++i)
    header += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":\"" + std::string(1000, 'x') + "\"";
  EXPECT_LT(open_error(write_raw(header + "}", 0)).size(), 8000u);
}

TEST(SafetensorsHeaderLimits, AllowHolesEmptyTensorsAndEmptyFiles) {
  const std::string header =
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},"e":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}})";
  EXPECT_EQ(SafetensorsFile(write_raw(header, 8)).tensors().size(), 2u);
  EXPECT_TRUE(SafetensorsFile(write_raw("{}", 0)).tensors().empty());
}

}  // namespace
}  // namespace moediff
