// Claims that own what they point to, for tests of the layers that decide.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "snug/plan/claim.hpp"
#include "snug/plan/plan.hpp"
#include "support/states.hpp"

namespace snug {

class OwnClaim {
 public:
  explicit OwnClaim(GpuRequest asked, const Profile& by = make_profile("best-fit"),
                    std::string uid = "new")
      : request(std::move(asked)),
        profile_(std::make_shared<const Profile>(by)),
        profiles_(*profile_) {
    rank.uid = std::move(uid);
  }

  std::string name_space = "default";
  PodRank rank;
  GpuRequest request;
  HostAmounts host;
  SharingRules sharing;

  /// Views into this, which must outlive it.
  [[nodiscard]] Claim view() const {
    return {.name_space = name_space,
            .rank = rank,
            .request = request,
            .host = host,
            .profiles = profiles_,
            .sharing = sharing};
  }

 private:
  std::shared_ptr<const Profile> profile_;
  ProfileChoice profiles_;
};

/// What the pod would have by the placement.
inline Reservation reservation_by(const NodeState& node, const GpuRequest& request,
                                  PlacementView placement, std::string uid) {
  const OwnClaim claim(request, make_profile("best-fit"), std::move(uid));
  return to_holding(node, claim.view(), placement)->reservation;
}

/// On a node where nobody else is of interest.
inline NodeChoice choose_alone(const NodeState& node, const OwnClaim& claim) {
  const NamespaceUse nobody;
  return choose_on(node, claim.view(), {.held = nobody});
}

}  // namespace snug
