// The pod that a decision is about: its namespace, rank and request, and the policy's rules for it.
// Consists of references that must stay valid during the decision.
#pragma once

#include <string>
#include <string_view>

#include "snug/fit/tenant.hpp"
#include "snug/model/pod_rank.hpp"
#include "snug/model/request.hpp"
#include "snug/model/sharing.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/score/policy.hpp"

namespace snug {

struct Claim {
  std::string_view name_space;
  const PodRank& rank;  // its uid is the pod's
  const GpuRequest& request;
  HostAmounts host;  // requested CPU and memory
  const ProfileChoice& profiles;
  const SharingRules& sharing;
};

/// The inputs of a decision about one node, except the node. The referenced objects must outlive
/// it.
struct Around {
  const NamespaceUse& held;                  // of all holdings; the pod has none
  const Nominations* nominations = nullptr;  // to the node; null: none
  const Intents* intents = nullptr;          // on the node, oldest first; null: none
  const Demand& demand = kNothingLearned;
};

/// Under one policy, pods with equal keys have the same verdict for the same node state and learned
/// demand. Empty: the verdict is not cacheable, since it also depends on the use of the namespace,
/// which has a cap.
[[nodiscard]] std::string memo_key(const Claim& claim);

/// The namespace as an input of fit(). `held` is the use of all namespaces.
[[nodiscard]] Tenant tenant_of(std::string_view name_space, const SharingRules& sharing,
                               const NamespaceUse& held);

}  // namespace snug
