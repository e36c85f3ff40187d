// A pod's claim with all that it points to: its request, its rank, and the policy that was in force
// when the decision began, so that one decision goes by one policy. Not thread-safe; a value that
// stays where it was made, since claims view into it.
#pragma once

#include <expected>
#include <string>

#include "snug/model/pod.hpp"
#include "snug/model/refusal.hpp"
#include "snug/plan/claim.hpp"
#include "snug/service/policy_store.hpp"

namespace snug {

[[nodiscard]] PodRank rank_of(const PodFacts& pod);

class PodClaim {
 public:
  /// ForbiddenPolicy: the pod names a profile that is not open to it. `pod` outlives the claim.
  [[nodiscard]] static std::expected<PodClaim, Refusal> make(const PodFacts& pod,
                                                             GpuRequest request,
                                                             CurrentPolicy policy);

  [[nodiscard]] Claim view() const {
    return {.name_space = name_space_,
            .rank = rank_,
            .request = request_,
            .host = host_,
            .profiles = profiles_,
            .sharing = policy_.policy->sharing};
  }
  [[nodiscard]] const GpuRequest& request() const { return request_; }

  /// The same for claims that get the same verdict on the same node; empty: what such a claim gets
  /// depends on more than the node (the namespace has a cap).
  [[nodiscard]] std::string key() const;

 private:
  PodClaim(const PodFacts& pod, GpuRequest request, CurrentPolicy policy, ProfileChoice profiles);

  std::string_view name_space_;
  PodRank rank_;
  GpuRequest request_;
  HostAmounts host_;
  CurrentPolicy policy_;
  ProfileChoice profiles_;
};

}  // namespace snug
