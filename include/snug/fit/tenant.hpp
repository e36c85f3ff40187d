// The tenant is the namespace of the incoming pod with the operator's sharing rules. Without rules
// nothing is restricted.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "snug/fit/charge.hpp"
#include "snug/model/namespace_usage.hpp"
#include "snug/model/sharing_rules.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::fit {

inline constexpr std::int64_t kNoCap = std::numeric_limits<std::int64_t>::max();

struct Tenant {
  std::string_view name_space;
  const model::SharingRules* rules = nullptr;  // null: no rules
  std::int64_t cap_remaining = kNoCap;         // milli-GPU that the namespace can still take

  [[nodiscard]] bool requires_enforcement() const {
    return rules != nullptr && rules->rule_for(name_space).require_enforcement;
  }
  /// Whether the rules forbid pods of this namespace to share a GPU with pods of `other_namespace`.
  [[nodiscard]] bool is_isolated_from(std::string_view other_namespace) const {
    return rules != nullptr && other_namespace != name_space &&
           (rules->rule_for(name_space).own_namespace_only ||
            rules->rule_for(other_namespace).own_namespace_only);
  }
};

/// Returns the tenant for fit(): the namespace, its sharing rules and the unused part of its cap.
/// `held` is the usage of all namespaces.
[[nodiscard]] Tenant tenant_of(std::string_view name_space, const model::SharingRules& sharing,
                               const model::NamespaceUsage& held);

/// For each GPU of the node: whether a pod that the tenant is isolated from holds the GPU. Empty if
/// there is no such pod.
[[nodiscard]] std::vector<bool> isolated_gpus(const model::NodeState& node, const Tenant& tenant);

/// The GPU memory and compute of a holding, as its reservation states them. Units that the kubelet
/// assigns count as unit_compute(), and their memory as 0, because it is unknown. `inventory` is
/// the inventory of the holding's node; null: the node is gone, and these units count 0.
[[nodiscard]] Charge held_charge(const model::Holding& holding,
                                 const model::NodeInventory* inventory);

/// The compute of held_charge(), which caps count.
[[nodiscard]] base::MilliGpu held_compute(const model::Holding& holding,
                                          const model::NodeInventory* inventory);

/// The milli-GPU that one unit of a kubelet-assigned resource stands for. If the units are replicas
/// of GPUs, the result is rounded up. If they are MIG slices, it comes from the card's table, and
/// is 0 if no table has the slice.
[[nodiscard]] base::MilliGpu unit_compute(const model::NodeInventory& inventory,
                                          std::string_view resource);

}  // namespace snug::fit
