#include "snug/codec/yaml.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "snug/base/text.hpp"

namespace snug {
namespace {

std::string position(std::string_view source, int line, int column) {
  return std::string(source) + ":" + std::to_string(line) + ":" + std::to_string(column) + ": ";
}

Error error_at(std::string_view source, const YAML::Mark& mark, std::string_view problem) {
  // yaml-cpp counts from 0, and says -1 where it knows no place.
  std::string text = position(source, std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1);
  return Error{ErrorCode::kInvalid, text + std::string(problem)};
}

/// Carries a problem of ours out of yaml-cpp's callbacks; it never leaves this file.
struct Problem {
  YAML::Mark mark;
  std::string text;
};

/// Builds the tree from yaml-cpp's events. The open collections are kept as a stack of values, each
/// moved into its parent when it ends.
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::int64_t max_depth) : max_depth_(max_depth) {}

  YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    add(make(YamlNode::Kind::kNull, mark), mark);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Problem{mark, "aliases are not allowed; repeat the value"};
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    YamlNode node = make(YamlNode::Kind::kScalar, mark);
    node.text = value;
    node.quoted = tag == "!";
    add(std::move(node), mark);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::kSequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    YamlNode node;
    YAML::Mark mark;
    std::set<std::string> keys;
    YamlNode key;
    bool has_key = false;
  };

  static YamlNode make(YamlNode::Kind kind, const YAML::Mark& mark) {
    YamlNode node;
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    return node;
  }

  static void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) throw Problem{mark, "anchors are not allowed"};
  }

  static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") {
      throw Problem{mark, "tags are not allowed; write the value alone"};
    }
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    if (static_cast<std::int64_t>(stack_.size()) >= max_depth_) {
      throw Problem{
          mark, "nested too deeply; at most " + std::to_string(max_depth_) + " levels are allowed"};
    }
    stack_.push_back(Frame{make(kind, mark), mark, {}, {}, false});
  }

  void close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    add(std::move(frame.node), frame.mark);
  }

  void add(YamlNode node, const YAML::Mark& mark) {
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = stack_.back();
    if (frame.node.kind == YamlNode::Kind::kSequence) {
      frame.node.items.push_back(std::move(node));
    } else if (!frame.has_key) {
      check_key(frame, node, mark);
      frame.key = std::move(node);
      frame.has_key = true;
    } else {
      frame.node.entries.push_back({std::move(frame.key), std::move(node)});
      frame.has_key = false;
    }
  }

  static void check_key(Frame& frame, const YamlNode& key, const YAML::Mark& mark) {
    if (key.kind != YamlNode::Kind::kScalar) throw Problem{mark, "a key must be a plain word"};
    if (key.text == "<<" && !key.quoted) throw Problem{mark, "merge keys (<<) are not allowed"};
    if (!frame.keys.insert(key.text).second) {
      throw Problem{mark, "the key \"" + key.text + "\" stands here twice"};
    }
  }

  std::int64_t max_depth_;
  YamlNode root_;
  std::vector<Frame> stack_;
};

/// Accepts empty documents only.
class NothingMore final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    // Malformed text can make the parser hand out documents for ever without moving on.
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
    throw Problem{mark, "the text goes on after the end of its document; one document is allowed"};
  }

  int last_position_ = -1;
};

/// A hint for a value that begins with `*`: its author means a pattern, but YAML reads an alias.
std::string_view hint_for(std::string_view problem) {
  const bool alias = problem.starts_with(YAML::ErrorMsg::ALIAS_NOT_FOUND) ||
                     problem.starts_with(YAML::ErrorMsg::CHAR_IN_ALIAS) ||
                     problem.starts_with(YAML::ErrorMsg::UNKNOWN_ANCHOR);
  return alias ? "; a value that begins with *, as a pattern may, needs quotes" : "";
}

/// yaml-cpp takes some control characters for the end of the text, and passes broken UTF-8 on.
Result<void> check_characters(std::string_view text, std::string_view source) {
  const auto bad = find_bad_text(text);
  if (bad == std::string_view::npos) return {};
  const std::string_view before = text.substr(0, bad);
  int line = 1;
  for (const char c : before) line += c == '\n' ? 1 : 0;
  const auto line_start = before.rfind('\n');
  const auto column = line_start == std::string_view::npos ? bad : bad - line_start - 1;
  return fail(ErrorCode::kInvalid, position(source, line, static_cast<int>(column) + 1) +
                                       "neither control characters nor anything that is no valid "
                                       "UTF-8 is allowed");
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const auto& [name, value] : entries) {
    if (name.text == key) return &value;
  }
  return nullptr;
}

Error yaml_error(std::string_view source, const YamlNode& at, std::string_view problem) {
  return Error{ErrorCode::kInvalid, position(source, at.line, at.column) + std::string(problem)};
}

Result<YamlNode> parse_yaml(std::string_view text, std::string_view source, const Limits& limits) {
  if (static_cast<std::int64_t>(text.size()) > limits.max_config_bytes) {
    return fail(ErrorCode::kTooLarge, std::string(source) + ": " + std::to_string(text.size()) +
                                          " bytes of YAML are too many; at most " +
                                          std::to_string(limits.max_config_bytes) + " are allowed");
  }
  if (auto checked = check_characters(text, source); !checked) {
    return std::unexpected(checked.error());
  }
  try {
    // An open quote at the end of the text passes yaml-cpp when a line break follows it; with a
    // comment as the last line it does not.
    std::istringstream stream{std::string(text) + (text.ends_with('\n') ? "#" : "\n#")};
    YAML::Parser parser(stream);
    TreeBuilder builder(limits.max_json_depth);
    if (!parser.HandleNextDocument(builder)) return YamlNode{};
    NothingMore rest;
    while (parser.HandleNextDocument(rest)) {
    }
    return builder.take();
  } catch (const Problem& problem) {
    return std::unexpected(error_at(source, problem.mark, problem.text));
  } catch (const YAML::Exception& exception) {
    return std::unexpected(
        error_at(source, exception.mark,
                 "not valid YAML: " + exception.msg + std::string(hint_for(exception.msg))));
  }
}

}  // namespace snug
