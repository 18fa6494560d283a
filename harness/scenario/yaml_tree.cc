// Builds the tree from yaml-cpp's events rather than from its nodes: events know the place of every key and alias, and
// an alias can be refused before it multiplies.
#include "harness/scenario/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>

namespace moediff {
namespace {

constexpr std::size_t kMaxNodes = 100'000;  // aliases of aliases grow exponentially

struct Problem {
  YAML::Mark mark;
  std::string found, rule, remedy;
};

std::size_t count(const Node& node) {
  std::size_t nodes = 1;
  for (const Node& item : node.items) nodes += count(item);
  for (const Entry& entry : node.entries) nodes += count(entry.value);
  return nodes;
}

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const std::string& file, std::vector<Error>& errors) : file_(file), errors_(errors) {}

  const std::optional<Node>& root() const { return root_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) throw Problem{mark, "---", "a file holds one YAML document", "split the file"};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (wants_key()) throw Problem{mark, "", "a key must be a word", "write `key: value`"};
    finish(make(Node::Kind::null, mark), anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    if (wants_key()) {
      open_.back().key = Entry{value, place(mark), {}};
      return;
    }
    Node node = make(Node::Kind::scalar, mark);
    node.text = value;
    node.quoted = tag == "!";
    finish(std::move(node), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (wants_key()) throw Problem{mark, "*", "a key must be a word", "write the key itself"};
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end())
      throw Problem{mark, "", "an alias cannot stand inside its own anchor", "write the value out"};
    nodes_ += count(known->second);
    if (nodes_ > kMaxNodes)
      throw Problem{mark, "", "the file's aliases expand to too many values", "write the values out"};
    finish(known->second, 0);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::list, mark, tag, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::map, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override {
    merge_defaults(open_.back().node);
    close();
  }

 private:
  struct Open {
    Node node;
    YAML::anchor_t anchor;
    std::optional<Entry> key;  // a map's key that waits for its value
  };

  Place place(const YAML::Mark& mark) const { return {file_, mark.line + 1, mark.column + 1}; }
  Node make(Node::Kind kind, const YAML::Mark& mark) {
    Node node;
    node.kind = kind;
    node.place = place(mark);
    ++nodes_;
    return node;
  }
  bool wants_key() const { return !open_.empty() && open_.back().node.kind == Node::Kind::map && !open_.back().key; }

  static void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    throw Problem{mark, tag, "tags are not used in scenarios", "remove the tag: the key decides the type"};
  }

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    check_tag(mark, tag);
    if (wants_key()) throw Problem{mark, "", "a key must be a word", "write `key: value`"};
    open_.push_back({make(kind, mark), anchor, std::nullopt});
  }
  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    finish(std::move(done.node), done.anchor);
  }
  void finish(Node node, YAML::anchor_t anchor) {
    if (anchor != 0) anchors_[anchor] = node;
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == Node::Kind::list) {
      parent.node.items.push_back(std::move(node));
      return;
    }
    if (node.kind == Node::Kind::null) node.place = parent.key->place;  // yaml-cpp puts it at whatever comes next
    parent.key->value = std::move(node);
    add_entry(parent.node, std::move(*parent.key));
    parent.key.reset();
  }

  void add_entry(Node& map, Entry entry) {
    for (const Entry& earlier : map.entries) {
      if (earlier.key != entry.key) continue;
      errors_.push_back({entry.place, entry.key,
                         "the key is given twice (first in line " + std::to_string(earlier.place.line) + ")",
                         "remove one of the two"});
      return;
    }
    map.entries.push_back(std::move(entry));
  }

  // `<<: *anchor` or `<<: [*a, *b]`: entries that the map does not give itself; of several, the first that has a key
  // wins.
  void merge_defaults(Node& map) {
    const auto merge =
        std::find_if(map.entries.begin(), map.entries.end(), [](const Entry& e) { return e.key == "<<"; });
    if (merge == map.entries.end()) return;
    const Entry defaults = *merge;
    map.entries.erase(merge);
    const std::vector<Node> single{defaults.value};
    for (const Node& source : defaults.value.kind == Node::Kind::list ? defaults.value.items : single) {
      if (source.kind != Node::Kind::map) {
        errors_.push_back(
            {defaults.place, "<<", "only maps can be merged", "write `<<: *anchor`, with the anchor at a map"});
        return;
      }
      for (const Entry& entry : source.entries) {
        const bool given =
            std::any_of(map.entries.begin(), map.entries.end(), [&](const Entry& e) { return e.key == entry.key; });
        if (!given) map.entries.push_back(entry);
      }
    }
  }

  const std::string& file_;
  std::vector<Error>& errors_;
  std::optional<Node> root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Node> anchors_;
  std::size_t nodes_ = 0;
  int documents_ = 0;
};

}  // namespace

std::string describe(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return "nothing";
    case Node::Kind::scalar:
      return node.text.empty() ? "\"\"" : node.text;
    case Node::Kind::list:
      return "a list";
    case Node::Kind::map:
      return "a map";
  }
  return "";
}

std::optional<Node> parse_yaml(const std::string& file, const std::string& text, std::vector<Error>& errors) {
  const auto report = [&](const YAML::Mark& mark, std::string found, std::string rule, std::string remedy) {
    const bool known = !mark.is_null();
    errors.push_back({{file, known ? mark.line + 1 : 1, known ? mark.column + 1 : 1},
                      std::move(found),
                      std::move(rule),
                      std::move(remedy)});
  };
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    TreeBuilder builder(file, errors);
    while (parser.HandleNextDocument(builder)) {
    }
    if (!builder.root()) report({}, "nothing", "the file is empty", "write a scenario, or remove the file");
    return builder.root();
  } catch (const Problem& problem) {
    report(problem.mark, problem.found, problem.rule, problem.remedy);
  } catch (const YAML::Exception& problem) {
    report(problem.mark, "", "this is not YAML: " + problem.msg,
           "mend the syntax; what follows in this file was not read");
  }
  return std::nullopt;
}

}  // namespace moediff
