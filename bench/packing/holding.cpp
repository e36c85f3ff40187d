#include "holding.hpp"

#include <string>

#include "snug/plan/plan.hpp"
#include "snug/score/policy.hpp"

namespace snug_bench {

snug::model::HoldingPtr holding_of(const snug::sim::ArrivingPod& arriving,
                                   const snug::model::NodeState& node,
                                   const snug::model::Placement& placement) {
  static const snug::score::Profile nobodys{};
  const snug::score::ProfileChoice profiles(nobodys);
  const snug::model::SharingRules sharing;
  const snug::model::PodRank rank{.uid = std::string(arriving.uid)};
  const auto holding = snug::plan::to_holding(node,
                                              {.name_space = "default",
                                               .rank = rank,
                                               .request = arriving.request,
                                               .host = arriving.host,
                                               .profiles = profiles,
                                               .sharing = sharing},
                                              placement);
  holding->host = arriving.host;
  return holding;
}

}  // namespace snug_bench
