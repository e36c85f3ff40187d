#include "codec/kube_json.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "codec/kube_pod_reader.hpp"
#include "snug/codec/json_scan.hpp"

namespace snug::codec {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

std::string_view type_name(const element& json_value) {
  switch (json_value.type()) {
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

bool same_key(std::string_view field_key, std::string_view json_key, KeyCase key_case) {
  if (key_case == KeyCase::kExact) return field_key == json_key;
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  return std::ranges::equal(field_key, json_key, {}, lower, lower);
}

/// Offers an entry whose value is a text or, as a quantity may be, a number.
void offer_stray(std::string_view key, const element& json_value, StrayRule& stray) {
  std::string_view text;
  if (json_value.get(text) == simdjson::SUCCESS) {
    stray.offer(key, text);
  } else if (json_value.is_number()) {
    stray.offer(key, std::string(simdjson::minify(json_value)));
  }
}

bool is_snug_key(std::string_view key) { return key.starts_with("snug.dev/"); }
bool is_relevant_capacity(std::string_view key) {
  return is_nvidia_key(key) || is_mirrored_resource(key);
}
bool is_relevant_allocatable(std::string_view key) {
  return is_relevant_resource(key) || key == "pods";
}
bool is_relevant_label(std::string_view key) { return is_snug_key(key) || is_nvidia_key(key); }

void read_node_metadata(DomWalk& walk, const Field& field, const FieldPath& parent,
                        model::NodeFacts& node) {
  const FieldPath metadata_path{&parent, field.key};
  if (!field.present) return walk.fail_at(metadata_path, "is missing");
  std::array<Field, 4> metadata_fields{
      {{"name"}, {"resourceVersion"}, {"annotations"}, {"labels"}}};
  walk.fields(field.value, metadata_path, metadata_fields);
  walk.text(metadata_fields[0], metadata_path, node.name);
  walk.text(metadata_fields[1], metadata_path, node.resource_version);
  walk.map(metadata_fields[2], metadata_path, {is_snug_key}, node.annotations);
  walk.map(metadata_fields[3], metadata_path, {is_relevant_label}, node.labels);
  if (node.name.empty()) walk.fail_at(metadata_path, "has no name; a node must have one");
}

void read_node_status(DomWalk& walk, const Field& field, const FieldPath& parent,
                      model::NodeFacts& node) {
  if (!field.present) return;
  const FieldPath status_path{&parent, field.key};
  std::array<Field, 3> status_fields{{{"capacity"}, {"allocatable"}, {"nodeInfo"}}};
  walk.fields(field.value, status_path, status_fields);
  walk.map(status_fields[0], status_path, {is_relevant_capacity, true}, node.capacity);
  walk.map(status_fields[1], status_path, {is_relevant_allocatable, true}, node.allocatable);
  const FieldPath capacity_path{&status_path, status_fields[0].key};
  const FieldPath allocatable_path{&status_path, status_fields[1].key};
  node.mirrored = {.capacity = take_mirrored_amounts(walk, capacity_path, node.capacity),
                   .allocatable = take_mirrored_amounts(walk, allocatable_path, node.allocatable)};
  node.host = take_allocatable(walk, allocatable_path, node.allocatable);
  if (!status_fields[2].present) return;
  const FieldPath info{&status_path, status_fields[2].key};
  std::array<Field, 1> boot{{{"bootID"}}};
  walk.fields(status_fields[2].value, info, boot);
  walk.text(boot[0], info, node.boot_id);
}

}  // namespace

void DomWalk::fail_wrong_type(const element& json_value, const FieldPath& where,
                              std::string_view expected) {
  fail_at(where,
          "must be " + std::string{expected} + ", not " + std::string{type_name(json_value)});
}

void DomWalk::fields(const element& object, const FieldPath& where, std::span<Field> known_fields,
                     KeyCase key_case) {
  if (!ok()) return;
  simdjson::dom::object entries;
  if (object.get(entries) != simdjson::SUCCESS) return fail_wrong_type(object, where, "an object");
  for (const simdjson::dom::key_value_pair entry : entries) {
    for (Field& field : known_fields) {
      if (!same_key(field.key, entry.key, key_case)) continue;
      if (field.seen) return fail_at(FieldPath{&where, field.key}, "is given twice");
      field.seen = true;
      field.present = !entry.value.is_null();
      field.value = entry.value;
      break;
    }
  }
}

void DomWalk::text(const Field& field, const FieldPath& parent, std::string& out) {
  if (!ok() || !field.present) return;
  std::string_view text;
  if (field.value.get(text) == simdjson::SUCCESS) {
    out.assign(text);
  } else if (field.key.empty()) {
    fail_wrong_type(field.value, parent, "a string");
  } else {
    fail_wrong_type(field.value, FieldPath{&parent, field.key}, "a string");
  }
}

void DomWalk::number(const Field& field, const FieldPath& parent, std::int32_t& out) {
  if (!ok() || !field.present) return;
  std::int64_t value = 0;
  if (field.value.get(value) != simdjson::SUCCESS ||
      value < std::numeric_limits<std::int32_t>::min() ||
      value > std::numeric_limits<std::int32_t>::max()) {
    return fail_at(FieldPath{&parent, field.key}, "must be an integer of 32 bits");
  }
  out = static_cast<std::int32_t>(value);
}

bool DomWalk::time(const Field& field, const FieldPath& parent, std::string& out) {
  text(field, parent, out);
  return !out.empty();
}

void DomWalk::map(const Field& field, const FieldPath& parent, MapRule rule,
                  model::StringMap& out) {
  std::vector<std::string_view> nulls;
  each_entry(field, parent, [&](std::string_view key, element json_value, const FieldPath& where) {
    if (rule.bytes != nullptr) {
      *rule.bytes +=
          key.size() + (json_value.is_string() ? json_value.get_string_length().value() : 0);
    }
    if (!rule.keep(key)) {
      if (rule.others != nullptr && !json_value.is_null()) *rule.others = true;
      if (rule.stray.keep != nullptr) offer_stray(key, json_value, rule.stray);
      return;
    }
    if (out.size() >= rule.most) return;
    std::string entry;
    if (rule.quantities && json_value.is_number()) {
      entry = simdjson::minify(json_value);
    } else if (json_value.is_null()) {
      nulls.push_back(key);
    } else {
      text(Field{.value = json_value, .seen = true, .present = true}, where, entry);
    }
    if (!out.emplace(key, std::move(entry)).second) fail_at(where, "is given twice");
  });
  if (!ok()) return;
  for (const std::string_view key : nulls) out.erase(out.find(key));
}

DomParser::DomParser(const base::Limits& limits)
    : max_depth_{static_cast<std::size_t>(limits.max_json_depth)} {}

base::Result<element> DomParser::parse(std::string_view json) {
  if (buffer_.capacity() > base::kMaxPooledBufferBytes && json.size() < base::kMaxPooledBufferBytes)
    std::string{}.swap(buffer_);
  buffer_.reserve(json.size() + simdjson::SIMDJSON_PADDING);
  buffer_.assign(json);
  return parse_in_place(buffer_);
}

base::Result<element> DomParser::parse_in_place(std::string& json) {
  if (json.capacity() < json.size() + simdjson::SIMDJSON_PADDING) {
    json.reserve(json.size() + simdjson::SIMDJSON_PADDING);
  }
  if (parser_ == nullptr || (parser_->capacity() > base::kMaxPooledBufferBytes &&
                             json.size() < base::kMaxPooledBufferBytes)) {
    parser_ = std::make_unique<simdjson::dom::parser>();
  }
  if (parser_->capacity() < json.size() || parser_->capacity() == 0) {
    const std::size_t capacity = std::max<std::size_t>(json.size(), 4096);
    if (parser_->allocate(capacity, max_depth_) != simdjson::SUCCESS) {
      return base::fail(base::ErrorCode::kInternal,
                        "there is not enough memory to parse the JSON text");
    }
  }
  element root;
  simdjson::error_code code = parser_->parse(json.data(), json.size(), false).get(root);
  if (code != simdjson::SUCCESS && blank_managed_fields(json)) {
    code = parser_->parse(json.data(), json.size(), false).get(root);
  }
  if (code == simdjson::SUCCESS) return root;
  if (code == simdjson::DEPTH_ERROR) {
    return base::fail(base::ErrorCode::kTooLarge, "the JSON text is nested too deep; at most " +
                                                      std::to_string(max_depth_) +
                                                      " levels are allowed");
  }
  if (code == simdjson::EMPTY)
    return base::fail(base::ErrorCode::kInvalid, "the JSON text is empty");
  if (code == simdjson::UTF8_ERROR) {
    return base::fail(base::ErrorCode::kInvalid, "the JSON text is not valid UTF-8");
  }
  if (code == simdjson::NUMBER_ERROR) {
    return base::fail(base::ErrorCode::kInvalid,
                      "the JSON text has a number that is malformed, or too large to be read");
  }
  return base::fail(base::ErrorCode::kInvalid, "the text is not valid JSON");
}

void DomParser::trim() {
  if (buffer_.capacity() > base::kMaxPooledBufferBytes) std::string{}.swap(buffer_);
  if (parser_ != nullptr && parser_->capacity() > base::kMaxPooledBufferBytes) parser_.reset();
}

base::Result<model::PodFacts> pod_from(const element& value, const FieldPath& where) {
  DomWalk walk;
  model::PodFacts pod = read_pod_facts(walk, value, where);
  if (!walk.ok()) return walk.take_error();
  return pod;
}

base::Result<model::NodeFacts> node_from(const element& value, const FieldPath& where) {
  DomWalk walk;
  model::NodeFacts node;
  std::array<Field, 2> node_fields{{{"metadata"}, {"status"}}};
  walk.fields(value, where, node_fields);
  if (walk.ok()) read_node_metadata(walk, node_fields[0], where, node);
  if (walk.ok()) read_node_status(walk, node_fields[1], where, node);
  if (!walk.ok()) return walk.take_error();
  return node;
}

base::Result<std::string_view> object_name(const element& value, const FieldPath& where) {
  DomWalk walk;
  std::array<Field, 1> metadata{{{"metadata"}}};
  walk.fields(value, where, metadata);
  const FieldPath metadata_path{&where, metadata[0].key};
  std::array<Field, 1> name{{{"name"}}};
  if (metadata[0].present) walk.fields(metadata[0].value, metadata_path, name);
  std::string_view text;
  if (walk.ok() &&
      (!name[0].present || name[0].value.get(text) != simdjson::SUCCESS || text.empty())) {
    walk.fail_at(FieldPath{&metadata_path, "name"}, "must be a string that is not empty");
  }
  if (!walk.ok()) return walk.take_error();
  return text;
}

}  // namespace snug::codec
