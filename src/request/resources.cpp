#include "request/resources.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "request/sentences.hpp"
#include "snug/mig/catalog.hpp"
#include "snug/request/parse.hpp"

namespace snug {
namespace {

/// The most containers that may ask for units, each counted once for every resource: so many fit
/// into half of max_reservation_bytes.
constexpr std::size_t kMaxKubeletRequests = 64;

struct KubeletCount {
  const ContainerFacts* container;
  std::int64_t count;
};

/// The containers' units of one resource, reduced to what the pod holds at any one time: apps and
/// sidecars together, and of the plain init containers (whose devices the apps reuse) only what the
/// largest needs beyond that, beside the sidecars started before it.
std::vector<KubeletCount> held_units(const std::vector<KubeletCount>& asked) {
  std::vector<KubeletCount> held;
  std::int64_t running = 0;
  for (const KubeletCount& row : asked) {
    if (row.container->kind == ContainerKind::kInit) continue;
    held.push_back(row);
    running += row.count;
  }
  KubeletCount largest{nullptr, 0};
  std::int64_t sidecars = 0;
  for (const KubeletCount& row : asked) {
    if (row.container->kind == ContainerKind::kSidecar) sidecars += row.count;
    const std::int64_t excess = row.count + sidecars - running;
    if (row.container->kind == ContainerKind::kInit && excess > largest.count) {
      largest = {row.container, excess};
    }
  }
  if (largest.container != nullptr) held.push_back(largest);
  return held;
}

}  // namespace

bool is_kubelet_resource(std::string_view name) {
  return name == kGpuResource || name == kSharedResource ||
         name.starts_with(kMigResource);
}

std::expected<GpuRequest, Refusal> parse_resources(const PodFacts& pod) {
  std::map<std::string_view, std::vector<KubeletCount>> asked;
  for (const ContainerFacts& container : pod.containers) {
    for (const auto& [resource, value] : container.gpu_resources) {
      if (!is_kubelet_resource(resource)) continue;
      const std::optional<std::int64_t> count = parse_units(value);
      if (!count) {
        return bad_value(resource, value,
                         "a whole number of units, at most " + std::to_string(kLargestQuantity));
      }
      if (*count > 0) asked[resource].push_back({&container, *count});
    }
  }
  GpuRequest request;
  for (const auto& [resource, rows] : asked) {
    for (const KubeletCount& row : held_units(rows)) {
      request.containers.push_back(
          {.container = row.container->name,
           .kind = row.container->kind,
           .ask = KubeletAsk{std::string(resource)},
           .count = row.count,
           .text = std::string(resource) + "=" + std::to_string(row.count)});
    }
  }
  if (request.containers.size() > kMaxKubeletRequests) {
    return malformed(
        "more containers of the pod ask for GPU units than can be kept account of; "
        "allowed are " +
        std::to_string(kMaxKubeletRequests));
  }
  if (!request.empty()) request.main_container = request.containers.front().container;
  return request;
}

}  // namespace snug
