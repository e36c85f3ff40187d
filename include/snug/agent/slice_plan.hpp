// What must be done so that the reserved MIG slices of a node exist: which idle slices are in the
// way and have to be destroyed, and which slices have to be made
// (docs/decisions/0034-slices-daemons-and-limits.md). Pure: the same input gives the same plan.
// Thread-safe.
//
//   - A reserved slice that exists needs nothing, whatever its uuid.
//   - Idle is a slice that no reservation of a living pod and none of a running sandbox names, and
//     a GPU instance without compute instances. Anything else made instances that are neither.
//   - Only what is idle and in the way is destroyed, or what has been idle for the operator's time.
//     In the way is what overlaps the place of a reserved slice that does not exist, and what uses
//     media engines of the card that such a slice needs.
//   - A GPU that is not healthy or not in MIG mode gets no steps.
#pragma once

#include <compare>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/agent/device_report.hpp"
#include "snug/agent/reserved_slices.hpp"

namespace snug::agent {

/// An existing GPU instance.
struct GpuInstance {
  std::string gpu_uuid;
  int gpu_instance = 0;
  int start = 0;
  int size = 0;
  std::string profile;  // empty if it is no slice

  friend auto operator<=>(const GpuInstance&, const GpuInstance&) = default;
};

/// A reserved slice to be made, after the instances that are in its way have been destroyed.
struct SliceTask {
  std::string gpu_uuid;
  std::string profile;  // as the driver spells it
  int start = 0;
  int size = 0;
  std::string pod_uid;
  std::vector<GpuInstance> in_the_way;  // ascending by start

  friend bool operator==(const SliceTask&, const SliceTask&) = default;
};

/// What the plan is about. All must outlive the call.
struct SlicePlanInput {
  const NodeDevices& devices;
  std::span<const ReservedSlice> wanted;      // by the reservations of living pods
  std::span<const ReservedSlice> held;        // by the reservations of sandboxes that run
  std::string_view no_destroying = {};        // why nothing may be destroyed; empty: it may
  std::span<const GpuInstance> expired = {};  // idle for as long as the operator lets them be
};

/// Tasks can be executed in their order, one by one. Reserved slices of GPUs that the node does not
/// have are left out. Blocked and failed slices have their profile as the driver spells it, if the
/// GPU offers it.
struct SlicePlan {
  std::vector<SliceTask> tasks;
  std::vector<GpuInstance> expired;    // to be destroyed, in no task
  std::vector<GpuInstance> idle;       // all idle instances, also those of the tasks
  std::vector<SliceFailure> blocked;   // have to wait for something on the node
  std::vector<SliceFailure> failures;  // cannot be made as long as the reservations are these

  friend bool operator==(const SlicePlan&, const SlicePlan&) = default;
};

[[nodiscard]] SlicePlan plan_slices(const SlicePlanInput& input);

/// Whether a reservation of a living pod or of a running sandbox names the instance.
[[nodiscard]] bool is_in_use(const GpuInstance& instance, const SlicePlanInput& input);

}  // namespace snug::agent
