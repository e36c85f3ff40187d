// The table of constraints on a GPU that is to serve a container. They are applied in order to what
// the GPU would offer if it were empty and in any mode, and each removes something. The first one
// under which the request is no longer possible on a node gives the reason. So the reason says what
// would have to change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fit/gpu_offer.hpp"
#include "snug/fit/fit.hpp"
#include "snug/fit/tenant.hpp"
#include "snug/model/reasons.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::fit {

/// A node, as the constraints on its GPUs see it. The node and the tenant must outlive it.
struct NodeView {
  const model::NodeState& node;
  const Tenant& tenant;
  std::vector<bool> isolated;  // isolated_gpus(); empty if the request shares no GPU
  /// The tenant's shares must be enforced, and this node does not do so.
  bool unenforced = !node.inventory->enforces_shares && tenant.requires_enforcement();
};

/// One GPU of the node, as the constraints on it see it. The node must outlive it.
struct GpuView {
  const NodeView& on;
  const model::GpuState& gpu;
  bool isolated = false;           // a pod holds it that the tenant is isolated from
  ContainerBits takers = 0;        // the containers that accept the GPU's model
  std::int64_t cap_left = kNoCap;  // kNoCap if the cap is on the sum of several GPUs

  /// The caller sets `takers` and `cap_left`.
  GpuView(const NodeView& the_node, std::size_t position)
      : on(the_node),
        gpu(the_node.node.gpus[position]),
        isolated(!the_node.isolated.empty() && the_node.isolated[position]) {}

  /// A vanished GPU is known only from reservations: it may have been of any kind.
  [[nodiscard]] bool vanished() const { return gpu.closure == model::GpuClosure::kVanished; }
};

struct Constraint {
  model::ReasonCode reason;
  /// Whether it can remove anything for this tenant on this node; null: always.
  bool (*applies)(const NodeView& on);
  /// Removes what the GPU does not offer under this constraint.
  void (*restrict_to)(GpuOffer& offered, const GpuView& view);
};

/// In the order in which they are applied, which is the reverse order of their reasons.
[[nodiscard]] std::span<const Constraint> constraints();

/// Whether the cap is among the first `count` constraints.
[[nodiscard]] bool include_cap(std::size_t count);

/// What the GPU offers under the first `count` constraints. Requires `count` > 0.
[[nodiscard]] GpuOffer allocatable(const GpuView& view, std::size_t count);

/// The only container of a request, with what is computed once for it.
struct ContainerNeed {
  const model::ContainerRequest& asked;
  const mig::SliceRequirement& slice;  // what a slice must have to serve it
  Prices& prices;                      // of the request
};

/// The position of the last constraint that applies to this node. A GPU that does not serve the
/// container meets at most this many constraints.
[[nodiscard]] std::size_t last_applicable(const NodeView& on);

/// Whether the GPU meets all constraints, and so serves the container. Much faster than
/// constraints_met().
[[nodiscard]] bool meets_all(const GpuView& view, const ContainerNeed& need);
/// The number of constraints, from the first one on, that the GPU meets.
[[nodiscard]] std::size_t constraints_met(const GpuView& view, const ContainerNeed& need);

}  // namespace snug::fit
