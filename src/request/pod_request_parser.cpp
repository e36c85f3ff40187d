#include "snug/request/pod_request_parser.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "request/annotations.hpp"
#include "request/malformed.hpp"
#include "snug/mig/card_catalog.hpp"
#include "snug/request/quantity.hpp"

namespace snug::request {
namespace {

constexpr std::int64_t kMaxAnnotationBytes = 262'144;  // Kubernetes' TotalAnnotationSizeLimitB
constexpr std::int64_t kBytesWritten = 2'048;          // for the pod and its first container
constexpr std::int64_t kBytesPerFurtherContainer = 1'024;
constexpr std::int64_t kBytesPerDevice = 512;
constexpr std::int64_t kMaxDevices = 128;  // a larger request is TooLarge on every node

/// Refuses a pod whose annotations would exceed the limit of Kubernetes once its reservation is
/// added. The API server would accept the binding, but then reject all updates of the pod, even
/// those of the kubelet.
std::expected<model::GpuRequest, model::Refusal> with_room_for_reservation(
    const model::PodFacts& pod, model::GpuRequest request) {
  if (request.empty()) return request;
  std::int64_t devices = 0;
  for (const model::ContainerRequest& container : request.containers) {
    devices += request.is_kubelet_assigned() ? 1 : container.count;
  }
  // The kubelet-assigned units of a container are counted as one device, which needs more bytes
  // than they and the requirement of the agent do. So is each container that may have such a
  // requirement alone. Further containers are not counted, because Snug writes no annotations that
  // name the devices of such a pod.
  if (request.is_kubelet_assigned())
    devices = std::max(devices, static_cast<std::int64_t>(pod.containers.size()));
  const auto further =
      request.is_kubelet_assigned() ? 0 : static_cast<std::int64_t>(request.containers.size()) - 1;
  const auto reservation_bytes = kBytesWritten + kBytesPerFurtherContainer * further +
                                 kBytesPerDevice * std::min(devices, kMaxDevices);
  if (static_cast<std::int64_t>(pod.annotation_bytes) + reservation_bytes <= kMaxAnnotationBytes) {
    return request;
  }
  return malformed(
      "the annotations of the pod are too large to add its reservation to them; expected "
      "at most 262144 bytes in all, of which Snug needs 2048, 512 for each GPU, and 1024 for each "
      "container after the first");
}

/// Adds the value of gpu-policy to a request that comes from container limits.
std::expected<model::GpuRequest, model::Refusal> with_policy(
    model::GpuRequest request, const std::optional<Annotation>& policy) {
  if (!policy) return request;
  if (request.empty()) {
    return malformed(shown(policy->key) + " is \"" + shown(policy->value) +
                     "\" on a pod that asks for no GPU; expected gpu-policy with gpu-fraction, " +
                     "gpu-memory, gpu-mig-profile or nvidia.com/* limits");
  }
  request.policy = policy->value;
  return request;
}

/// The largest number of (container, resource) pairs in a request. A reservation with this number
/// of pairs fits into max_reservation_bytes.
constexpr std::size_t kMaxKubeletRequests = 64;

struct KubeletCount {
  const model::ContainerFacts* container;
  std::int64_t count;
};

/// Reduces the containers' requests for one resource to the units that the pod holds at one time.
/// These are the units of its app containers and sidecars. App containers reuse the devices of
/// plain init containers. Only if a plain init container and the sidecars started before it
/// together request more, the largest excess is added.
std::vector<KubeletCount> held_units(const std::vector<KubeletCount>& container_counts) {
  std::vector<KubeletCount> held_counts;
  std::int64_t running = 0;
  for (const KubeletCount& kubelet_count : container_counts) {
    if (kubelet_count.container->type == model::ContainerType::kInit) continue;
    held_counts.push_back(kubelet_count);
    running += kubelet_count.count;
  }
  KubeletCount largest{nullptr, 0};
  std::int64_t sidecars = 0;
  for (const KubeletCount& kubelet_count : container_counts) {
    if (kubelet_count.container->type == model::ContainerType::kSidecar)
      sidecars += kubelet_count.count;
    const std::int64_t excess = kubelet_count.count + sidecars - running;
    if (kubelet_count.container->type == model::ContainerType::kInit && excess > largest.count) {
      largest = {kubelet_count.container, excess};
    }
  }
  if (largest.container != nullptr) held_counts.push_back(largest);
  return held_counts;
}

/// Parses the resources nvidia.com/* in the containers' limits. The request is empty if there are
/// none.
std::expected<model::GpuRequest, model::Refusal> parse_resources(const model::PodFacts& pod) {
  std::map<std::string_view, std::vector<KubeletCount>> counts_by_resource;
  for (const model::ContainerFacts& container : pod.containers) {
    for (const auto& [resource, value] : container.gpu_resources) {
      if (!is_kubelet_gpu_resource(resource)) continue;
      const std::optional<std::int64_t> count = parse_unit_count(value);
      if (!count) {
        return bad_value(
            resource, value,
            "a whole number of units, at most " + std::to_string(base::kLargestQuantity));
      }
      if (*count > 0) counts_by_resource[resource].push_back({&container, *count});
    }
  }
  model::GpuRequest request;
  for (const auto& [resource, container_counts] : counts_by_resource) {
    for (const KubeletCount& held_count : held_units(container_counts)) {
      request.containers.push_back(
          {.container = held_count.container->name,
           .type = held_count.container->type,
           .device = model::KubeletRequest{std::string(resource)},
           .count = held_count.count,
           .text = std::string(resource) + "=" + std::to_string(held_count.count)});
    }
  }
  if (request.containers.size() > kMaxKubeletRequests) {
    return malformed(
        std::to_string(request.containers.size()) +
        " containers of the pod, each counted once for each resource, ask for nvidia.com/* units; "
        "expected at most " +
        std::to_string(kMaxKubeletRequests));
  }
  if (!request.empty()) request.main_container = request.containers.front().container;
  return request;
}

}  // namespace

bool is_kubelet_gpu_resource(std::string_view name) {
  return name == model::kGpuResource || name == model::kSharedResource ||
         name.starts_with(mig::kMigResourcePrefix);
}

std::expected<model::GpuRequest, model::Refusal> parse_request(const model::PodFacts& pod) {
  auto annotations = sort_annotations(pod);
  if (!annotations) return std::unexpected(annotations.error());
  auto request = parse_resources(pod);
  if (!request) return request;
  if (!annotations->ask) {
    request = with_policy(*std::move(request), annotations->policy);
  } else if (request->empty()) {
    request = parse_annotations(pod, *std::move(annotations));
  } else {
    return malformed(
        "the pod asks for GPUs by annotation and by " +
        shown(std::get<model::KubeletRequest>(request->containers.front().device).resource) +
        "; expected one of the two");
  }
  if (!request) return request;
  return with_room_for_reservation(pod, *std::move(request));
}

}  // namespace snug::request
