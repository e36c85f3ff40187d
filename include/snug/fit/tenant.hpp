// The namespace of the requesting pod under the operator's sharing rules. Without rules nothing is
// restricted.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "snug/model/sharing_rules.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::fit {

inline constexpr std::int64_t kNoCap = std::numeric_limits<std::int64_t>::max();

struct Tenant {
  std::string_view name_space;
  const model::SharingRules* rules = nullptr;  // null: none
  std::int64_t cap_remaining = kNoCap;         // milli-GPU that the namespace can still take

  [[nodiscard]] bool requires_enforcement() const {
    return rules != nullptr && rules->rule_for(name_space).require_enforcement;
  }
  /// Whether a pod of this namespace and one of `other` must not share a GPU.
  [[nodiscard]] bool is_isolated_from(std::string_view other) const {
    return rules != nullptr && other != name_space &&
           (rules->rule_for(name_space).own_namespace_only ||
            rules->rule_for(other).own_namespace_only);
  }
};

/// For each GPU of the node, whether a pod holds it that the tenant is kept apart from; empty: no
/// GPU is held by such a pod.
[[nodiscard]] std::vector<bool> isolated_gpus(const model::NodeState& node, const Tenant& tenant);

/// The compute that a holding takes, as caps count it. A kubelet unit counts as the part of a GPU
/// that it is. `inventory` is null if the node is gone.
[[nodiscard]] base::MilliGpu held_compute(const model::Holding& holding,
                                          const model::NodeInventory* inventory);

/// The part of a GPU that one unit of a kubelet resource is: for a replica rounded up, for a MIG
/// slice by its card's table. A slice that no table has counts nothing.
[[nodiscard]] base::MilliGpu unit_compute(const model::NodeInventory& inventory,
                                          std::string_view resource);

}  // namespace snug::fit
