#include "snug/codec/manifests.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "codec/kube_json.hpp"
#include "snug/base/text.hpp"
#include "snug/codec/json_scan.hpp"
#include "snug/codec/yaml.hpp"

namespace snug::codec {
namespace {

using simdjson::dom::element;

class ManifestReader {
 public:
  ManifestReader(std::string_view source, const base::Limits& limits)
      : source_(source), parser_(limits) {}

  base::Result<Manifests> read(std::string_view json) {
    const SplitList split = split_list(json);
    auto manifest = parser_.parse(split.frame);
    if (!manifest) return with_source(manifest.error());
    const FieldPath where{nullptr, "the manifest"};
    auto kind = read_kind(*manifest, where, "");
    if (!kind) return with_source(kind.error());
    if (*kind == "Node" || *kind == "Pod") {
      if (auto added = add(*manifest, *kind, where); !added) return with_source(added.error());
      return std::move(manifests_);
    }
    std::string item_kind;
    if (*kind == "NodeList") item_kind = "Node";
    if (*kind == "PodList") item_kind = "Pod";
    if (item_kind.empty() && *kind != "List") {
      return with_source(
          {base::ErrorCode::kInvalid, "the manifest is of kind " + base::in_quotes(*kind) +
                                          "; expected List, NodeList, PodList, Node or Pod"});
    }
    if (auto checked = check_frame(*manifest, where); !checked) return with_source(checked.error());
    for (std::size_t i = 0; i < split.items.size(); ++i) {
      const FieldPath here{nullptr, "items", static_cast<std::ptrdiff_t>(i)};
      if (auto added = add_item(split.items[i], here, item_kind); !added) {
        return with_source(added.error());
      }
    }
    return std::move(manifests_);
  }

 private:
  std::unexpected<base::Error> with_source(const base::Error& error) const {
    return base::fail(error.code, std::string(source_) + ": " + error.message);
  }

  static base::Result<std::string> read_kind(const element& object, const FieldPath& where,
                                             const std::string& default_kind) {
    DomWalk walk;
    std::array<Field, 1> kind_fields{{{"kind"}}};
    std::string kind = default_kind;
    walk.fields(object, where, kind_fields);
    walk.text(kind_fields[0], where, kind);
    if (walk.ok() && kind.empty()) walk.fail_at(FieldPath{&where, "kind"}, "is missing");
    if (!walk.ok()) return walk.take_error();
    return kind;
  }

  /// Fails if the frame still has items. split_list() moves the items out of the frame, but does
  /// not find them if their key is written with escapes.
  static base::Result<void> check_frame(const element& manifest, const FieldPath& where) {
    DomWalk walk;
    std::array<Field, 1> items_fields{{{"items"}}};
    walk.fields(manifest, where, items_fields);
    walk.each_item(items_fields[0], where, [&](const element&, const FieldPath& item) {
      walk.fail_at(item, "is under a key that is written with escapes; write the key as \"items\"");
    });
    if (!walk.ok()) return walk.take_error();
    return {};
  }

  base::Result<void> add_item(std::string_view text, const FieldPath& where,
                              const std::string& default_kind) {
    auto list_item = parser_.parse(text);
    if (!list_item)
      return base::fail(list_item.error().code, where.to_text() + ": " + list_item.error().message);
    auto item_kind = read_kind(*list_item, where, default_kind);
    if (!item_kind) return std::unexpected(item_kind.error());
    return add(*list_item, *item_kind, where);
  }

  base::Result<void> add(const element& object, const std::string& kind, const FieldPath& where) {
    if (kind == "Pod") {
      auto pod = pod_from(object, where);
      if (!pod) return std::unexpected(pod.error());
      if (!pods_.emplace(pod->name_space, pod->name).second) {
        return duplicate_error(where, "pod " + pod->name_space + "/" + pod->name);
      }
      manifests_.pods.push_back(*std::move(pod));
      return {};
    }
    if (kind == "Node") {
      auto node = node_from(object, where);
      if (!node) return std::unexpected(node.error());
      if (!nodes_.insert(node->name).second) return duplicate_error(where, "node " + node->name);
      manifests_.nodes.push_back(*std::move(node));
      return {};
    }
    return base::fail(base::ErrorCode::kInvalid, where.to_text() + " is of kind " +
                                                     base::in_quotes(kind) +
                                                     "; only Nodes and Pods are allowed");
  }

  static std::unexpected<base::Error> duplicate_error(const FieldPath& where,
                                                      const std::string& object_text) {
    return base::fail(base::ErrorCode::kInvalid,
                      where.to_text() + ": the " + object_text + " is given twice");
  }

  std::string_view source_;
  DomParser parser_;
  Manifests manifests_;
  std::set<std::string> nodes_;
  std::set<std::pair<std::string, std::string>> pods_;
};

base::Result<std::string> yaml_to_json(std::string_view text, std::string_view source,
                                       const base::Limits& limits) {
  const auto tree = parse_yaml(text, source, limits);
  if (tree) return to_json(*tree);
  base::Error error = tree.error();
  if (error.code == base::ErrorCode::kTooLarge) {
    error.message += "; give larger manifests as JSON";
  } else if (text.find("\n---") != std::string_view::npos) {
    error.message += "; put several objects into one List, as kubectl get -o yaml does";
  }
  return std::unexpected(std::move(error));
}

}  // namespace

base::Result<Manifests> read_manifests(std::string_view text, std::string_view source,
                                       const base::Limits& limits) {
  if (static_cast<std::int64_t>(text.size()) > limits.max_manifest_bytes) {
    return base::fail(base::ErrorCode::kTooLarge,
                      std::string(source) + ": the manifest has more than " +
                          std::to_string(limits.max_manifest_bytes) + " bytes");
  }
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') {
    return ManifestReader(source, limits).read(text);
  }
  const auto json = yaml_to_json(text, source, limits);
  if (!json) return std::unexpected(json.error());
  return ManifestReader(source, limits).read(*json);
}

base::Result<void> append(Manifests& manifests, Manifests file_manifests, std::string_view source) {
  std::set<std::string> seen_objects;
  const auto add_once = [&](const std::string& object_text) -> base::Result<void> {
    if (seen_objects.insert(object_text).second) return {};
    return base::fail(base::ErrorCode::kInvalid, std::string(source) + ": the " + object_text +
                                                     " is given twice in the manifests");
  };
  const auto add_all = [&](const Manifests& objects) -> base::Result<void> {
    for (const model::NodeFacts& node : objects.nodes) {
      if (auto added = add_once("node " + node.name); !added) return added;
    }
    for (const model::PodFacts& pod : objects.pods) {
      if (auto added = add_once("pod " + pod.name_space + "/" + pod.name); !added) return added;
      if (pod.uid.empty()) continue;
      if (auto added = add_once("uid " + pod.uid); !added) return added;
    }
    return {};
  };
  if (auto added = add_all(manifests); !added) return added;
  if (auto added = add_all(file_manifests); !added) return added;
  std::ranges::move(file_manifests.nodes, std::back_inserter(manifests.nodes));
  std::ranges::move(file_manifests.pods, std::back_inserter(manifests.pods));
  return {};
}

}  // namespace snug::codec
