#include "snug/service/pod_claim.hpp"

#include <utility>

#include "snug/request/host.hpp"

namespace snug {

PodRank rank_of(const PodFacts& pod) {
  return {.priority = pod.priority, .created = pod.creation_timestamp, .uid = pod.uid};
}

PodClaim::PodClaim(const PodFacts& pod, GpuRequest request, CurrentPolicy policy,
                   ProfileChoice profiles)
    : name_space_(pod.name_space),
      rank_(rank_of(pod)),
      request_(std::move(request)),
      host_(host_request(pod)),
      policy_(std::move(policy)),
      profiles_(std::move(profiles)) {}

std::expected<PodClaim, Refusal> PodClaim::make(const PodFacts& pod, GpuRequest request,
                                                CurrentPolicy policy) {
  auto profiles = policy.policy->choose(
      {.name_space = pod.name_space, .labels = pod.labels, .asked = request.policy});
  if (!profiles) return std::unexpected(std::move(profiles.error()));
  return PodClaim(pod, std::move(request), std::move(policy), *std::move(profiles));
}

std::string PodClaim::key() const {
  std::string key = memo_key(view());
  return key.empty() ? key : std::to_string(policy_.version) + '\n' + key;
}

}  // namespace snug
