// The pod that a decision is about: its namespace, rank and request, and the rules of the policy
// for it. Plain references, valid while the decision is made.
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
  HostAmounts host;  // CPU and memory that it asks for
  const ProfileChoice& profiles;
  const SharingRules& sharing;
};

/// What a decision about one node needs besides the node. The referenced objects outlive it.
struct Around {
  const NamespaceUse& held;                  // by all holdings; the pod has none
  const Nominations* nominations = nullptr;  // to that node; null: none
  const Intents* intents = nullptr;          // on that node, oldest first; null: none
  const Demand& demand = kNothingLearned;
};

/// Pods with equal keys get the same verdict on the same node state and learned demand, within one
/// policy. Empty: the verdict depends on more than these (the namespace has a cap).
[[nodiscard]] std::string memo_key(const Claim& claim);

/// The namespace as fit() sees it, if `held` is what all its pods hold.
[[nodiscard]] Tenant tenant_of(std::string_view name_space, const SharingRules& sharing,
                               const NamespaceUse& held);

}  // namespace snug
