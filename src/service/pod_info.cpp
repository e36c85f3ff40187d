#include "snug/service/pod_info.hpp"

#include <utility>

#include "snug/request/pod_request_parser.hpp"

namespace snug::service {
namespace {

/// Clears the resource version. It changes with each status update, but no value that PodInfo
/// computes depends on it.
model::PodFacts without_resource_version(model::PodFacts facts) {
  facts.resource_version.clear();
  return facts;
}

std::optional<demand::PodShape> gpu_pod_shape(
    const std::expected<model::GpuRequest, model::Refusal>& request,
    const model::HostResources& host) {
  if (!request || request->empty()) return std::nullopt;
  return demand::shape_of(*request, host);
}

}  // namespace

PodInfo::PodInfo(model::PodFacts pod_facts)
    : facts(without_resource_version(std::move(pod_facts))),
      request(request::parse_request(facts)),
      host(request::host_requests_of(facts)),
      mirrored(request::mirrored_amounts_of(facts)),
      rank{.priority = facts.priority, .created = facts.creation_timestamp, .uid = facts.uid},
      shape(gpu_pod_shape(request, host)) {}

PodClaim::PodClaim(PodInfoPtr pod, CurrentPolicy policy, score::ProfileChoice profiles)
    : pod_(std::move(pod)), policy_(std::move(policy)), profiles_(std::move(profiles)) {}

std::expected<PodClaim, model::Refusal> PodClaim::make(PodInfoPtr pod, CurrentPolicy policy) {
  auto profiles = policy.policy->choose({.name_space = pod->facts.name_space,
                                         .labels = pod->facts.labels,
                                         .requested_profile = pod->request->policy});
  if (!profiles) return std::unexpected(std::move(profiles.error()));
  return PodClaim(std::move(pod), std::move(policy), *std::move(profiles));
}

std::string PodClaim::key() const {
  std::string verdict_key = plan::verdict_cache_key(view());
  return verdict_key.empty() ? verdict_key : std::to_string(policy_.version) + '\n' + verdict_key;
}

}  // namespace snug::service
