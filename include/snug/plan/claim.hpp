// A pod's claim on GPUs: who asks, for what, and by which of the operator's rules. Plain references
// to what lives elsewhere for as long as the decision takes.
#pragma once

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
  HostAmounts host;  // what it asks of the node besides
  const ProfileChoice& profiles;
  const SharingRules& sharing;
};

/// What a decision about one node has to know besides the node. The views outlive it.
struct Around {
  const NamespaceUse& held;                  // of all holdings; the pod has none
  const Nominations* nominations = nullptr;  // to that node; null: none
  const Demand& demand = kNothingLearned;
};

/// The namespace as fit sees it, when all its holdings come to what is held.
[[nodiscard]] Tenant tenant_of(std::string_view name_space, const SharingRules& sharing,
                               const NamespaceUse& held);

}  // namespace snug
