#include "codec/kube_dom.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "codec/json_scan.hpp"
#include "codec/kube_reading.hpp"

namespace snug {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

std::string_view type_name(const element& value) {
  switch (value.type()) {
    case element_type::ARRAY:
      return "an array";
    case element_type::OBJECT:
      return "an object";
    case element_type::STRING:
      return "a string";
    case element_type::BOOL:
      return "a boolean";
    case element_type::NULL_VALUE:
      return "null";
    default:
      return "a number";
  }
}

bool same_key(std::string_view wanted, std::string_view found, KeyCase key_case) {
  if (key_case == KeyCase::kExact) return wanted == found;
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  return std::ranges::equal(wanted, found, {}, lower, lower);
}

bool snug_key(std::string_view key) { return key.starts_with("snug.dev/"); }
bool kept_amount(std::string_view key) {
  return nvidia_key(key) || key == "cpu" || key == "memory" || key == "pods";
}
bool kept_label(std::string_view key) { return snug_key(key) || nvidia_key(key); }

void read_node_metadata(DomWalk& walk, const Field& field, const Where& parent, NodeFacts& node) {
  const Where here{&parent, field.key};
  if (!field.present) return walk.fail_at(here, "is missing");
  std::array<Field, 4> wanted{{{"name"}, {"resourceVersion"}, {"annotations"}, {"labels"}}};
  walk.fields(field.value, here, wanted);
  walk.text(wanted[0], here, node.name);
  walk.text(wanted[1], here, node.resource_version);
  walk.map(wanted[2], here, {snug_key}, node.annotations);
  walk.map(wanted[3], here, {kept_label}, node.labels);
  if (node.name.empty()) walk.fail_at(here, "has no name; a node must have one");
}

void read_node_status(DomWalk& walk, const Field& field, const Where& parent, NodeFacts& node) {
  if (!field.present) return;
  const Where here{&parent, field.key};
  std::array<Field, 3> wanted{{{"capacity"}, {"allocatable"}, {"nodeInfo"}}};
  walk.fields(field.value, here, wanted);
  walk.map(wanted[0], here, {nvidia_key, true}, node.capacity);
  walk.map(wanted[1], here, {kept_amount, true}, node.allocatable);
  node.host = take_capacity(walk, Where{&here, wanted[1].key}, node.allocatable);
  if (!wanted[2].present) return;
  const Where info{&here, wanted[2].key};
  std::array<Field, 1> boot{{{"bootID"}}};
  walk.fields(wanted[2].value, info, boot);
  walk.text(boot[0], info, node.boot_id);
}

}  // namespace

void DomWalk::wrong_type(const element& found, const Where& where, std::string_view expected) {
  fail_at(where, "must be " + std::string{expected} + ", not " + std::string{type_name(found)});
}

void DomWalk::fields(const element& object, const Where& where, std::span<Field> wanted,
                     KeyCase key_case) {
  if (!ok()) return;
  simdjson::dom::object entries;
  if (object.get(entries) != simdjson::SUCCESS) return wrong_type(object, where, "an object");
  for (const simdjson::dom::key_value_pair entry : entries) {
    for (Field& field : wanted) {
      if (!same_key(field.key, entry.key, key_case)) continue;
      if (field.seen) return fail_at(Where{&where, field.key}, "is given twice");
      field.seen = true;
      field.present = !entry.value.is_null();
      field.value = entry.value;
      break;
    }
  }
}

void DomWalk::text(const Field& field, const Where& parent, std::string& out) {
  if (!ok() || !field.present) return;
  std::string_view text;
  if (field.value.get(text) == simdjson::SUCCESS) {
    out.assign(text);
  } else if (field.key.empty()) {
    wrong_type(field.value, parent, "a string");
  } else {
    wrong_type(field.value, Where{&parent, field.key}, "a string");
  }
}

void DomWalk::number(const Field& field, const Where& parent, std::int32_t& out) {
  if (!ok() || !field.present) return;
  std::int64_t value = 0;
  if (field.value.get(value) != simdjson::SUCCESS ||
      value < std::numeric_limits<std::int32_t>::min() ||
      value > std::numeric_limits<std::int32_t>::max()) {
    return fail_at(Where{&parent, field.key}, "must be an integer of 32 bits");
  }
  out = static_cast<std::int32_t>(value);
}

bool DomWalk::time(const Field& field, const Where& parent, std::string& out) {
  text(field, parent, out);
  return !out.empty();
}

void DomWalk::map(const Field& field, const Where& parent, const MapRule& rule, StringMap& out) {
  std::vector<std::string_view> nulls;
  each_entry(field, parent, [&](std::string_view key, element value, const Where& where) {
    if (rule.bytes != nullptr) {
      *rule.bytes += key.size() + (value.is_string() ? value.get_string_length().value() : 0);
    }
    if (!rule.keep(key)) {
      if (rule.others != nullptr && !value.is_null()) *rule.others = true;
      return;
    }
    if (out.size() >= rule.most) return;
    std::string entry;
    if (rule.quantities && value.is_number()) {
      entry = simdjson::minify(value);
    } else if (value.is_null()) {
      nulls.push_back(key);
    } else {
      text(Field{.value = value, .seen = true, .present = true}, where, entry);
    }
    if (!out.emplace(key, std::move(entry)).second) fail_at(where, "is given twice");
  });
  if (!ok()) return;
  for (const std::string_view key : nulls) out.erase(out.find(key));
}

DomParser::DomParser(const Limits& limits)
    : max_depth_{static_cast<std::size_t>(limits.max_json_depth)} {}

Result<element> DomParser::parse(std::string_view json) {
  if (buffer_.capacity() > kKeptBytes && json.size() < kKeptBytes) std::string{}.swap(buffer_);
  buffer_.reserve(json.size() + simdjson::SIMDJSON_PADDING);
  buffer_.assign(json);
  return parse_in_place(buffer_);
}

Result<element> DomParser::parse_in_place(std::string& json) {
  if (json.capacity() < json.size() + simdjson::SIMDJSON_PADDING) {
    json.reserve(json.size() + simdjson::SIMDJSON_PADDING);
  }
  if (parser_ == nullptr || (parser_->capacity() > kKeptBytes && json.size() < kKeptBytes)) {
    parser_ = std::make_unique<simdjson::dom::parser>();
  }
  if (parser_->capacity() < json.size() || parser_->capacity() == 0) {
    const std::size_t capacity = std::max<std::size_t>(json.size(), 4096);
    if (parser_->allocate(capacity, max_depth_) != simdjson::SUCCESS) {
      return fail(ErrorCode::kInternal, "there is no memory to parse the JSON text");
    }
  }
  element root;
  simdjson::error_code code = parser_->parse(json.data(), json.size(), false).get(root);
  if (code != simdjson::SUCCESS && blank_managed_fields(json)) {
    code = parser_->parse(json.data(), json.size(), false).get(root);
  }
  if (code == simdjson::SUCCESS) return root;
  if (code == simdjson::DEPTH_ERROR) {
    return fail(ErrorCode::kTooLarge, "the JSON text is nested too deep; at most " +
                                          std::to_string(max_depth_) +
                                          " levels are allowed (limit maxJsonDepth)");
  }
  if (code == simdjson::EMPTY) return fail(ErrorCode::kInvalid, "the JSON text is empty");
  if (code == simdjson::UTF8_ERROR) {
    return fail(ErrorCode::kInvalid, "the JSON text is not valid UTF-8");
  }
  if (code == simdjson::NUMBER_ERROR) {
    return fail(ErrorCode::kInvalid,
                "the JSON text has a number that is malformed, or too large to be read");
  }
  return fail(ErrorCode::kInvalid, "the text is not valid JSON");
}

void DomParser::trim() {
  if (buffer_.capacity() > kKeptBytes) std::string{}.swap(buffer_);
  if (parser_ != nullptr && parser_->capacity() > kKeptBytes) parser_.reset();
}

Result<PodFacts> pod_from(const element& value, const Where& where) {
  DomWalk walk;
  PodFacts pod = read_pod_facts(walk, value, where);
  if (!walk.ok()) return walk.take_error();
  return pod;
}

Result<NodeFacts> node_from(const element& value, const Where& where) {
  DomWalk walk;
  NodeFacts node;
  std::array<Field, 2> wanted{{{"metadata"}, {"status"}}};
  walk.fields(value, where, wanted);
  if (walk.ok()) read_node_metadata(walk, wanted[0], where, node);
  if (walk.ok()) read_node_status(walk, wanted[1], where, node);
  if (!walk.ok()) return walk.take_error();
  return node;
}

Result<std::string_view> object_name(const element& value, const Where& where) {
  DomWalk walk;
  std::array<Field, 1> metadata{{{"metadata"}}};
  walk.fields(value, where, metadata);
  const Where here{&where, metadata[0].key};
  std::array<Field, 1> name{{{"name"}}};
  if (metadata[0].present) walk.fields(metadata[0].value, here, name);
  std::string_view text;
  if (walk.ok() &&
      (!name[0].present || name[0].value.get(text) != simdjson::SUCCESS || text.empty())) {
    walk.fail_at(Where{&here, "name"}, "must be a string that is not empty");
  }
  if (!walk.ok()) return walk.take_error();
  return text;
}

}  // namespace snug
