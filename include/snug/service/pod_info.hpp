// A pod with what is computed from it once, and a pod's claim on GPUs under the policy in force.
// Both are values that never change; a PodInfo is shared between threads.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "snug/demand/pod_shape.hpp"
#include "snug/model/pod.hpp"
#include "snug/model/reasons.hpp"
#include "snug/plan/incoming_pod.hpp"
#include "snug/service/policy_store.hpp"

namespace snug::service {

/// Made once for each state of a pod, where that state enters: by the watch, a list, a GET, or a
/// call about a pod that the watch has not shown yet (PendingPods::intern).
struct PodInfo {
  explicit PodInfo(model::PodFacts pod_facts);

  [[nodiscard]] bool asks_for_gpus() const { return request && !request->empty(); }
  [[nodiscard]] std::string full_name() const { return facts.name_space + "/" + facts.name; }

  const model::PodFacts facts;  // without its resourceVersion
  const std::expected<model::GpuRequest, model::Refusal> request;
  const model::HostResources host;  // what it requests of its node's CPU and memory
  const model::PodRank rank;
  const std::optional<demand::PodShape> shape;  // as demand counts it; nothing: it asks for no GPU
};

using PodInfoPtr = std::shared_ptr<const PodInfo>;

/// Keeps the policy that was in force when the decision began, so that one decision goes by one
/// policy.
class PodClaim {
 public:
  /// ForbiddenPolicy: the pod names a profile that it may not use. `pod` asks for GPUs.
  [[nodiscard]] static std::expected<PodClaim, model::Refusal> make(PodInfoPtr pod,
                                                                    CurrentPolicy policy);

  /// Views into this object.
  [[nodiscard]] plan::IncomingPod view() const {
    return {.name_space = pod_->facts.name_space,
            .rank = pod_->rank,
            .request = *pod_->request,
            .host = pod_->host,
            .profiles = profiles_,
            .sharing = policy_.policy->sharing};
  }
  [[nodiscard]] const PodInfo& pod() const { return *pod_; }

  /// Claims with equal keys get equal verdicts on equal node states. Empty: the verdict depends on
  /// more than the node's state, since the namespace has a cap.
  [[nodiscard]] std::string key() const;

 private:
  PodClaim(PodInfoPtr pod, CurrentPolicy policy, score::ProfileChoice profiles);

  PodInfoPtr pod_;
  CurrentPolicy policy_;
  score::ProfileChoice profiles_;
};

}  // namespace snug::service
