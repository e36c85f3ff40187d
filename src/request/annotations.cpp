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
                     " are two names of one setting; allowed is one of the two")
        .error();
  }
  place = annotation;
  return std::nullopt;
}

std::optional<model::Refusal> put_policy(SortedAnnotations& sorted, const Annotation& annotation) {
  if (annotation.value.empty() || annotation.value.size() > kMaxPolicyName ||
      !std::ranges::all_of(annotation.value, is_printable)) {
    return bad_value(annotation.key, annotation.value,
                     "the name of a profile, of 1 to 63 printable characters")
        .error();
  }
  sorted.policy = annotation;
  return std::nullopt;
}

std::optional<model::Refusal> sort_one(const Containers& containers, const FoundKey& found,
                                       const Annotation& annotation, SortedAnnotations& sorted) {
  if (found.container && found.scope != KeyScope::kContainer) {
    return malformed(shown(annotation.key) + " names a container; allowed is " +
                     shown(annotation.key.substr(0, annotation.key.find('.'))) +
                     ", which is for the whole pod")
        .error();
  }
  if (found.scope == KeyScope::kPolicy) return put_policy(sorted, annotation);
  sorted.ask = true;
  if (found.scope == KeyScope::kMainContainer) return put(sorted.main_container, annotation);
  if (!found.container) return put(sorted.unsuffixed.rows[found.row], annotation);
  const auto position = find_container(containers, *found.container);
  if (!position) {
    return malformed(shown(annotation.key) + " is for the container \"" + shown(*found.container) +
                     "\"; allowed is the name of one of the pod's containers")
        .error();
  }
  sorted.suffixed.resize(containers.size());
  return put(sorted.suffixed[*position].rows[found.row], annotation);
}

/// The position of the container to which keys without the suffix `.<container>` apply. `named` is
/// the annotation that names this container, if there is one.
std::expected<std::size_t, model::Refusal> target_of(const model::PodFacts& pod,
                                                     const std::optional<Annotation>& named) {
  const Containers& containers = pod.containers;
  if (named) {
    if (const auto position = find_container(containers, named->value)) return *position;
    return bad_value(named->key, named->value, "the name of one of the pod's containers");
  }
  const auto by_default = pod.annotations.find(kDefaultContainerKey);
  if (by_default != pod.annotations.end()) {
    if (const auto position = find_container(containers, by_default->second)) return *position;
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
                     " is too long for a pod with GPU annotations; allowed are 47 characters")
        .error();
  }
  return std::nullopt;
}

std::optional<model::Refusal> check_numbers(
    const std::vector<model::ContainerRequest>& containers) {
  if (containers.size() > base::kMaxGpuContainers) {
    return malformed(std::to_string(containers.size()) +
                     " containers of the pod ask for GPUs by annotation; allowed are " +
                     std::to_string(base::kMaxGpuContainers))
        .error();
  }
  std::int64_t devices = 0;
  for (const model::ContainerRequest& container : containers) devices += container.count;
  if (containers.size() > 1 && devices > base::kMaxMultiContainerDevices) {
    return malformed("several containers of the pod ask for " + std::to_string(devices) +
                     " GPUs in all; allowed are " + std::to_string(base::kMaxMultiContainerDevices))
        .error();
  }
  return std::nullopt;
}

enum class Kind : std::uint8_t { kShare, kWhole, kSlice };

Kind kind_of(const model::ContainerRequest& asked) {
  if (std::holds_alternative<model::WholeGpuRequest>(asked.device)) return Kind::kWhole;
  return std::holds_alternative<model::SliceRequest>(asked.device) ? Kind::kSlice : Kind::kShare;
}

/// Whether an init container can use the devices of a container that runs after it. If it requests
/// a share, it can use any device. If it requests whole GPUs or a slice, the other container must
/// also request whole GPUs, or a slice of the same profile.
bool may_use(const model::ContainerRequest& init, const model::ContainerRequest& later) {
  const Kind wanted = kind_of(init);
  if (wanted == Kind::kShare) return true;
  return wanted == kind_of(later) && (wanted == Kind::kWhole || init.device == later.device);
}

std::string_view in_words(Kind kind) {
  switch (kind) {
    case Kind::kWhole:
      return "whole GPUs";
    case Kind::kSlice:
      return "a slice";
    case Kind::kShare:
      break;
  }
  return "a share";
}

/// What the init container may request instead, as text for the refusal.
std::string_view instead(Kind wanted, Kind other) {
  if (other == Kind::kShare) return "a share for the init container too";
  return wanted == other ? "a share for the init container, or the same profile"
                         : "a share for the init container";
}

/// Refuses a plain init container that cannot use the GPUs of the containers that run after it.
std::optional<model::Refusal> check_init_containers(
    const std::vector<model::ContainerRequest>& containers) {
  for (const model::ContainerRequest& init : containers) {
    if (init.type != model::ContainerType::kInit) continue;
    const auto other = std::ranges::find_if(containers, [&](const model::ContainerRequest& each) {
      return each.type != model::ContainerType::kInit && !may_use(init, each);
    });
    if (other == containers.end()) continue;
    const Kind wanted = kind_of(init);
    const Kind has = kind_of(*other);
    return malformed("the init container \"" + shown(init.container) + "\" asks for " +
                     std::string(in_words(wanted)) + " (" + shown(init.text) +
                     ") and the container \"" + shown(other->container) + "\" for " +
                     std::string(wanted == has ? "another" : in_words(has)) + " (" +
                     shown(other->text) + "); allowed is " + std::string(instead(wanted, has)))
        .error();
  }
  return std::nullopt;
}

}  // namespace

std::expected<SortedAnnotations, model::Refusal> sort_annotations(const model::PodFacts& pod) {
  SortedAnnotations sorted;
  for (const auto& [key, value] : pod.annotations) {
    const std::optional<FoundKey> found = find_key(key);
    if (!found) continue;
    if (auto refusal = sort_one(pod.containers, *found, {key, value}, sorted)) {
      return std::unexpected(*std::move(refusal));
    }
  }
  return sorted;
}

std::expected<model::GpuRequest, model::Refusal> parse_annotations(const model::PodFacts& pod,
                                                                   SortedAnnotations annotations) {
  if (auto refusal = check_names(pod.containers)) return std::unexpected(*std::move(refusal));
  const auto target = target_of(pod, annotations.main_container);
  if (!target) return std::unexpected(target.error());
  std::vector<ContainerAnnotations> by_container = std::move(annotations.suffixed);
  by_container.resize(pod.containers.size());
  for (std::size_t row = 0; row < ContainerAnnotations::kMaxRows; ++row) {
    const std::optional<Annotation>& annotation = annotations.unsuffixed.rows[row];
    if (!annotation) continue;
    if (auto refusal = put(by_container[*target].rows[row], *annotation)) {
      return std::unexpected(*std::move(refusal));
    }
  }
  const std::optional<Annotation>& named = annotations.main_container;
  if (named && by_container[*target].empty()) {
    return malformed(shown(named->key) + " is \"" + shown(named->value) +
                     "\", and no annotation requests a GPU for that container; allowed is " +
                     asking_keys() + " for it");
  }
  model::GpuRequest request;
  request.main_container = pod.containers[*target].name;
  for (std::size_t i = 0; i < by_container.size(); ++i) {
    if (by_container[i].empty()) continue;
    auto asked = read_container_request(by_container[i]);
    if (!asked) return std::unexpected(asked.error());
    asked->container = pod.containers[i].name;
    asked->type = pod.containers[i].type;
    request.containers.push_back(*std::move(asked));
  }
  auto refusal = check_numbers(request.containers);
  if (!refusal) refusal = check_init_containers(request.containers);
  if (refusal) return std::unexpected(*std::move(refusal));
  if (annotations.policy) request.policy = annotations.policy->value;
  return request;
}

}  // namespace snug::request
