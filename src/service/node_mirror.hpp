// Keeps the extended resources snug.dev/gpu-milli and snug.dev/gpu-memory-mib correct in the status
// of each node, and the parameters of the admission policy (deploy/mirror-parameters.yaml). The
// policy adds these resources to new pods only while the parameters exist.
//
// If shares are mirrored:
//   - A node with GPUs, or with pods that carry the resources, gets the capacity of
//     admission::node_amounts(), raised to the sum over its pods. So no pod exceeds the capacity.
//     Any other node has neither resource.
//   - The parameters are written once there is a GPU node and each GPU node shows both resources. A
//     GPU node here is a node with GPUs that is not closed to all. They then stay, also if a
//     further GPU node appears.
// If shares are not mirrored, the parameters are deleted, and then both resources are removed from
// every node.
//
// Writes only while this Snug is ready, which includes that it leads. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "snug/admission/mirrored_resources.hpp"
#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/ledger/ledger.hpp"
#include "snug/service/ports.hpp"
#include "snug/service/readiness.hpp"

namespace snug::service {

/// The capacity that a node must show. Nullopt: the node must have neither resource.
using MirroredCapacity = std::optional<model::MirroredAmounts>;

/// `cards`: nullopt: shares are not mirrored. Pure.
[[nodiscard]] MirroredCapacity mirrored_capacity_of(
    const model::NodeState& node, const std::optional<admission::CardRange>& cards);

struct NodeMirrorParts {
  ledger::Ledger& ledger;
  const Readiness& readiness;
  ApiPort& api;
  Log& log;
  const base::Clock& clock;
};

class NodeMirror {
 public:
  NodeMirror(NodeMirrorParts parts, const base::Limits& limits,
             const std::optional<admission::CardRange>& cards)
      : parts_(parts), limits_(limits), cards_(cards) {}

  /// Writes what is due: at most mirror_patches_per_tick nodes, and the parameters. Examines only
  /// nodes that have changed since the last call. A write is repeated if it failed, or if the node
  /// does not show its effect after mirror_retry_ms.
  void write();
  /// Whether shares are not mirrored, and nothing is left of them in the cluster: the parameters
  /// are deleted, and each node has been seen without the resources.
  [[nodiscard]] bool is_removed() const {
    return !cards_ && seen_generation_ && parameters_written_ && tasks_.empty();
  }
  /// Must be called while this Snug is a standby. When it leads again, write() examines all nodes
  /// and writes the parameters again: another leader may have changed them.
  void stand_by();

 private:
  /// A node that does not show its capacity.
  struct Task {
    std::string node;
    MirroredCapacity capacity;
    model::ShownAmounts shown;
    bool failed = false;  // whether the last patch failed
    base::TimePoint next_try = base::TimePoint::min();
    std::string logged_error;  // empty: no error of this task was logged
  };
  /// A node with a GPU outside of the range, which was logged.
  struct StrayGpu {
    std::string node;
    base::MebiBytes memory;

    friend bool operator==(const StrayGpu&, const StrayGpu&) = default;
  };

  void look_at(const model::Snapshot& snapshot);
  void examine(std::size_t slot, const model::NodeState& node);
  void plan_patch(std::size_t slot, const model::NodeState& node, const MirroredCapacity& capacity);
  void forget(std::size_t slot);
  void warn_of_stray_gpu(std::size_t slot, const model::NodeInventory& inventory,
                         const admission::CardRange& cards);
  void patch_nodes();
  /// Returns whether the patch succeeded.
  bool patch(Task& task);
  [[nodiscard]] bool all_gpu_nodes_are_visible() const {
    return !gpu_slots_.empty() && hidden_slots_.empty();
  }
  /// Returns whether the parameters are as they must be.
  bool write_parameters();

  NodeMirrorParts parts_;
  const base::Limits limits_;
  const std::optional<admission::CardRange> cards_;
  std::optional<base::Generation> seen_generation_;       // nullopt: no node has been examined
  std::vector<std::uint64_t> node_versions_;              // the versions at the last call, by slot
  std::map<std::size_t, Task> tasks_;                     // by slot
  std::unordered_set<std::size_t> gpu_slots_;             // slots of GPU nodes
  std::unordered_set<std::size_t> hidden_slots_;          // those that do not show both resources
  std::unordered_map<std::size_t, StrayGpu> stray_gpus_;  // by slot
  base::TimePoint paused_until_ = base::TimePoint::min();
  bool parameters_written_ = false;
  base::TimePoint next_parameters_try_ = base::TimePoint::min();
  std::string logged_parameters_error_;
};

}  // namespace snug::service
