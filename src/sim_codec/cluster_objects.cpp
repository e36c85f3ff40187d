#include "sim_codec/cluster_objects.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "sim_codec/other_systems.hpp"
#include "snug/codec/yaml.hpp"

namespace snug::sim_codec {
namespace {

using KubeJson = nlohmann::json;

/// The value under `key`; an empty value if `json` is not an object or has no such key.
const KubeJson& member(const KubeJson& json, const char* key) {
  static const KubeJson nothing;
  const auto found = json.find(key);
  return json.is_object() && found != json.end() ? *found : nothing;
}

std::string text_of(const KubeJson& json) {
  if (json.is_string()) return json.get<std::string>();
  return json.is_number() || json.is_boolean() ? json.dump() : "";
}

template <typename Keep>
model::StringMap texts_of(const KubeJson& json, Keep keep) {
  model::StringMap texts;
  if (!json.is_object()) return texts;
  for (const auto& [key, value] : json.items()) {
    if (keep(key)) texts.emplace(key, text_of(value));
  }
  return texts;
}

bool keep_all(std::string_view /*key*/) { return true; }

std::vector<sim::LabelRequirement> requirements_of(const KubeJson& json) {
  std::vector<sim::LabelRequirement> requirements;
  for (const KubeJson& expression : json) {
    sim::LabelRequirement& requirement = requirements.emplace_back();
    requirement.key = text_of(member(expression, "key"));
    requirement.op = sim::kLabelOperatorNames.find(text_of(member(expression, "operator")))
                         .value_or(sim::LabelOperator::kUnknown);
    for (const KubeJson& value : member(expression, "values"))
      requirement.values.push_back(text_of(value));
  }
  return requirements;
}

sim::NodeSelection selection_of(const KubeJson& spec) {
  sim::NodeSelection selection;
  selection.node_selector = texts_of(member(spec, "nodeSelector"), keep_all);
  const KubeJson& required = member(member(member(spec, "affinity"), "nodeAffinity"),
                                    "requiredDuringSchedulingIgnoredDuringExecution");
  if (required.is_object()) {
    selection.required_terms.emplace();
    for (const KubeJson& term : member(required, "nodeSelectorTerms")) {
      selection.required_terms->push_back(
          {.labels = requirements_of(member(term, "matchExpressions")),
           .fields = requirements_of(member(term, "matchFields"))});
    }
  }
  for (const KubeJson& toleration : member(spec, "tolerations")) {
    selection.tolerations.push_back(
        {.key = text_of(member(toleration, "key")),
         .value = text_of(member(toleration, "value")),
         .effect = text_of(member(toleration, "effect")),
         .exists = text_of(member(toleration, "operator")) == "Exists"});
  }
  return selection;
}

/// Whether a resource of a container can concern GPUs.
bool is_device_resource(std::string_view name) {
  return name.find('/') != std::string_view::npos && !name.starts_with("snug.dev/");
}

void add_containers(const KubeJson& containers, PodObject& pod) {
  for (const KubeJson& container : containers) {
    const KubeJson& resources = member(container, "resources");
    model::StringMap amounts = texts_of(member(resources, "limits"), is_device_resource);
    amounts.merge(texts_of(member(resources, "requests"), is_device_resource));
    pod.resources.emplace_back(text_of(member(container, "name")), std::move(amounts));
  }
}

template <typename Predicate>
bool any_of(const KubeJson& list, Predicate predicate) {
  return list.is_array() && std::any_of(list.begin(), list.end(), predicate);
}

bool has_other_rules(const KubeJson& spec) {
  const KubeJson& affinity = member(spec, "affinity");
  const auto is_required = [&](const char* kind) {
    return !member(member(affinity, kind), "requiredDuringSchedulingIgnoredDuringExecution")
                .empty();
  };
  return is_required("podAffinity") || is_required("podAntiAffinity") ||
         any_of(member(spec, "topologySpreadConstraints"),
                [](const KubeJson& rule) {
                  return text_of(member(rule, "whenUnsatisfiable")) == "DoNotSchedule";
                }) ||
         any_of(member(spec, "volumes"),
                [](const KubeJson& volume) {
                  return member(volume, "persistentVolumeClaim").is_object() ||
                         member(volume, "ephemeral").is_object();
                }) ||
         any_of(member(spec, "containers"), [](const KubeJson& container) {
           return any_of(member(container, "ports"),
                         [](const KubeJson& port) { return member(port, "hostPort").is_number(); });
         });
}

void add_pod(const KubeJson& object, ClusterObjects& objects) {
  const KubeJson& metadata = member(object, "metadata");
  const KubeJson& spec = member(object, "spec");
  PodObject pod;
  pod.selection = selection_of(spec);
  pod.annotations = texts_of(member(metadata, "annotations"), is_annotation_of_other_system);
  add_containers(member(spec, "initContainers"), pod);
  add_containers(member(spec, "containers"), pod);
  pod.claims_devices = !member(spec, "resourceClaims").empty();
  pod.has_other_rules = has_other_rules(spec);
  objects.pods.insert_or_assign(
      {text_of(member(metadata, "namespace")), text_of(member(metadata, "name"))}, std::move(pod));
}

void add_node(const KubeJson& object, ClusterObjects& objects) {
  const KubeJson& metadata = member(object, "metadata");
  const KubeJson& spec = member(object, "spec");
  NodeObject node;
  node.traits.labels = texts_of(member(metadata, "labels"), keep_all);
  node.traits.unschedulable = member(spec, "unschedulable") == true;
  for (const KubeJson& taint : member(spec, "taints")) {
    node.traits.taints.push_back({.key = text_of(member(taint, "key")),
                                  .value = text_of(member(taint, "value")),
                                  .effect = text_of(member(taint, "effect"))});
  }
  node.annotations = texts_of(member(metadata, "annotations"), is_annotation_of_other_system);
  node.capacity = texts_of(member(member(object, "status"), "capacity"), is_device_resource);
  objects.nodes.insert_or_assign(text_of(member(metadata, "name")), std::move(node));
}

/// Adds an object of one of these kinds, or of `list_kind` if it states no kind.
void add_object(const KubeJson& object, std::string_view default_kind, ClusterObjects& objects) {
  const KubeJson& kind_member = member(object, "kind");
  const std::string kind =
      kind_member.is_string() ? text_of(kind_member) : std::string(default_kind);
  if (kind == "Pod") add_pod(object, objects);
  if (kind == "Node") add_node(object, objects);
}

/// Parses the JSON and adds its objects. The items of a list are added one by one and then dropped:
/// a parsed cluster would take several times the memory of its text.
class ObjectsReader {
 public:
  explicit ObjectsReader(ClusterObjects& objects) : objects_(objects) {}

  bool read(std::string_view json) {
    const KubeJson rest = KubeJson::parse(
        json,
        [this](int depth, KubeJson::parse_event_t event, const KubeJson& value) {
          return keep(depth, event, value);
        },
        /*allow_exceptions=*/false);
    if (rest.is_discarded()) return false;
    add_object(rest, "", objects_);
    const std::string kind = text_of(member(rest, "kind"));
    for (const KubeJson& item : unkinded_)
      add_object(item, kind == "NodeList" ? "Node" : kind == "PodList" ? "Pod" : "", objects_);
    return true;
  }

 private:
  static constexpr int kRootKey = 1;  // the depth of `items`
  static constexpr int kItem = 2;     // the depth of the objects in `items`
  static constexpr int kPartKey = 4;  // the depth of keys in an item's metadata, spec and status

  bool keep(int depth, KubeJson::parse_event_t event, const KubeJson& value) {
    using Event = KubeJson::parse_event_t;
    if (event == Event::key && depth == kRootKey) in_items_ = value == "items";
    if (!in_items_) return true;
    if (event == Event::key && depth == kPartKey) return !is_long_part(value);
    if (event != Event::object_end || depth != kItem) return true;
    if (member(value, "kind").is_string()) {
      add_object(value, "", objects_);
    } else {
      unkinded_.push_back(value);
    }
    return false;
  }

  /// Parts of objects that are long and not read.
  static bool is_long_part(const KubeJson& key) {
    return key == "managedFields" || key == "containerStatuses" || key == "images" ||
           key == "conditions";
  }

  ClusterObjects& objects_;
  bool in_items_ = false;
  std::vector<KubeJson> unkinded_;  // the items of a NodeList or PodList need not state their kind
};

}  // namespace

base::Result<void> read_cluster_objects(std::string_view text, std::string_view source,
                                        const base::Limits& limits, ClusterObjects& objects) {
  std::string json_of_yaml;
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') {
    const auto tree = codec::parse_yaml(text, source, limits);
    if (!tree) return std::unexpected(tree.error());
    json_of_yaml = codec::to_json(*tree);
    text = json_of_yaml;
  }
  if (ObjectsReader(objects).read(text)) return {};
  return base::fail(base::ErrorCode::kInvalid, std::string(source) + ": it is not valid JSON");
}

}  // namespace snug::sim_codec
