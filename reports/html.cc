// The page's data: the JSON report, packed so that hundreds of cases stay small. Packing: rows of the same shape become
// a list of column names and lists of values, equal pictures are stored once, numbers keep four digits.
#include "reports/html.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/check.h"
#include "reports/json.h"

namespace moediff {

extern const std::string_view kPageText;  // built from reports/html

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kDataMark = "{{report}}";
constexpr std::size_t kHeatCells = 64;  // tokens are pooled to at most so many cells by their maximum

double shortened(double value) { return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr); }

void shorten_numbers(Json& json) {
  if (json.is_number_float()) {
    json = shortened(json.get<double>());
  } else if (json.is_structured()) {
    for (Json& part : json) shorten_numbers(part);
  }
}

/// Objects with the same keys as {"columns": […], "rows": [[…], …]}.
Json packed_rows(const Json& objects) {
  Json columns = Json::array(), rows = Json::array();
  for (const Json& object : objects) {
    if (columns.empty()) {
      for (const auto& [key, value] : object.items()) columns.push_back(key);
    }
    Json row = Json::array();
    for (const auto& [key, value] : object.items()) row.push_back(value);
    rows.push_back(std::move(row));
  }
  return {{"columns", std::move(columns)}, {"rows", std::move(rows)}};
}

/// The largest; infinity when one of them is not a number.
double largest(std::span<const double> errors) {
  double worst = 0;
  for (const double error : errors) worst = std::isnan(error) ? HUGE_VAL : std::max(worst, error);
  return worst;
}

/// Error of each token, or of each run of tokens, for the heat strip (null: not finite); null where nothing differs.
Json heat_cells(std::span<const double> error) {
  if (largest(error) == 0) return nullptr;
  const std::size_t pooled = (error.size() + kHeatCells - 1) / kHeatCells;
  Json cells = Json::array();
  for (std::size_t begin = 0; begin < error.size(); begin += pooled) {
    const double worst = largest(error.subspan(begin, std::min(pooled, error.size() - begin)));
    cells.push_back(std::isfinite(worst) ? Json(std::strtod(fmt::format("{:.2g}", worst).c_str(), nullptr))
                                         : Json(nullptr));
  }
  return {{"tokens_per_cell", pooled}, {"cells", std::move(cells)}};
}

/// The strips of a failing case show the stages that failed, those of other cases the end-to-end error.
bool heat_is_drawn(const StageDiff& stage, const CaseRecord& record) {
  return record.verdict.status == Status::fail ? stage.failed() : stage.mode == DiffMode::chained;
}

/// Stored once each; a record keeps the index.
class Pictures {
 public:
  std::size_t index(const Json& picture) {
    Json packed{{"streams", picture["streams"]}, {"steps", packed_rows(picture["steps"])}};
    const auto [entry, fresh] = known_.emplace(packed.dump(), list_.size());
    if (fresh) list_.push_back(std::move(packed));
    return entry->second;
  }
  Json take() { return std::move(list_); }

 private:
  std::map<std::string, std::size_t> known_;
  Json list_ = Json::array();
};

void pack_case(Json& json, const CaseRecord& record, Pictures& pictures) {
  Json heat = Json::array();
  for (const StageDiff& stage : record.stages) {
    heat.push_back(heat_is_drawn(stage, record) ? heat_cells(stage.token_error) : Json(nullptr));
  }
  json["stages"] = packed_rows(json["stages"]);
  json["heat"] = std::move(heat);
  json["picture"] = pictures.index(json["picture"]);
}

Json cause_meanings() {
  Json meanings = Json::object();
  for (const CauseRow& row : kCauses) meanings[std::string(row.name)] = row.meaning;
  return meanings;
}

/// "<" would let a text end the script element; in JSON it stands only inside strings, where \u003c means the same.
std::string embedded(const Json& json) {
  std::string safe;
  for (const char c : json.dump()) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string render_html(const Report& report) {
  Json document = Json::parse(render_json(report));
  Pictures pictures;
  for (std::size_t i = 0; i < report.cases.size(); ++i) pack_case(document["records"][i], report.cases[i], pictures);
  shorten_numbers(document);
  document["pictures"] = pictures.take();
  document["causes"] = cause_meanings();

  const std::size_t mark = kPageText.find(kDataMark);
  CHECK(mark != std::string_view::npos, "the page has a place for its data");
  return std::string(kPageText.substr(0, mark)) + embedded(document) +
         std::string(kPageText.substr(mark + kDataMark.size()));
}

}  // namespace moediff
