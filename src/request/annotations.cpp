#include "request/annotations.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "request/malformed.hpp"
#include "snug/base/limits.hpp"

namespace snug::request {
namespace {

constexpr std::string_view kDefaultContainerKey = "kubectl.kubernetes.io/default-container";
/// Limits the part of the key `snug.dev/visible-devices.<container>` after the slash to 63
/// characters.
constexpr std::size_t kMaxContainerName = 47;
constexpr std::size_t kMaxPolicyName = kMaxShownValue;

using Containers = std::vector<model::ContainerFacts>;

std::optional<std::size_t> find_container(const Containers& containers, std::string_view name) {
  const auto found = std::ranges::find(containers, name, &model::ContainerFacts::name);
  if (found == containers.end()) return std::nullopt;
  return static_cast<std::size_t>(found - containers.begin());
}

std::optional<model::Refusal> put(std::optional<Annotation>& place, const Annotation& annotation) {
  if (place) {
    return malformed(shown(place->key) + " and " + shown(annotation.key) +
                     " are two names of one setting; expected one of the two")
        .error();
  }
  place = annotation;
  return std::nullopt;
}

std::optional<model::Refusal> put_policy(SortedAnnotations& sorted_annotations,
                                         const Annotation& annotation) {
  if (annotation.value.empty() || annotation.value.size() > kMaxPolicyName ||
      !std::ranges::all_of(annotation.value, is_printable)) {
    return bad_value(annotation.key, annotation.value,
                     "the name of a profile, of 1 to 63 printable characters")
        .error();
  }
  sorted_annotations.policy = annotation;
  return std::nullopt;
}

std::optional<model::Refusal> sort_one(const Containers& containers, const FoundKey& found_key,
                                       const Annotation& annotation,
                                       SortedAnnotations& sorted_annotations) {
  if (found_key.container && found_key.scope != KeyScope::kContainer) {
    return malformed(shown(annotation.key) + " names a container; expected " +
                     shown(annotation.key.substr(0, annotation.key.find('.'))) +
                     ", which is for the whole pod")
        .error();
  }
  if (found_key.scope == KeyScope::kPolicy) return put_policy(sorted_annotations, annotation);
  sorted_annotations.ask = true;
  if (found_key.scope == KeyScope::kMainContainer)
    return put(sorted_annotations.main_container, annotation);
  if (!found_key.container)
    return put(sorted_annotations.unsuffixed.rows[found_key.row], annotation);
  const auto container_index = find_container(containers, *found_key.container);
  if (!container_index) {
    return malformed(shown(annotation.key) + " is for the container \"" +
                     shown(*found_key.container) +
                     "\"; expected the name of one of the pod's containers")
        .error();
  }
  sorted_annotations.suffixed.resize(containers.size());
  return put(sorted_annotations.suffixed[*container_index].rows[found_key.row], annotation);
}

/// The position of the container to which keys without the suffix `.<container>` apply.
/// `main_container` is the annotation that names this container, if there is one.
std::expected<std::size_t, model::Refusal> target_of(
    const model::PodFacts& pod, const std::optional<Annotation>& main_container) {
  const Containers& containers = pod.containers;
  if (main_container) {
    if (const auto container_index = find_container(containers, main_container->value))
      return *container_index;
    return bad_value(main_container->key, main_container->value,
                     "the name of one of the pod's containers");
  }
  const auto by_default = pod.annotations.find(kDefaultContainerKey);
  if (by_default != pod.annotations.end()) {
    if (const auto container_index = find_container(containers, by_default->second))
      return *container_index;
  }
  const auto app =
      std::ranges::find(containers, model::ContainerType::kApp, &model::ContainerFacts::type);
  if (app == containers.end()) return malformed("the pod asks for a GPU and has no container");
  return static_cast<std::size_t>(app - containers.begin());
}

std::optional<model::Refusal> check_names(const Containers& containers) {
  for (const model::ContainerFacts& container : containers) {
    if (container.name.size() <= kMaxContainerName) continue;
    return malformed("the container name " + shown(container.name) +
                     " is too long for a pod with GPU annotations; expected at most 47 characters")
        .error();
  }
  return std::nullopt;
}

std::optional<model::Refusal> check_numbers(
    const std::vector<model::ContainerRequest>& containers) {
  if (containers.size() > base::kMaxGpuContainers) {
    return malformed(std::to_string(containers.size()) +
                     " containers of the pod ask for GPUs by annotation; expected at most " +
                     std::to_string(base::kMaxGpuContainers))
        .error();
  }
  std::int64_t devices = 0;
  for (const model::ContainerRequest& container : containers) devices += container.count;
  if (containers.size() > 1 && devices > base::kMaxMultiContainerDevices) {
    return malformed("several containers of the pod ask for " + std::to_string(devices) +
                     " GPUs in all; expected at most " +
                     std::to_string(base::kMaxMultiContainerDevices))
        .error();
  }
  return std::nullopt;
}

enum class RequestKind : std::uint8_t { kShare, kWhole, kSlice };

RequestKind kind_of(const model::ContainerRequest& container_request) {
  if (std::holds_alternative<model::WholeGpuRequest>(container_request.device))
    return RequestKind::kWhole;
  return std::holds_alternative<model::SliceRequest>(container_request.device)
             ? RequestKind::kSlice
             : RequestKind::kShare;
}

/// Whether an init container can use the devices of a container that runs after it. If it requests
/// a share, it can use any device. If it requests whole GPUs or a slice, the other container must
/// also request whole GPUs, or a slice of the same profile.
bool may_use(const model::ContainerRequest& init, const model::ContainerRequest& later) {
  const RequestKind init_kind = kind_of(init);
  if (init_kind == RequestKind::kShare) return true;
  return init_kind == kind_of(later) &&
         (init_kind == RequestKind::kWhole || init.device == later.device);
}

std::string_view in_words(RequestKind kind) {
  switch (kind) {
    case RequestKind::kWhole:
      return "whole GPUs";
    case RequestKind::kSlice:
      return "a slice";
    case RequestKind::kShare:
      break;
  }
  return "a share";
}

/// What the init container may request instead, as text for the refusal.
std::string_view instead(RequestKind init_kind, RequestKind later_kind) {
  if (later_kind == RequestKind::kShare) return "a share for the init container too";
  return init_kind == later_kind ? "a share for the init container, or the same profile"
                                 : "a share for the init container";
}

/// Refuses a plain init container that cannot use the GPUs of the containers that run after it.
std::optional<model::Refusal> check_init_containers(
    const std::vector<model::ContainerRequest>& containers) {
  for (const model::ContainerRequest& init : containers) {
    if (init.type != model::ContainerType::kInit) continue;
    const auto mismatch =
        std::ranges::find_if(containers, [&](const model::ContainerRequest& later_request) {
          return later_request.type != model::ContainerType::kInit && !may_use(init, later_request);
        });
    if (mismatch == containers.end()) continue;
    const RequestKind init_kind = kind_of(init);
    const RequestKind later_kind = kind_of(*mismatch);
    return malformed("the init container \"" + shown(init.container) + "\" asks for " +
                     std::string(in_words(init_kind)) + " (" + shown(init.text) +
                     ") and the container \"" + shown(mismatch->container) + "\" for " +
                     std::string(init_kind == later_kind ? "another" : in_words(later_kind)) +
                     " (" + shown(mismatch->text) + "); expected " +
                     std::string(instead(init_kind, later_kind)))
        .error();
  }
  return std::nullopt;
}

}  // namespace

std::expected<SortedAnnotations, model::Refusal> sort_annotations(const model::PodFacts& pod) {
  SortedAnnotations sorted_annotations;
  for (const auto& [key, value] : pod.annotations) {
    const std::optional<FoundKey> found_key = find_key(key);
    if (!found_key) continue;
    if (auto refusal = sort_one(pod.containers, *found_key, {key, value}, sorted_annotations)) {
      return std::unexpected(*std::move(refusal));
    }
  }
  return sorted_annotations;
}

std::expected<model::GpuRequest, model::Refusal> parse_annotations(const model::PodFacts& pod,
                                                                   SortedAnnotations annotations) {
  if (auto refusal = check_names(pod.containers)) return std::unexpected(*std::move(refusal));
  const auto target_container = target_of(pod, annotations.main_container);
  if (!target_container) return std::unexpected(target_container.error());
  std::vector<ContainerAnnotations> container_annotations = std::move(annotations.suffixed);
  container_annotations.resize(pod.containers.size());
  for (std::size_t row = 0; row < ContainerAnnotations::kMaxRows; ++row) {
    const std::optional<Annotation>& annotation = annotations.unsuffixed.rows[row];
    if (!annotation) continue;
    if (auto refusal = put(container_annotations[*target_container].rows[row], *annotation)) {
      return std::unexpected(*std::move(refusal));
    }
  }
  const std::optional<Annotation>& main_container = annotations.main_container;
  if (main_container && container_annotations[*target_container].empty()) {
    return malformed(shown(main_container->key) + " is \"" + shown(main_container->value) +
                     "\", and no annotation requests a GPU for that container; expected " +
                     asking_keys() + " for it");
  }
  model::GpuRequest request;
  request.main_container = pod.containers[*target_container].name;
  for (std::size_t i = 0; i < container_annotations.size(); ++i) {
    if (container_annotations[i].empty()) continue;
    auto container_request = read_container_request(container_annotations[i]);
    if (!container_request) return std::unexpected(container_request.error());
    container_request->container = pod.containers[i].name;
    container_request->type = pod.containers[i].type;
    request.containers.push_back(*std::move(container_request));
  }
  auto refusal = check_numbers(request.containers);
  if (!refusal) refusal = check_init_containers(request.containers);
  if (refusal) return std::unexpected(*std::move(refusal));
  if (annotations.policy) request.policy = annotations.policy->value;
  return request;
}

}  // namespace snug::request
