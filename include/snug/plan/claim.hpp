// A pod's claim on GPUs: who asks, for what, and by which of the operator's rules. Plain references
// to what lives elsewhere for as long as the decision takes.
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
  HostAmounts host;  // what it asks of the node besides
  const ProfileChoice& profiles;
  const SharingRules& sharing;
};

/// What a decision about one node has to know besides the node. The views outlive it.
struct Around {
  const NamespaceUse& held;                  // of all holdings; the pod has none
  const Nominations* nominations = nullptr;  // to that node; null: none
  const Intents* intents = nullptr;          // on that node, in the order of notes; null: none
  const Demand& demand = kNothingLearned;
};

/// The same for claims that get the same verdict on the same node state by what is known of demand;
/// empty: what such a claim gets depends on more (its namespace has a cap). Within one policy.
[[nodiscard]] std::string memo_key(const Claim& claim);

/// The namespace as fit sees it, when all its holdings come to what is held.
[[nodiscard]] Tenant tenant_of(std::string_view name_space, const SharingRules& sharing,
                               const NamespaceUse& held);

}  // namespace snug
