// Why a pod fits on no node, what would make it fit, and why a bound pod is where it is: the answer
// of explain/explain.hpp as plain data. Nothing here is text of a wire format; the sentences are
// for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "snug/advice/repack.hpp"
#include "snug/base/enum_names.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/model/reasons.hpp"
#include "snug/model/request.hpp"
#include "snug/model/reservation.hpp"
#include "snug/model/sharing_rules.hpp"

namespace snug::explain {

/// One container's request in words: `25 % of the memory and compute of one GPU`.
struct RequestInWords {
  std::string container;
  std::int64_t count = 1;  // devices, or units of a kubelet-assigned resource
  std::string text;        // ContainerRequest::text
  std::string asks;
};

struct ReasonCount {
  model::ReasonCode code = model::ReasonCode::kNone;
  std::size_t nodes = 0;
};

/// What one node lacks.
struct NodeReason {
  std::string node;
  /// kNone: the pod fits there, or the GPUs have room and only CPU, memory or pod slots are
  /// missing.
  model::ReasonCode code = model::ReasonCode::kNone;
  std::string sentence;  // with names and amounts of this node
};

/// A pod that holds what the incoming pod needs on the nearest node, and how much on one GPU.
struct Blocker {
  std::string node;
  std::optional<int> gpu;  // index of the GPU; nullopt: the kubelet assigned its devices
  std::string name_space;
  std::string pod;
  std::string uid;
  std::int64_t memory_mib = 0;     // on this GPU; 0 if the devices are unknown
  std::int64_t compute_milli = 0;  // on this GPU; 0 if the devices are unknown
  std::int64_t units = 0;          // of a kubelet-assigned resource
};

enum class AdviceKind : std::uint8_t {
  kWait,            // terminating pods, or pods that are about to be bound, will make room
  kSmallerRequest,  // a smaller share, fewer GPUs, a smaller slice
  kProfile,         // another MIG profile, which is not smaller
  kModel,           // the pod accepts other GPU models
  kIsolation,       // the pod accepts another isolation
  kEnd,             // pods on one node end
  kMove,            // pods are moved to other nodes, as snugctl defrag advises
  kMode,            // the operator allows another mode on a node's GPUs
  kLabel,           // the operator changes a label of a node
  kCap,             // the operator raises the cap of the namespace
  kSharing,         // the operator lets the namespace share GPUs with others
  kRepair,          // the operator repairs a node
};
inline constexpr base::EnumNames kAdviceKindNames{std::array{
    base::EnumName{AdviceKind::kWait, "wait"},
    base::EnumName{AdviceKind::kSmallerRequest, "smaller-request"},
    base::EnumName{AdviceKind::kProfile, "profile"}, base::EnumName{AdviceKind::kModel, "model"},
    base::EnumName{AdviceKind::kIsolation, "isolation"}, base::EnumName{AdviceKind::kEnd, "end"},
    base::EnumName{AdviceKind::kMove, "move"}, base::EnumName{AdviceKind::kMode, "mode"},
    base::EnumName{AdviceKind::kLabel, "label"}, base::EnumName{AdviceKind::kCap, "cap"},
    base::EnumName{AdviceKind::kSharing, "sharing"},
    base::EnumName{AdviceKind::kRepair, "repair"}}};

/// The pod asks for `request` instead.
struct RequestChange {
  model::GpuRequest request;
};
/// These pods end, or their intents do; all are on `node`.
struct Departures {
  std::string node;
  std::vector<std::string> uids;
};
struct Moves {
  std::vector<advice::PodMove> moves;  // in the order in which they must be made
};
/// The node has this inventory instead.
struct NodeChange {
  model::NodeInventory inventory;
};
/// The policy has these sharing rules instead.
struct RulesChange {
  model::SharingRules sharing;
};

/// One change after which the pod fits, as the search has confirmed.
struct Advice {
  AdviceKind kind = AdviceKind::kWait;
  std::string sentence;
  /// Where the pod then fits, if it is only its own request that changes: the end of the sentence,
  /// like `, on node n1`. Empty: the sentence is complete.
  std::string place = {};
  std::string command;  // a command line that makes or shows the change; empty if there is none
  std::variant<RequestChange, Departures, Moves, NodeChange, RulesChange> change;

  [[nodiscard]] std::string text() const { return sentence + place; }
};

struct Explanation {
  std::size_t nodes = 0;        // nodes that the pod is offered; all other numbers are of these
  std::size_t known_nodes = 0;  // nodes of the snapshot
  std::size_t feasible = 0;     // nodes with room for the pod, also by CPU and memory
  /// Of the feasible nodes those that filter prefers, the best first; at most two.
  std::vector<std::string> best_nodes;
  std::vector<ReasonCount> reasons;  // nodes whose GPUs have no room, the nearest reason first
  /// Nodes whose GPUs have room, but which lack CPU, memory or pod slots: those that are neither
  /// feasible nor counted in `reasons`.
  std::size_t lacking_host_resources = 0;
  /// The node that needs the smallest change. A node that lacks only CPU, memory or pod slots comes
  /// after those whose GPUs wait for other pods, up to OtherKind, and before those that an operator
  /// must change; if it is too small even when empty, it counts as TooLarge. Nullopt: the pod fits,
  /// or no node is offered.
  std::optional<NodeReason> nearest;
  /// At most kMaxBlockers: first pods that close the node, then those that hold most. Empty if the
  /// room is promised to pods that are about to be bound.
  std::vector<Blocker> blockers;
  std::vector<Advice> advice;        // the easiest change first; empty if the pod fits
  std::vector<NodeReason> per_node;  // by name; only if it was asked for
};

inline constexpr std::size_t kMaxBlockers = 10;

/// One term of a profile and what it contributes: score = weight * value.
struct TermScore {
  std::string term;
  std::int64_t weight = 0;
  std::int64_t value = 0;

  [[nodiscard]] std::int64_t score() const { return weight * value; }
};

/// The score of a placement on one node. Of two nodes, the one with the higher score class wins,
/// and if the classes are equal, the one with the lower name.
struct PlacementScore {
  std::string node;
  std::string profile;
  std::int64_t total = 0;
  std::int64_t score_class = 0;  // ceil(total / quantum)
  std::int64_t quantum = 1;      // of the profile, at the demand of the decision
  std::vector<TermScore> terms;
};

/// Why a pod is on its node: its placement against the best placement on any other node.
struct PlacementComparison {
  PlacementScore chosen;
  std::optional<PlacementScore> runner_up;  // nullopt: no other node was feasible
};

}  // namespace snug::explain
