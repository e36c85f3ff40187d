#include "snug/request/parse.hpp"

namespace snug {

HostAmounts host_request(const PodFacts& pod) {
  HostAmounts sidecars;
  HostAmounts apps;
  HostAmounts starting;  // the maximum while a plain init container runs
  for (const ContainerFacts& container : pod.containers) {
    switch (container.kind) {
      case ContainerKind::kApp:
        apps += container.host;
        break;
      case ContainerKind::kInit:
        starting = HostAmounts::max(starting, sidecars + container.host);
        break;
      case ContainerKind::kSidecar:
        sidecars += container.host;
        break;
    }
  }
  HostAmounts request = HostAmounts::max(apps + sidecars, starting);
  request.cpu_milli = pod.pod_cpu_milli.value_or(request.cpu_milli);
  request.memory_bytes = pod.pod_memory_bytes.value_or(request.memory_bytes);
  return request + pod.overhead;
}

}  // namespace snug
