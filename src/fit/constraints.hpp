// The constraints on a GPU that serves a container, in one table. Each takes something from what an
// empty GPU of any kind offers. Under the first n of them a request is possible on a node or not;
// the first that makes it impossible gives the reason, which so says what would have to change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fit/allocatable.hpp"
#include "snug/fit/fit.hpp"
#include "snug/fit/tenant.hpp"
#include "snug/model/reasons.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::fit {

/// The node, as the constraints on its GPUs see it. The arguments must outlive it.
struct NodeView {
  const model::NodeState& node;
  const Tenant& tenant;
  std::vector<bool> apart;  // isolated_gpus(); empty if the request shares no GPU
  bool unenforced = false;  // the tenant's shares must be enforced, and this node enforces nothing

  NodeView(const model::NodeState& the_node, const Tenant& the_tenant, bool shares);
};

/// And what they go by on one of its GPUs.
struct GpuView {
  const NodeView& on;
  const model::GpuState& gpu;
  bool apart = false;              // somebody holds it whom the pod may not meet
  ContainerBits takers = 0;        // the containers that accept its model
  std::int64_t cap_left = kNoCap;  // no cap where it is on the sum over several GPUs

  /// `takers` and `cap_left` are for the caller to set.
  GpuView(const NodeView& the_node, std::size_t position)
      : on(the_node),
        gpu(the_node.node.gpus[position]),
        apart(!the_node.apart.empty() && the_node.apart[position]) {}

  /// A reservation is all that is known of a vanished GPU: it may have been of any kind.
  [[nodiscard]] bool vanished() const { return gpu.closure == model::GpuClosure::kVanished; }
};

struct Constraint {
  model::ReasonCode reason;
  /// Whether it restricts anything for this tenant here; null: always.
  bool (*applies)(const NodeView& on);
  /// Takes away what the GPU does not offer under this constraint.
  void (*restrict_to)(Allocatable& offered, const GpuView& view);
};

/// In the order in which they are applied, which is the order of the reasons, the last one first.
[[nodiscard]] std::span<const Constraint> constraints();

/// Whether the cap is one of the first so many constraints.
[[nodiscard]] bool include_cap(std::size_t constraints);

/// What the GPU offers under the first so many constraints, one at least.
[[nodiscard]] Allocatable allocatable(const GpuView& view, std::size_t constraints);

/// A request for devices in one container, with what is worked out once for it.
struct ContainerNeed {
  const model::ContainerRequest& asked;
  const mig::SliceRequirement& slice;  // as a slice
  Prices& prices;                      // that have it as their only container
};

/// The position of the last constraint that restricts anything for this tenant on this node: a GPU
/// that does not serve the container meets no more constraints than this.
[[nodiscard]] std::size_t last_applicable(const NodeView& on);

/// Whether the GPU serves the container under all constraints: as constraints_met() for all of
/// them, in a fraction of the time.
[[nodiscard]] bool meets_all(const GpuView& view, const ContainerNeed& need);
/// How many of the constraints, from the first on, let the GPU serve the container; all of them: it
/// does serve it.
[[nodiscard]] std::size_t constraints_met(const GpuView& view, const ContainerNeed& need);

}  // namespace snug::fit
