// The pod that a decision is about: its namespace, rank and request, and the policy's rules for it.
// Consists of references that must stay valid during the decision.
#pragma once

#include <string>
#include <string_view>

#include "snug/fit/tenant.hpp"
#include "snug/model/pod_rank.hpp"
#include "snug/model/request.hpp"
#include "snug/model/sharing_rules.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/score/policy.hpp"

namespace snug::plan {

struct IncomingPod {
  std::string_view name_space;
  const model::PodRank& rank;  // its uid is the pod's
  const model::GpuRequest& request;
  model::HostResources host;  // requested CPU and memory
  const score::ProfileChoice& profiles;
  const model::SharingRules& sharing;
};

/// The inputs of a decision about one node, except the node. The referenced objects must outlive
/// it.
struct NodeContext {
  const model::NamespaceUsage& namespace_usage;     // of all holdings; the pod has none
  const model::Nominations* nominations = nullptr;  // to the node; null: none
  const model::Intents* intents = nullptr;          // on the node, oldest first; null: none
  const model::Demand& demand = model::kNoDemand;
};

/// Under one policy, pods with equal keys have the same verdict for the same node state and learned
/// demand. Empty: the verdict is not cacheable, since it also depends on the use of the namespace,
/// which has a cap.
[[nodiscard]] std::string verdict_cache_key(const IncomingPod& incoming);

/// The namespace as an input of fit(). `held` is the use of all namespaces.
[[nodiscard]] fit::Tenant tenant_of(std::string_view name_space, const model::SharingRules& sharing,
                                    const model::NamespaceUsage& held);

}  // namespace snug::plan
