// The namespace of the requesting pod under the operator's sharing rules. Without rules nothing is
// restricted.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "snug/model/sharing.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

inline constexpr std::int64_t kNoCap = std::numeric_limits<std::int64_t>::max();

struct Tenant {
  std::string_view name_space;
  const SharingRules* rules = nullptr;  // null: none
  std::int64_t cap_left = kNoCap;       // milli-GPU that the namespace can still take

  [[nodiscard]] bool wants_enforcement() const {
    return rules != nullptr && rules->of(name_space).require_enforcement;
  }
  /// Whether a pod of this namespace and one of `other` must not share a GPU.
  [[nodiscard]] bool apart_from(std::string_view other) const {
    return rules != nullptr && other != name_space &&
           (rules->of(name_space).own_namespace_only || rules->of(other).own_namespace_only);
  }
};

/// For each GPU of the node, whether a pod holds it that the tenant is kept apart from; empty: no
/// GPU is held by such a pod.
[[nodiscard]] std::vector<bool> kept_apart(const NodeState& node, const Tenant& tenant);

/// The compute that a holding takes, as caps count it. A kubelet unit counts as the part of a GPU
/// that it is. `inventory` is null if the node is gone.
[[nodiscard]] MilliGpu compute_held(const Holding& holding, const NodeInventory* inventory);

/// The part of a GPU that one unit of a kubelet resource is: for a replica rounded up, for a MIG
/// slice by its card's table. A slice that no table has counts nothing.
[[nodiscard]] MilliGpu unit_compute(const NodeInventory& inventory, std::string_view resource);

}  // namespace snug
