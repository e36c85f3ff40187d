#include "snug/codec/yaml.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "snug/base/text.hpp"

namespace snug::codec {
namespace {

std::string position(std::string_view source, int line, int column) {
  return std::string(source) + ":" + std::to_string(line) + ":" + std::to_string(column) + ": ";
}

base::Error error_at(std::string_view source, const YAML::Mark& mark, std::string_view problem) {
  // yaml-cpp counts lines and columns from 0; -1 means that the position is unknown.
  std::string text = position(source, std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1);
  return base::Error{base::ErrorCode::kInvalid, text + std::string(problem)};
}

/// The exception that the event handlers below throw through yaml-cpp. parse_yaml() catches it.
struct YamlProblem {
  YAML::Mark mark;
  std::string text;
};

/// Builds the tree from the events of yaml-cpp. `open_collections_` is the stack of the sequences
/// and maps that have not ended. When one of them ends, it is moved into its parent.
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::int64_t max_depth) : max_depth_(max_depth) {}

  YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    add(make(YamlNode::Type::kNull, mark), mark);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw YamlProblem{mark, "aliases are not allowed; repeat the value"};
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    // A file would be opened by the text before it.
    if (value.contains('\0')) throw YamlProblem{mark, "a text must not have a NUL character"};
    YamlNode yaml_node = make(YamlNode::Type::kScalar, mark);
    yaml_node.text = value;
    yaml_node.quoted = tag == "!";
    add(std::move(yaml_node), mark);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlNode::Type::kSequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlNode::Type::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct OpenCollection {
    YamlNode node;
    YAML::Mark mark;
    std::set<std::string> keys;
    YamlNode key;
    bool has_key = false;
  };

  static YamlNode make(YamlNode::Type kind, const YAML::Mark& mark) {
    YamlNode yaml_node;
    yaml_node.type = kind;
    yaml_node.line = mark.line + 1;
    yaml_node.column = mark.column + 1;
    return yaml_node;
  }

  static void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) throw YamlProblem{mark, "anchors are not allowed"};
  }

  static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") {
      throw YamlProblem{mark, "tags are not allowed; write the value without a tag"};
    }
  }

  void open(YamlNode::Type kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    if (static_cast<std::int64_t>(open_collections_.size()) >= max_depth_) {
      throw YamlProblem{
          mark, "nested too deeply; at most " + std::to_string(max_depth_) + " levels are allowed"};
    }
    open_collections_.push_back(OpenCollection{make(kind, mark), mark, {}, {}, false});
  }

  void close() {
    OpenCollection collection = std::move(open_collections_.back());
    open_collections_.pop_back();
    add(std::move(collection.node), collection.mark);
  }

  void add(YamlNode yaml_node, const YAML::Mark& mark) {
    if (open_collections_.empty()) {
      root_ = std::move(yaml_node);
      return;
    }
    OpenCollection& collection = open_collections_.back();
    if (collection.node.type == YamlNode::Type::kSequence) {
      collection.node.items.push_back(std::move(yaml_node));
    } else if (!collection.has_key) {
      check_key(collection, yaml_node, mark);
      collection.key = std::move(yaml_node);
      collection.has_key = true;
    } else {
      collection.node.entries.push_back({std::move(collection.key), std::move(yaml_node)});
      collection.has_key = false;
    }
  }

  static void check_key(OpenCollection& collection, const YamlNode& key, const YAML::Mark& mark) {
    if (key.type != YamlNode::Type::kScalar) throw YamlProblem{mark, "a key must be a plain word"};
    if (key.text == "<<" && !key.quoted) throw YamlProblem{mark, "merge keys (<<) are not allowed"};
    if (!collection.keys.insert(key.text).second) {
      throw YamlProblem{mark, "the key \"" + key.text + "\" is given twice"};
    }
  }

  std::int64_t max_depth_;
  YamlNode root_;
  std::vector<OpenCollection> open_collections_;
};

/// Refuses everything after the first document, except empty documents.
class TrailingDocumentCheck final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    // For some malformed texts, the parser reports documents at the same position without end.
    if (mark.pos <= last_position_) refuse(mark);
    last_position_ = mark.pos;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string&) override {
    refuse(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    refuse(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    refuse(mark);
  }
  void OnMapEnd() override {}

 private:
  [[noreturn]] static void refuse(const YAML::Mark& mark) {
    throw YamlProblem{mark,
                      "the text continues after its first document; only one document is allowed"};
  }

  int last_position_ = -1;
};

/// Returns a hint to append to an error about an alias. The author of a value that begins with `*`
/// probably means a pattern, but YAML reads it as an alias.
std::string_view alias_hint(std::string_view problem) {
  const bool alias = problem.starts_with(YAML::ErrorMsg::ALIAS_NOT_FOUND) ||
                     problem.starts_with(YAML::ErrorMsg::CHAR_IN_ALIAS) ||
                     problem.starts_with(YAML::ErrorMsg::UNKNOWN_ANCHOR);
  return alias ? "; put quotes around a value that begins with *, such as a pattern" : "";
}

/// Fails on control characters and on invalid UTF-8. yaml-cpp accepts both: it reads some control
/// characters as the end of the text, and copies invalid UTF-8.
base::Result<void> check_characters(std::string_view yaml_text, std::string_view source) {
  const auto bad_offset = base::find_invalid_text(yaml_text);
  if (bad_offset == std::string_view::npos) return {};
  const std::string_view before = yaml_text.substr(0, bad_offset);
  int line = 1;
  for (const char c : before) line += c == '\n' ? 1 : 0;
  const auto line_start = before.rfind('\n');
  const auto column =
      line_start == std::string_view::npos ? bad_offset : bad_offset - line_start - 1;
  return base::fail(base::ErrorCode::kInvalid,
                    position(source, line, static_cast<int>(column) + 1) +
                        "control characters and invalid UTF-8 are not allowed");
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const auto& [name, value] : entries) {
    if (name.text == key) return &value;
  }
  return nullptr;
}

base::Error yaml_error(std::string_view source, const YamlNode& at, std::string_view problem) {
  return base::Error{base::ErrorCode::kInvalid,
                     position(source, at.line, at.column) + std::string(problem)};
}

base::Result<YamlNode> parse_yaml(std::string_view yaml_text, std::string_view source,
                                  const base::Limits& limits) {
  if (static_cast<std::int64_t>(yaml_text.size()) > limits.max_config_bytes) {
    return base::fail(base::ErrorCode::kTooLarge,
                      std::string(source) + ": " + std::to_string(yaml_text.size()) +
                          " bytes of YAML are too many; at most " +
                          std::to_string(limits.max_config_bytes) + " are allowed");
  }
  if (auto checked = check_characters(yaml_text, source); !checked) {
    return std::unexpected(checked.error());
  }
  try {
    // Adds a comment as the last line, because yaml-cpp otherwise accepts an unclosed quote if the
    // text ends with a line break.
    std::istringstream stream{std::string(yaml_text) + (yaml_text.ends_with('\n') ? "#" : "\n#")};
    YAML::Parser parser(stream);
    TreeBuilder builder(limits.max_json_depth);
    if (!parser.HandleNextDocument(builder)) return YamlNode{};
    TrailingDocumentCheck trailing_check;
    while (parser.HandleNextDocument(trailing_check)) {
    }
    return builder.take();
  } catch (const YamlProblem& problem) {
    return std::unexpected(error_at(source, problem.mark, problem.text));
  } catch (const YAML::Exception& exception) {
    return std::unexpected(
        error_at(source, exception.mark,
                 "not valid YAML: " + exception.msg + std::string(alias_hint(exception.msg))));
  }
}

}  // namespace snug::codec
