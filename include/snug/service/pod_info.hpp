// PodInfo: a pod, with values that are computed only once from its facts. PodClaim: a pod that asks
// for GPUs, with the policy in force. Both are immutable. Threads share PodInfo objects.
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

/// One state of a pod. It is made once, when the watch, a list, a GET or a call first shows this
/// state (see PendingPods::intern).
struct PodInfo {
  explicit PodInfo(model::PodFacts pod_facts);

  [[nodiscard]] bool asks_for_gpus() const { return request && !request->empty(); }
  [[nodiscard]] std::string full_name() const { return facts.name_space + "/" + facts.name; }

  const model::PodFacts facts;  // resource_version is empty
  /// The parsed request, or the reason why it is malformed.
  const std::expected<model::GpuRequest, model::Refusal> request;
  const model::HostResources host;        // requested CPU and memory
  const model::MirroredAmounts mirrored;  // requested amounts of the resources that mirror shares
  const model::PodRank rank;
  const std::optional<demand::PodShape> shape;  // nullopt: no valid request for GPUs
};

using PodInfoPtr = std::shared_ptr<const PodInfo>;

/// A pod that asks for GPUs, with the policy that was in force when a decision about it began. The
/// whole decision uses this policy, even if it is replaced meanwhile.
class PodClaim {
 public:
  /// `pod` must ask for GPUs. Fails with ForbiddenPolicy if the pod names a policy that is not open
  /// to its namespace.
  [[nodiscard]] static std::expected<PodClaim, model::Refusal> make(PodInfoPtr pod,
                                                                    CurrentPolicy policy);

  /// The returned object refers to members of this claim, so the claim must outlive it.
  [[nodiscard]] plan::IncomingPod view() const {
    return {.name_space = pod_->facts.name_space,
            .rank = pod_->rank,
            .request = *pod_->request,
            .host = pod_->host,
            .mirrored = pod_->mirrored,
            .profiles = profiles_,
            .sharing = policy_.policy->sharing};
  }
  [[nodiscard]] const PodInfo& pod() const { return *pod_; }

  /// The key for VerdictCaches: claims with equal keys get equal verdicts on equal node states and
  /// learned demand. Empty: the namespace has a cap, so verdicts also depend on the GPUs that the
  /// pods of the namespace hold.
  [[nodiscard]] std::string key() const;

 private:
  PodClaim(PodInfoPtr pod, CurrentPolicy policy, score::ProfileChoice profiles);

  PodInfoPtr pod_;
  CurrentPolicy policy_;
  score::ProfileChoice profiles_;
};

}  // namespace snug::service
