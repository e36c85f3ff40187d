// The namespace that asks, as the operator's sharing rules see it. With no rules nothing is
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
  std::int64_t cap_left = kNoCap;       // milli-GPU that the namespace may still take

  [[nodiscard]] bool wants_enforcement() const {
    return rules != nullptr && rules->of(name_space).require_enforcement;
  }
  /// Whether a holder of this namespace and one of `other` may not meet on a GPU.
  [[nodiscard]] bool apart_from(std::string_view other) const {
    return rules != nullptr && other != name_space &&
           (rules->of(name_space).own_namespace_only || rules->of(other).own_namespace_only);
  }
};

/// For each GPU of the node, whether it holds someone that the tenant is kept apart from; empty:
/// none does.
[[nodiscard]] std::vector<bool> kept_apart(const NodeState& node, const Tenant& tenant);

/// What a holding takes of its GPUs' compute, as caps count it: units of the kubelet by the part of
/// a GPU that each is. `inventory` may be null, when the node is gone.
[[nodiscard]] MilliGpu compute_held(const Holding& holding, const NodeInventory* inventory);

/// What one unit of a resource that the kubelet hands out is of a GPU: of a replica rounded up, of
/// a MIG slice by its card's table. A slice that no table has counts nothing.
[[nodiscard]] MilliGpu unit_compute(const NodeInventory& inventory, std::string_view resource);

}  // namespace snug
