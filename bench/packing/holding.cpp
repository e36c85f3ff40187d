#include "holding.hpp"

#include <string>

#include "snug/plan/plan.hpp"
#include "snug/score/policy.hpp"

namespace snug_bench {

snug::HoldingPtr holding_of(const snug::ArrivingPod& arriving, const snug::NodeState& node,
                            const snug::Placement& placement) {
  static const snug::Profile nobodys{};
  const snug::ProfileChoice profiles(nobodys);
  const snug::SharingRules sharing;
  const snug::PodRank rank{.uid = std::string(arriving.uid)};
  const auto holding = to_holding(node,
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
