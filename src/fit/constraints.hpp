// The table of constraints on a GPU that is to serve a container. The offer of a GPU (GpuOffer)
// starts as that of an empty GPU in any mode. The constraints are applied to the offer one after
// another, and each can reduce it. A request that does not fit on a node gets the reason of the
// first constraint under which it no longer fits. This reason says what would have to change.
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

/// A node and a tenant, and the facts about them that constraints use. Both must outlive this
/// object.
struct NodeView {
  const model::NodeState& node;
  const Tenant& tenant;
  /// The result of isolated_gpus(). Also empty if the only container of the request asks for whole
  /// GPUs.
  std::vector<bool> isolated;
  /// Whether the tenant requires enforced shares, but the node does not count as enforced.
  bool unenforced = !node.inventory->is_enforced() && tenant.requires_enforcement();
  /// Whether the node has an agent. CUDA uses one MPS daemon, and the agent has one for each GPU.
  bool one_mps_device = node.inventory->enforcement.has_value();
};

/// One GPU of the node, with the values that the constraints use. The NodeView must outlive this
/// object.
struct GpuView {
  const NodeView& node_view;
  const model::GpuState& gpu;
  bool isolated = false;           // a pod that the tenant is isolated from holds the GPU
  ContainerBits takers = 0;        // the containers that accept the GPU's model
  std::int64_t cap_left = kNoCap;  // kNoCap if the cap is checked for several GPUs together

  /// The caller sets `takers` and `cap_left`.
  GpuView(const NodeView& the_node, std::size_t position)
      : node_view(the_node),
        gpu(the_node.node.gpus[position]),
        isolated(!the_node.isolated.empty() && the_node.isolated[position]) {}

  /// Whether the GPU has vanished. Only reservations name such a GPU, so its model and size are
  /// unknown.
  [[nodiscard]] bool vanished() const { return gpu.closure == model::GpuClosure::kVanished; }
};

struct Constraint {
  model::ReasonCode reason;
  /// Whether the constraint can remove anything for this tenant on this node; null: it always can.
  bool (*applies)(const NodeView& node_view);
  /// Removes from `offered` what the GPU does not offer under this constraint.
  void (*restrict_to)(GpuOffer& offered, const GpuView& gpu_view);
};

/// All constraints in the order in which they are applied. Their reasons have the opposite order in
/// the table of reasons.
[[nodiscard]] std::span<const Constraint> constraints();

/// Whether the cap is among the first `constraint_count` constraints.
[[nodiscard]] bool include_cap(std::size_t constraint_count);

/// What the GPU offers under the first `constraint_count` constraints. Requires
/// `constraint_count` > 0.
[[nodiscard]] GpuOffer allocatable(const GpuView& gpu_view, std::size_t constraint_count);

/// The only container of a request, with values that are computed once for the request.
struct ContainerNeed {
  const model::ContainerRequest& container_request;
  const mig::SliceRequirement& slice;  // what a slice must have to serve the container
  Prices& prices;                      // the prices of the request
};

/// The position of the last constraint that applies to this node. It is also the largest number of
/// constraints that a GPU can meet without serving the container.
[[nodiscard]] std::size_t last_applicable(const NodeView& node_view);

/// Whether the GPU meets all constraints, so that it serves the container. This is much faster than
/// constraints_met().
[[nodiscard]] bool meets_all(const GpuView& gpu_view, const ContainerNeed& need);
/// The number of constraints that the GPU meets before the first one that it does not meet.
[[nodiscard]] std::size_t constraints_met(const GpuView& gpu_view, const ContainerNeed& need);

}  // namespace snug::fit
