// Claims that own what they point to, for tests of the layers that decide.
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

  /// Views into this, which must outlive it.
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

/// What the pod would have by the placement.
inline model::Reservation reservation_for(const model::NodeState& node,
                                          const model::GpuRequest& request,
                                          model::PlacementView placement, std::string uid) {
  const OwnedIncomingPod claim(request, make_profile("best-fit"), std::move(uid));
  return plan::to_holding(node, claim.view(), placement)->reservation;
}

/// On a node where nobody else is of interest.
inline plan::NodeChoice choose_without_others(const model::NodeState& node,
                                              const OwnedIncomingPod& claim) {
  const model::NamespaceUsage nobody;
  return plan::choose_placement(node, claim.view(), {.namespace_usage = nobody});
}

}  // namespace snug
