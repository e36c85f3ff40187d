#include "snug/service/pod_info.hpp"

#include <utility>

#include "snug/request/parse.hpp"

namespace snug {
namespace {

/// Each status update of a pod has a new resourceVersion, and nothing here depends on it.
PodFacts without_version(PodFacts facts) {
  facts.resource_version.clear();
  return facts;
}

std::optional<PodShape> shape_if_asked(const std::expected<GpuRequest, Refusal>& request,
                                       const HostAmounts& host) {
  if (!request || request->empty()) return std::nullopt;
  return shape_of(*request, host);
}

}  // namespace

PodInfo::PodInfo(PodFacts pod_facts)
    : facts(without_version(std::move(pod_facts))),
      request(parse_request(facts)),
      host(host_request(facts)),
      rank{.priority = facts.priority, .created = facts.creation_timestamp, .uid = facts.uid},
      shape(shape_if_asked(request, host)) {}

PodClaim::PodClaim(PodInfoPtr pod, CurrentPolicy policy, ProfileChoice profiles)
    : pod_(std::move(pod)), policy_(std::move(policy)), profiles_(std::move(profiles)) {}

std::expected<PodClaim, Refusal> PodClaim::make(PodInfoPtr pod, CurrentPolicy policy) {
  auto profiles = policy.policy->choose({.name_space = pod->facts.name_space,
                                         .labels = pod->facts.labels,
                                         .asked = pod->request->policy});
  if (!profiles) return std::unexpected(std::move(profiles.error()));
  return PodClaim(std::move(pod), std::move(policy), *std::move(profiles));
}

std::string PodClaim::key() const {
  std::string key = memo_key(view());
  return key.empty() ? key : std::to_string(policy_.version) + '\n' + key;
}

}  // namespace snug
