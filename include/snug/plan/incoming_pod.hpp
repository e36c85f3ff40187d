// The pod that a decision is about: its namespace, rank and request, and the rules of the policy
// that apply to it. The referenced objects must outlive the decision.
#pragma once

#include <string>
#include <string_view>

#include "snug/model/namespace_usage.hpp"
#include "snug/model/pod_rank.hpp"
#include "snug/model/request.hpp"
#include "snug/model/sharing_rules.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/score/policy.hpp"

namespace snug::plan {

struct IncomingPod {
  std::string_view name_space;
  const model::PodRank& rank;  // includes the pod's uid
  const model::GpuRequest& request;
  model::HostResources host;        // requested CPU and memory
  model::MirroredAmounts mirrored;  // requested amounts of the resources that mirror shares
  const score::ProfileChoice& profiles;
  const model::SharingRules& sharing;
};

/// The inputs of a decision about one node, except the node and the incoming pod. The referenced
/// objects must outlive the decision.
struct NodeContext {
  const model::NamespaceUsage& namespace_usage;     // the GPU compute that each namespace holds
  const model::Nominations* nominations = nullptr;  // pods nominated to the node; null: none
  const model::Intents* intents = nullptr;          // intents on the node, oldest first; null: none
  const model::Demand& demand = model::kNoDemand;
};

/// Returns a key for VerdictCaches. Under one policy, incoming pods with equal keys have the same
/// verdict for the same node state and learned demand. Empty if the pod's namespace has a cap: the
/// verdicts then also depend on the namespace's usage and must not be cached.
[[nodiscard]] std::string verdict_cache_key(const IncomingPod& incoming);

}  // namespace snug::plan
