#include "codec/kube_dom.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "codec/text.hpp"

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

bool kept_pod_annotation(std::string_view key) {
  return key.starts_with("gpu-") || key.starts_with("snug.dev/") ||
         key == "kubectl.kubernetes.io/default-container";
}

bool snug_key(std::string_view key) { return key.starts_with("snug.dev/"); }
bool nvidia_key(std::string_view key) { return key.starts_with("nvidia.com/"); }
bool kept_label(std::string_view key) { return snug_key(key) || nvidia_key(key); }

/// Which entries of a map are read, and how.
struct MapRule {
  bool (*keep)(std::string_view key);
  bool quantities = false;       // values may be numbers too, and keep their text
  std::size_t* bytes = nullptr;  // counts all keys and values, kept or not
};

/// Copies the entries whose keys are kept. A kept key may come once, even when its value is null.
void read_map(DomWalk& walk, const Field& field, const Where& parent,
              std::pair<MapRule, StringMap*> target) {
  const auto& [rule, out] = target;
  std::vector<std::string_view> nulls;
  walk.each_entry(field, parent, [&](std::string_view key, element value, const Where& where) {
    if (rule.bytes != nullptr) {
      *rule.bytes += key.size() + (value.is_string() ? value.get_string_length().value() : 0);
    }
    if (!rule.keep(key)) return;
    std::string text;
    if (rule.quantities && value.is_number()) {
      text = simdjson::minify(value);
    } else if (value.is_null()) {
      nulls.push_back(key);
    } else {
      walk.text(Field{{}, value, true, true}, where, text);
    }
    if (!out->emplace(key, std::move(text)).second) walk.fail_at(where, "is given twice");
  });
  if (!walk.ok()) return;
  for (const std::string_view key : nulls) out->erase(out->find(key));
}

void read_pod_metadata(DomWalk& walk, const Field& field, const Where& parent, PodFacts& pod) {
  const Where here{&parent, field.key};
  std::array<Field, 7> wanted{{{"name"},
                               {"namespace"},
                               {"uid"},
                               {"resourceVersion"},
                               {"creationTimestamp"},
                               {"deletionTimestamp"},
                               {"annotations"}}};
  const auto& [name, name_space, uid, version, created, deleted, annotations] = wanted;
  if (!field.present) return walk.fail_at(here, "is missing");
  walk.fields(field.value, here, wanted);
  walk.text(name, here, pod.name);
  walk.text(name_space, here, pod.name_space);
  walk.text(uid, here, pod.uid);
  walk.text(version, here, pod.resource_version);
  walk.text(created, here, pod.creation_timestamp);
  std::string deletion;
  walk.text(deleted, here, deletion);
  pod.terminating = !deletion.empty();
  read_map(walk, annotations, here,
           {{.keep = kept_pod_annotation, .bytes = &pod.annotation_bytes}, &pod.annotations});
  if (pod.name.empty()) walk.fail_at(here, "has no name; a pod must have one");
  if (pod.name_space.empty()) walk.fail_at(here, "has no namespace; a pod must have one");
}

void read_container(DomWalk& walk, const element& value, const Where& where,
                    std::pair<bool, PodFacts*> target) {
  std::array<Field, 3> wanted{{{"name"}, {"restartPolicy"}, {"resources"}}};
  auto& [name, restart_policy, resources] = wanted;
  ContainerFacts container;
  walk.fields(value, where, wanted);
  walk.text(name, where, container.name);
  std::string policy;
  walk.text(restart_policy, where, policy);
  if (target.first) {
    container.kind = policy == "Always" ? ContainerKind::kSidecar : ContainerKind::kInit;
  }
  if (resources.present) {
    const Where here{&where, resources.key};
    std::array<Field, 2> lists{{{"limits"}, {"requests"}}};
    walk.fields(resources.value, here, lists);
    StringMap requests;
    read_map(walk, lists[0], here, {{nvidia_key, true}, &container.gpu_resources});
    read_map(walk, lists[1], here, {{nvidia_key, true}, &requests});
    container.gpu_resources.merge(requests);
  }
  if (container.name.empty()) walk.fail_at(where, "has no name; a container must have one");
  target.second->containers.push_back(std::move(container));
}

/// Whether any of the three affinities states a preference.
bool has_preferred_affinity(DomWalk& walk, const Field& affinity, const Where& parent) {
  if (!affinity.present) return false;
  const Where here{&parent, affinity.key};
  std::array<Field, 3> kinds{{{"nodeAffinity"}, {"podAffinity"}, {"podAntiAffinity"}}};
  walk.fields(affinity.value, here, kinds);
  bool found = false;
  for (const Field& kind : kinds) {
    if (!kind.present) continue;
    const Where place{&here, kind.key};
    std::array<Field, 1> wanted{{{"preferredDuringSchedulingIgnoredDuringExecution"}}};
    walk.fields(kind.value, place, wanted);
    walk.each_item(wanted[0], place, [&](const element&, const Where&) { found = true; });
  }
  return found;
}

bool has_soft_spreading(DomWalk& walk, const Field& constraints, const Where& parent) {
  bool found = false;
  walk.each_item(constraints, parent, [&](const element& item, const Where& where) {
    std::array<Field, 1> wanted{{{"whenUnsatisfiable"}}};
    walk.fields(item, where, wanted);
    std::string when;
    walk.text(wanted[0], where, when);
    found = found || when == "ScheduleAnyway";
  });
  return found;
}

void read_spec(DomWalk& walk, const Field& field, const Where& parent, PodFacts& pod) {
  if (!field.present) return;
  const Where here{&parent, field.key};
  std::array<Field, 7> wanted{{{"nodeName"},
                               {"schedulerName"},
                               {"priority"},
                               {"initContainers"},
                               {"containers"},
                               {"affinity"},
                               {"topologySpreadConstraints"}}};
  auto& [node, scheduler, priority, init_containers, containers, affinity, spreading] = wanted;
  walk.fields(field.value, here, wanted);
  walk.text(node, here, pod.node_name);
  walk.text(scheduler, here, pod.scheduler_name);
  walk.number(priority, here, pod.priority);
  walk.each_item(init_containers, here, [&](const element& item, const Where& where) {
    read_container(walk, item, where, {true, &pod});
  });
  walk.each_item(containers, here, [&](const element& item, const Where& where) {
    read_container(walk, item, where, {false, &pod});
  });
  const bool preferred = has_preferred_affinity(walk, affinity, here);
  pod.soft_preferences = has_soft_spreading(walk, spreading, here) || preferred;
}

void read_status(DomWalk& walk, const Field& field, const Where& parent, PodFacts& pod) {
  if (!field.present) return;
  const Where here{&parent, field.key};
  std::array<Field, 2> wanted{{{"phase"}, {"nominatedNodeName"}}};
  walk.fields(field.value, here, wanted);
  std::string phase;
  walk.text(wanted[0], here, phase);
  walk.text(wanted[1], here, pod.nominated_node_name);
  pod.finished = phase == "Succeeded" || phase == "Failed";
}

void read_node_metadata(DomWalk& walk, const Field& field, const Where& parent, NodeFacts& node) {
  const Where here{&parent, field.key};
  if (!field.present) return walk.fail_at(here, "is missing");
  std::array<Field, 4> wanted{{{"name"}, {"resourceVersion"}, {"annotations"}, {"labels"}}};
  walk.fields(field.value, here, wanted);
  walk.text(wanted[0], here, node.name);
  walk.text(wanted[1], here, node.resource_version);
  read_map(walk, wanted[2], here, {{snug_key}, &node.annotations});
  read_map(walk, wanted[3], here, {{kept_label}, &node.labels});
  if (node.name.empty()) walk.fail_at(here, "has no name; a node must have one");
}

void read_node_status(DomWalk& walk, const Field& field, const Where& parent, NodeFacts& node) {
  if (!field.present) return;
  const Where here{&parent, field.key};
  std::array<Field, 3> wanted{{{"capacity"}, {"allocatable"}, {"nodeInfo"}}};
  walk.fields(field.value, here, wanted);
  read_map(walk, wanted[0], here, {{nvidia_key, true}, &node.capacity});
  read_map(walk, wanted[1], here, {{nvidia_key, true}, &node.allocatable});
  if (!wanted[2].present) return;
  const Where info{&here, wanted[2].key};
  std::array<Field, 1> boot{{{"bootID"}}};
  walk.fields(wanted[2].value, info, boot);
  walk.text(boot[0], info, node.boot_id);
}

}  // namespace

std::string Where::text() const {
  std::string path = up == nullptr ? std::string{} : up->text();
  if (!path.empty()) path += '.';
  path += printable(name);
  if (index >= 0) path += '[' + std::to_string(index) + ']';
  return path;
}

void DomWalk::fail_at(const Where& where, std::string_view problem) {
  if (ok_) fail_with({ErrorCode::kInvalid, where.text() + ' ' + std::string{problem}});
}

void DomWalk::fail_with(Error error) {
  if (!ok_) return;
  ok_ = false;
  error_ = std::move(error);
}

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
  const simdjson::error_code code = parser_->parse(json.data(), json.size(), false).get(root);
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
  return fail(ErrorCode::kInvalid, "the text is not valid JSON");
}

void DomParser::trim() {
  if (buffer_.capacity() > kKeptBytes) std::string{}.swap(buffer_);
  if (parser_ != nullptr && parser_->capacity() > kKeptBytes) parser_.reset();
}

Result<PodFacts> pod_from(const element& value, const Where& where) {
  DomWalk walk;
  PodFacts pod;
  std::array<Field, 3> wanted{{{"metadata"}, {"spec"}, {"status"}}};
  walk.fields(value, where, wanted);
  if (walk.ok()) read_pod_metadata(walk, wanted[0], where, pod);
  if (walk.ok()) read_spec(walk, wanted[1], where, pod);
  if (walk.ok()) read_status(walk, wanted[2], where, pod);
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
