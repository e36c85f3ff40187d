#include "snug/codec/pod_templates.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "snug/base/text.hpp"
#include "snug/codec/kube_objects.hpp"
#include "snug/codec/yaml.hpp"
#include "snug/request/pod_request_parser.hpp"

namespace snug::codec {
namespace {

using TemplateJson = nlohmann::json;

/// The kinds with a pod template, and where it is.
struct WorkloadKind {
  std::string_view kind;
  std::string_view path;
};
constexpr auto kWorkloads =
    std::to_array<WorkloadKind>({{"Deployment", "spec.template"},
                                 {"StatefulSet", "spec.template"},
                                 {"DaemonSet", "spec.template"},
                                 {"ReplicaSet", "spec.template"},
                                 {"ReplicationController", "spec.template"},
                                 {"Job", "spec.template"},
                                 {"CronJob", "spec.jobTemplate.spec.template"}});

TemplateJson::json_pointer pointer_to(std::string_view path) {
  std::string pointer = "/" + std::string(path);
  std::ranges::replace(pointer, '.', '/');
  return TemplateJson::json_pointer(pointer);
}

/// Whether the line separates two documents: `---`, perhaps with a comment.
bool is_separator(std::string_view line) {
  if (!line.starts_with("---")) return false;
  const std::size_t next = line.find_first_not_of("- \t\r");
  return next == std::string_view::npos || line[next] == '#';
}

/// The documents of a YAML stream.
std::vector<std::string_view> documents_of(std::string_view text) {
  std::vector<std::string_view> documents;
  std::size_t begin = 0;
  for (std::size_t line = 0; line < text.size();) {
    const std::size_t end = std::min(text.find('\n', line), text.size());
    const std::string_view content = text.substr(line, end - line);
    if (is_separator(content)) {
      documents.push_back(text.substr(begin, line - begin));
      begin = std::min(end + 1, text.size());
    }
    line = end + 1;
  }
  documents.push_back(text.substr(begin));
  std::erase_if(documents, [](std::string_view document) {
    while (!document.empty()) {
      const std::size_t end = std::min(document.find('\n'), document.size());
      const std::string_view line = document.substr(0, end);
      const std::size_t first = line.find_first_not_of(" \t\r");
      if (first != line.npos && line[first] != '#') return false;
      document.remove_prefix(std::min(end + 1, document.size()));
    }
    return true;
  });
  return documents;
}

/// The error of parse_yaml() in a document of `text`, with the line counted in the text.
base::Error error_in_stream(std::string_view text, std::string_view document,
                            std::string_view source, const base::Limits& limits) {
  const std::string_view before =
      text.substr(0, static_cast<std::size_t>(document.data() - text.data()));
  std::string at_its_line(static_cast<std::size_t>(std::ranges::count(before, '\n')), '\n');
  const auto tree = parse_yaml(at_its_line.append(document), source, limits);
  return tree ? base::Error{base::ErrorCode::kInvalid,
                            std::string(source) + ": it is not valid YAML"}
              : tree.error();
}

class TemplateReader {
 public:
  TemplateReader(std::string_view source, std::string_view default_namespace,
                 const base::Limits& limits)
      : source_(source), default_namespace_(default_namespace), reader_(limits) {}

  base::Result<void> add(const TemplateJson& object) {
    if (!object.is_object()) return fail("the manifest must be an object");
    const std::string kind = text_of(object, "kind");
    if (kind == "List" || kind == "PodList") {
      const auto items = object.find("items");
      if (items == object.end() || !items->is_array()) return {};
      for (const TemplateJson& item : *items) {
        TemplateJson child = item;
        if (kind == "PodList" && child.is_object()) child["kind"] = "Pod";
        if (auto added = add(child); !added) return added;
      }
      return {};
    }
    if (kind == "Pod") return add_pod(object, object, {});
    const auto workload = std::ranges::find(kWorkloads, kind, &WorkloadKind::kind);
    if (workload == kWorkloads.end()) {
      skipped_ += (skipped_.empty() ? "" : ", ") + (kind.empty() ? "an object without kind" : kind);
      return {};
    }
    const TemplateJson::json_pointer pointer = pointer_to(workload->path);
    if (!object.contains(pointer)) return fail(kind + " has no " + std::string(workload->path));
    return add_pod(object.at(pointer), object, workload->path);
  }

  base::Result<std::vector<PodTemplate>> pods() && {
    if (!pods_.empty()) return std::move(pods_);
    return base::fail(base::ErrorCode::kInvalid,
                      std::string(source_) +
                          ": there is no pod and no workload that makes pods (Deployment, Job…)" +
                          (skipped_.empty() ? "" : "; it has " + base::clip_text(skipped_, 200)));
  }

  [[nodiscard]] std::unexpected<base::Error> fail(const std::string& sentence) const {
    return base::fail(base::ErrorCode::kInvalid, std::string(source_) + ": " + sentence);
  }

 private:
  static std::string text_of(const TemplateJson& object, const char* key) {
    const auto member = object.is_object() ? object.find(key) : object.end();
    return member == object.end() || !member->is_string() ? "" : member->get<std::string>();
  }

  /// `owner` is the pod itself or the workload, which has the name and the namespace. `path` is
  /// where the pod is in the workload.
  base::Result<void> add_pod(const TemplateJson& pod, const TemplateJson& owner,
                             std::string_view path) {
    const TemplateJson none = TemplateJson::object();
    const TemplateJson& owner_meta = owner.contains("metadata") ? owner.at("metadata") : none;
    TemplateJson complete = pod;
    if (!complete.is_object()) return fail("a pod must be an object");
    TemplateJson& metadata = complete["metadata"];
    if (metadata.is_null()) metadata = TemplateJson::object();
    if (!metadata.is_object()) return fail("metadata must be an object");
    std::string name = text_of(owner_meta, "name");
    if (name.empty()) name = text_of(owner_meta, "generateName");
    std::string name_space = text_of(owner_meta, "namespace");
    metadata["name"] = name.empty() ? "unnamed" : name;
    metadata["namespace"] = name_space.empty() ? std::string(default_namespace_) : name_space;
    auto facts = reader_.read_pod(complete.dump());
    if (!facts) return fail(facts.error().message);
    PodTemplate& added = pods_.emplace_back(PodTemplate{
        .pod = *std::move(facts), .workload = path.empty() ? "" : text_of(owner, "kind")});
    if (path.empty()) return {};
    add_misplaced_keys(owner, "", path, added);
    if (added.workload == "CronJob") add_misplaced_keys(owner, "spec.jobTemplate.", path, added);
    return {};
  }

  /// `place`: of the metadata that are looked at; empty, or a path that ends with a dot.
  static void add_misplaced_keys(const TemplateJson& owner, const std::string& place,
                                 std::string_view path, PodTemplate& added) {
    const TemplateJson::json_pointer pointer = pointer_to(place + "metadata.annotations");
    if (!owner.contains(pointer) || !owner.at(pointer).is_object()) return;
    for (const auto& [key, value] : owner.at(pointer).items()) {
      if (!request::is_request_key(key) || added.pod.annotations.contains(key)) continue;
      added.misplaced_keys.push_back(
          "the " + text_of(owner, "kind") + " " + added.pod.name + " has the annotation " + key +
          (place.empty() ? "" : " under " + place + "metadata") +
          ", and Snug reads annotations of pods only; expected it under " + std::string(path) +
          ".metadata.annotations");
    }
  }

  std::string_view source_;
  std::string_view default_namespace_;
  KubeObjectReader reader_;
  std::vector<PodTemplate> pods_;
  std::string skipped_;  // kinds
};

}  // namespace

base::Result<std::vector<PodTemplate>> read_pod_templates(std::string_view text,
                                                          std::string_view source,
                                                          std::string_view default_namespace,
                                                          const base::Limits& limits) {
  TemplateReader reader(source, default_namespace, limits);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != text.npos && text[first] == '{';
  const std::vector<std::string_view> documents =
      is_json ? std::vector<std::string_view>{text} : documents_of(text);
  for (const std::string_view document : documents) {
    std::string json(document);
    if (!is_json) {
      const auto tree = parse_yaml(document, source, limits);
      if (!tree) return std::unexpected(error_in_stream(text, document, source, limits));
      json = to_json(*tree);
    }
    const TemplateJson object = TemplateJson::parse(json, nullptr, /*allow_exceptions=*/false);
    if (object.is_discarded()) return reader.fail("it is not valid JSON");
    if (object.is_null()) continue;  // an empty document
    if (auto added = reader.add(object); !added) return std::unexpected(added.error());
  }
  return std::move(reader).pods();
}

}  // namespace snug::codec
