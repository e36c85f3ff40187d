#include "snug/request/pod_request_parser.hpp"

namespace snug::request {

model::HostResources host_requests_of(const model::PodFacts& pod) {
  model::HostResources sidecars;
  model::HostResources apps;
  model::HostResources starting;  // the most that is requested while a plain init container runs
  for (const model::ContainerFacts& container : pod.containers) {
    switch (container.type) {
      case model::ContainerType::kApp:
        apps += container.host;
        break;
      case model::ContainerType::kInit:
        starting = model::HostResources::max(starting, sidecars + container.host);
        break;
      case model::ContainerType::kSidecar:
        sidecars += container.host;
        break;
    }
  }
  model::HostResources request = model::HostResources::max(apps + sidecars, starting);
  request.cpu_milli = pod.pod_level_cpu_milli.value_or(request.cpu_milli);
  request.memory_bytes = pod.pod_level_memory_bytes.value_or(request.memory_bytes);
  return request + pod.overhead;
}

}  // namespace snug::request
