#include "snug/request/parse.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "request/annotations.hpp"
#include "request/resources.hpp"
#include "request/sentences.hpp"

namespace snug {
namespace {

constexpr std::int64_t kMaxAnnotationBytes = 262'144;  // Kubernetes' TotalAnnotationSizeLimitB
constexpr std::int64_t kBytesWritten = 2'048;          // one container's names and texts included
constexpr std::int64_t kBytesPerFurtherContainer = 1'024;
constexpr std::int64_t kBytesPerDevice = 512;
constexpr std::int64_t kMostDevices = 128;  // more are TooLarge anywhere

/// The API server takes a binding whose annotations are too large, and then nobody, not even the
/// kubelet, can update the pod any more.
std::expected<GpuRequest, Refusal> with_room_for_reservation(const PodFacts& pod,
                                                             GpuRequest request) {
  if (request.empty()) return request;
  std::int64_t devices = 0;
  for (const ContainerRequest& container : request.containers) {
    devices += request.kubelet_assigned() ? 1 : container.count;
  }
  // Units are written once, in fewer bytes than a device, and with no flat annotations.
  const auto further =
      request.kubelet_assigned() ? 0 : static_cast<std::int64_t>(request.containers.size()) - 1;
  const auto needed = kBytesWritten + kBytesPerFurtherContainer * further +
                      kBytesPerDevice * std::min(devices, kMostDevices);
  if (static_cast<std::int64_t>(pod.annotation_bytes) + needed <= kMaxAnnotationBytes) {
    return request;
  }
  return malformed(
      "the annotations of the pod are too large to add its reservation to them; allowed are "
      "262144 bytes in all, of which Snug needs 2048, 512 for each GPU, and 1024 for each "
      "container after the first");
}

/// The pod asks the kubelet, or nobody.
std::expected<GpuRequest, Refusal> with_policy(GpuRequest request,
                                               const std::optional<Said>& policy) {
  if (!policy) return request;
  if (request.empty()) {
    return malformed(
        shown(policy->key) + " is \"" + shown(policy->value) +
        "\" on a pod that asks for no GPU; allowed is gpu-policy beside gpu-fraction, " +
        "gpu-memory, gpu-mig-profile or nvidia.com/* limits");
  }
  request.policy = policy->value;
  return request;
}

}  // namespace

std::expected<GpuRequest, Refusal> parse_request(const PodFacts& pod) {
  auto annotations = sort_annotations(pod);
  if (!annotations) return std::unexpected(annotations.error());
  auto request = parse_resources(pod);
  if (!request) return request;
  if (!annotations->ask) {
    request = with_policy(*std::move(request), annotations->policy);
  } else if (request->empty()) {
    request = parse_annotations(pod, *std::move(annotations));
  } else {
    return malformed("the pod asks for GPUs by annotation and by " +
                     shown(std::get<KubeletAsk>(request->containers.front().ask).resource) +
                     "; allowed is one of the two");
  }
  if (!request) return request;
  return with_room_for_reservation(pod, *std::move(request));
}

}  // namespace snug
