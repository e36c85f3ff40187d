#include "snug/codec/admission_review.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "codec/kube_json.hpp"
#include "codec/kube_pod_reader.hpp"
#include "snug/base/text.hpp"
#include "snug/model/mirrored_amounts.hpp"

namespace snug::codec {
namespace {

using simdjson::dom::element;

constexpr std::string_view kReviewVersion = "admission.k8s.io/v1";
constexpr std::string_view kReviewKind = "AdmissionReview";
constexpr std::size_t kMaxUid = 253;  // bytes; the API server sends 36

bool is_mirror_pod_key(std::string_view key) { return key == "kubernetes.io/config.mirror"; }

/// Reads the parts of a pod that additions depend on.
class AdmittedPodReader {
 public:
  base::Result<admission::AdmittedPod> read(const element& object, const FieldPath& where) {
    std::array<Field, 2> pod_fields{{{"metadata"}, {"spec"}}};
    walk_.fields(object, where, pod_fields);
    if (walk_.ok()) read_metadata(pod_fields[0], where);
    if (walk_.ok()) read_pod_spec(walk_, pod_fields[1], where, pod_.facts);
    if (walk_.ok() && pod_fields[1].present) read_spec(pod_fields[1], where);
    if (!walk_.ok()) return walk_.take_error();
    return std::move(pod_);
  }

  /// Reads only the annotations and the tolerations.
  base::Result<admission::AdmittedPod> read_before(const element& object, const FieldPath& where) {
    std::array<Field, 2> pod_fields{{{"metadata"}, {"spec"}}};
    const auto& [metadata, spec] = pod_fields;
    walk_.fields(object, where, pod_fields);
    if (walk_.ok()) read_metadata(metadata, where);
    if (walk_.ok() && spec.present) {
      std::array<Field, 1> spec_fields{{{"tolerations"}}};
      const FieldPath spec_path{&where, spec.key};
      walk_.fields(spec.value, spec_path, spec_fields);
      read_tolerations(spec_fields[0], spec_path);
    }
    if (!walk_.ok()) return walk_.take_error();
    return std::move(pod_);
  }

 private:
  void read_metadata(const Field& metadata, const FieldPath& where) {
    if (!metadata.present) return;
    const FieldPath metadata_path{&where, metadata.key};
    std::array<Field, 1> metadata_fields{{{"annotations"}}};
    walk_.fields(metadata.value, metadata_path, metadata_fields);
    const Field& annotations = metadata_fields[0];
    walk_.map(annotations, metadata_path,
              {.keep = is_relevant_annotation, .bytes = &pod_.facts.annotation_bytes},
              pod_.facts.annotations);
    model::StringMap static_mirror;
    walk_.map(annotations, metadata_path, {.keep = is_mirror_pod_key}, static_mirror);
    pod_.is_mirror_pod = !static_mirror.empty();
  }

  void read_spec(const Field& spec, const FieldPath& where) {
    const FieldPath spec_path{&where, spec.key};
    std::array<Field, 4> spec_fields{
        {{"runtimeClassName"}, {"tolerations"}, {"containers"}, {"initContainers"}}};
    const auto& [runtime_class, tolerations, containers, init_containers] = spec_fields;
    walk_.fields(spec.value, spec_path, spec_fields);
    read_text(runtime_class, spec_path, pod_.runtime_class);
    read_tolerations(tolerations, spec_path);
    walk_.each_item(containers, spec_path, [&](const element& item, const FieldPath& item_path) {
      read_fields(item, item_path, pod_.containers.emplace_back());
    });
    walk_.each_item(init_containers, spec_path,
                    [&](const element& item, const FieldPath& item_path) {
                      read_fields(item, item_path, pod_.init_containers.emplace_back());
                    });
  }

  void read_text(const Field& field, const FieldPath& parent, std::optional<std::string>& out) {
    if (field.present) walk_.text(field, parent, out.emplace());
  }

  void read_tolerations(const Field& tolerations, const FieldPath& parent) {
    if (!tolerations.present) return;
    std::vector<admission::PodToleration>& list = pod_.tolerations.emplace();
    walk_.each_item(tolerations, parent, [&](const element& item, const FieldPath& item_path) {
      read_toleration(item, item_path, list.emplace_back());
    });
  }

  void read_toleration(const element& item, const FieldPath& where,
                       admission::PodToleration& toleration) {
    std::array<Field, 3> toleration_fields{{{"key"}, {"operator"}, {"effect"}}};
    walk_.fields(item, where, toleration_fields);
    read_text(toleration_fields[0], where, toleration.key);
    walk_.text(toleration_fields[1], where, toleration.op);
    walk_.text(toleration_fields[2], where, toleration.effect);
  }

  void read_fields(const element& item, const FieldPath& where,
                   admission::ContainerFields& container) {
    std::array<Field, 3> container_fields{{{"name"}, {"env"}, {"resources"}}};
    const auto& [name, env, resources] = container_fields;
    walk_.fields(item, where, container_fields);
    walk_.text(name, where, container.name);
    if (env.present) container.variables.emplace();
    walk_.each_item(env, where, [&](const element& variable, const FieldPath& variable_path) {
      std::array<Field, 1> variable_fields{{{"name"}}};
      walk_.fields(variable, variable_path, variable_fields);
      walk_.text(variable_fields[0], variable_path, container.variables->emplace_back());
    });
    container.has_resources = resources.present;
    if (!resources.present) return;
    const FieldPath resources_path{&where, resources.key};
    std::array<Field, 2> lists{{{"limits"}, {"requests"}}};
    walk_.fields(resources.value, resources_path, lists);
    read_amounts(lists[0], resources_path, container.limits);
    read_amounts(lists[1], resources_path, container.requests);
  }

  void read_amounts(const Field& list, const FieldPath& parent,
                    std::optional<model::StringMap>& amounts) {
    if (!list.present) return;
    walk_.map(list, parent, {.keep = is_mirrored_resource, .quantities = true}, amounts.emplace());
  }

  DomWalk walk_;
  admission::AdmittedPod pod_;
};

std::unexpected<base::Error> invalid_review(const std::string& problem) {
  return base::fail(base::ErrorCode::kInvalid, problem);
}

/// Whether the request is about a pod itself.
bool is_about_a_pod(DomWalk& walk, const Field& resource, const Field& subresource,
                    const FieldPath& where) {
  std::string subresource_name;
  walk.text(subresource, where, subresource_name);
  if (!resource.present) {
    walk.fail_at(FieldPath{&where, resource.key}, "is missing");
    return false;
  }
  std::array<Field, 3> resource_fields{{{"group"}, {"version"}, {"resource"}}};
  std::array<std::string, 3> texts;
  const FieldPath resource_path{&where, resource.key};
  walk.fields(resource.value, resource_path, resource_fields);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    walk.text(resource_fields[i], resource_path, texts[i]);
  }
  return subresource_name.empty() && texts == std::array<std::string, 3>{"", "v1", "pods"};
}

/// Does not set PodReview::creates.
base::Result<admission::PodReview> read_pod_review(const Field& object, const Field& old_object) {
  auto pod = AdmittedPodReader().read(object.value, FieldPath{nullptr, "the pod"});
  if (!pod) return std::unexpected(std::move(pod.error()));
  admission::PodReview review{.pod = *std::move(pod)};
  if (!old_object.present) return review;
  auto before =
      AdmittedPodReader().read_before(old_object.value, FieldPath{nullptr, "the old pod"});
  if (!before) return std::unexpected(std::move(before.error()));
  review.annotations_before = std::move(before->facts.annotations);
  review.tolerations_before =
      std::move(before->tolerations).value_or(std::vector<admission::PodToleration>{});
  return review;
}

base::Result<AdmissionReview> read_request(const Field& request, const FieldPath& parent) {
  const FieldPath where{&parent, request.key};
  DomWalk walk;
  AdmissionReview review;
  std::array<Field, 6> request_fields{
      {{"uid"}, {"resource"}, {"subResource"}, {"operation"}, {"object"}, {"oldObject"}}};
  const auto& [uid, resource, subresource, operation_field, object, old_object] = request_fields;
  walk.fields(request.value, where, request_fields);
  walk.text(uid, where, review.uid);
  std::string operation;
  walk.text(operation_field, where, operation);
  const bool about_a_pod = is_about_a_pod(walk, resource, subresource, where);
  if (!walk.ok()) return walk.take_error();
  if (review.uid.empty() || review.uid.size() > kMaxUid) {
    return invalid_review("request.uid must be a string of 1 to " + std::to_string(kMaxUid) +
                          " characters");
  }
  const bool creates = operation == "CREATE";
  if (!about_a_pod || (!creates && operation != "UPDATE")) return review;
  if (!object.present) return invalid_review("request.object is missing or null; it must be a pod");
  auto pod_review = read_pod_review(object, old_object);
  if (pod_review) {
    review.pod = *std::move(pod_review);
    review.pod->creates = creates;
  } else if (creates) {
    review.unreadable_new_pod = std::move(pod_review.error().message);
  }
  return review;
}

/// Escapes a part of a JSON Pointer (RFC 6901).
void append_pointer_part(std::string& pointer, std::string_view part) {
  pointer += '/';
  for (const char c : part) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
}

struct ToJson {
  nlohmann::ordered_json operator()(const admission::EmptyList& /*value*/) const {
    return nlohmann::ordered_json::array();
  }
  nlohmann::ordered_json operator()(const admission::EmptyObject& /*value*/) const {
    return nlohmann::ordered_json::object();
  }
  nlohmann::ordered_json operator()(const std::string& text) const { return text; }
  nlohmann::ordered_json operator()(const admission::NewToleration& toleration) const {
    return {{"key", toleration.key}, {"operator", "Exists"}};
  }
  nlohmann::ordered_json operator()(const admission::NewVariable& variable) const {
    return {{"name", variable.name},
            {"valueFrom", {{"fieldRef", {{"fieldPath", variable.field_path}}}}}};
  }
};

std::string dump(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string write_patch(const std::vector<admission::Addition>& additions) {
  nlohmann::ordered_json patch = nlohmann::ordered_json::array();
  for (const admission::Addition& addition : additions) {
    std::string pointer;
    for (const std::string& part : addition.path) append_pointer_part(pointer, part);
    patch.push_back(
        {{"op", "add"}, {"path", pointer}, {"value", std::visit(ToJson{}, addition.value)}});
  }
  return dump(patch);
}

std::string write_review(nlohmann::ordered_json response) {
  return dump(
      {{"apiVersion", kReviewVersion}, {"kind", kReviewKind}, {"response", std::move(response)}});
}

}  // namespace

base::Result<AdmissionReview> read_admission_review(std::string& body, const base::Limits& limits) {
  DomParser parser(limits);
  const base::Result<element> root = parser.parse_in_place(body);
  if (!root) return std::unexpected(root.error());
  DomWalk walk;
  const FieldPath body_path{nullptr, "the body"};
  std::array<Field, 3> review_fields{{{"apiVersion"}, {"kind"}, {"request"}}};
  walk.fields(*root, body_path, review_fields);
  std::string version;
  std::string kind;
  walk.text(review_fields[0], body_path, version);
  walk.text(review_fields[1], body_path, kind);
  if (!walk.ok()) return walk.take_error();
  if (version != kReviewVersion || kind != kReviewKind) {
    return invalid_review("the body must be an AdmissionReview of admission.k8s.io/v1");
  }
  if (!review_fields[2].present) return invalid_review("request is missing or null");
  return read_request(review_fields[2], FieldPath{});
}

std::string write_allowed(std::string_view uid, const std::vector<admission::Addition>& additions) {
  nlohmann::ordered_json response{{"uid", uid}, {"allowed", true}};
  if (!additions.empty()) {
    response["patchType"] = "JSONPatch";
    response["patch"] = base::encode_base64(write_patch(additions));
  }
  return write_review(std::move(response));
}

std::string write_denied(std::string_view uid, std::string_view sentence) {
  constexpr int kUnprocessable = 422;
  return write_review(
      {{"uid", uid},
       {"allowed", false},
       {"status", {{"code", kUnprocessable}, {"reason", "Invalid"}, {"message", sentence}}}});
}

}  // namespace snug::codec
