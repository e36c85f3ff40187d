#include "snug/request/pod_request_parser.hpp"

namespace snug::request {
namespace {

/// The most that the containers of the pod request at one time, by the rule of Kubernetes.
template <typename Amounts>
Amounts most_at_once(const model::PodFacts& pod, Amounts model::ContainerFacts::* amounts) {
  Amounts sidecars;
  Amounts apps;
  Amounts starting;  // the most that is requested while a plain init container runs
  for (const model::ContainerFacts& container : pod.containers) {
    switch (container.type) {
      case model::ContainerType::kApp:
        apps += container.*amounts;
        break;
      case model::ContainerType::kInit:
        starting = Amounts::max(starting, sidecars + container.*amounts);
        break;
      case model::ContainerType::kSidecar:
        sidecars += container.*amounts;
        break;
    }
  }
  return Amounts::max(apps + sidecars, starting);
}

}  // namespace

model::HostResources host_requests_of(const model::PodFacts& pod) {
  model::HostResources request = most_at_once(pod, &model::ContainerFacts::host);
  request.cpu_milli = pod.pod_level_cpu_milli.value_or(request.cpu_milli);
  request.memory_bytes = pod.pod_level_memory_bytes.value_or(request.memory_bytes);
  return request + pod.overhead;
}

model::MirroredAmounts mirrored_amounts_of(const model::PodFacts& pod) {
  return most_at_once(pod, &model::ContainerFacts::mirrored);
}

}  // namespace snug::request
