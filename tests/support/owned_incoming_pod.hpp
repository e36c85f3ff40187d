// Incoming pods that own the data which plan::IncomingPod refers to, for tests.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "snug/plan/incoming_pod.hpp"
#include "snug/plan/plan.hpp"
#include "support/node_states.hpp"

namespace snug {

class OwnedIncomingPod {
 public:
  explicit OwnedIncomingPod(model::GpuRequest asked,
                            const score::Profile& by = make_profile("best-fit"),
                            std::string uid = "new")
      : request(std::move(asked)),
        profile_(std::make_shared<const score::Profile>(by)),
        profiles_(*profile_) {
    rank.uid = std::move(uid);
  }

  std::string name_space = "default";
  model::PodRank rank;
  model::GpuRequest request;
  model::HostResources host;
  model::SharingRules sharing;

  /// The result refers to this object, which must outlive it.
  [[nodiscard]] plan::IncomingPod view() const {
    return {.name_space = name_space,
            .rank = rank,
            .request = request,
            .host = host,
            .profiles = profiles_,
            .sharing = sharing};
  }

 private:
  std::shared_ptr<const score::Profile> profile_;
  score::ProfileChoice profiles_;
};

/// Returns the reservation of the pod `uid` for this placement.
inline model::Reservation reservation_for(const model::NodeState& node,
                                          const model::GpuRequest& request,
                                          model::PlacementView placement, std::string uid) {
  const OwnedIncomingPod claim(request, make_profile("best-fit"), std::move(uid));
  return plan::to_holding(node, claim.view(), placement)->reservation;
}

/// Chooses a placement on a node without intents, nominated pods or other pods of the namespace.
inline plan::NodeChoice choose_without_others(const model::NodeState& node,
                                              const OwnedIncomingPod& claim) {
  const model::NamespaceUsage nobody;
  return plan::choose_placement(node, claim.view(), {.namespace_usage = nobody});
}

}  // namespace snug
