// An immutable view of the ledger: the capacity, use and holdings of each node. Filter, prioritize
// and preempt decide on snapshots. Thread-safe, since a snapshot never changes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "snug/base/enum_names.hpp"
#include "snug/base/ids.hpp"
#include "snug/base/units.hpp"
#include "snug/model/demand.hpp"
#include "snug/model/namespace_usage.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/model/node_name_index.hpp"
#include "snug/model/reservation.hpp"

namespace snug::model {

/// Why a GPU accepts no new pods. The pods that already use it are still counted.
enum class GpuClosure : std::uint8_t {
  kOpen,
  kUnhealthy,      // the inventory reports the GPU as unhealthy
  kVanished,       // a reservation names it, but it is no longer in the inventory
  kChanged,        // a reservation names another uuid, or a slice that no longer exists
  kOverCommitted,  // its pods use more than the GPU has
  kModeConflict,   // its pods use different modes
  kSuspect,        // a reservation contradicts its pod's request or the inventory
  kNoMigTable,     // the GPU is in MIG mode, but its profiles are unknown
};

/// The values of GpuClosure in metric labels.
inline constexpr base::EnumNames kGpuClosureNames{std::array{
    base::EnumName{GpuClosure::kOpen, "open"}, base::EnumName{GpuClosure::kUnhealthy, "unhealthy"},
    base::EnumName{GpuClosure::kVanished, "vanished"},
    base::EnumName{GpuClosure::kChanged, "changed"},
    base::EnumName{GpuClosure::kOverCommitted, "over_committed"},
    base::EnumName{GpuClosure::kModeConflict, "mode_conflict"},
    base::EnumName{GpuClosure::kSuspect, "suspect"},
    base::EnumName{GpuClosure::kNoMigTable, "no_mig_table"}}};

/// The text for each GpuClosure in logs, events and GET /v1/nodes. Empty if the GPU is open.
inline constexpr base::EnumNames kGpuClosureSentences{std::array{
    base::EnumName{GpuClosure::kOpen, ""}, base::EnumName{GpuClosure::kUnhealthy, "unhealthy"},
    base::EnumName{GpuClosure::kVanished,
                   "reserved by a pod, but no longer in the node's inventory"},
    base::EnumName{GpuClosure::kChanged,
                   "the GPU, or a slice of it, is not the one that a reservation names"},
    base::EnumName{GpuClosure::kOverCommitted,
                   "over-committed: the pods on it use more than its capacity"},
    base::EnumName{GpuClosure::kModeConflict, "the pods on it use different modes"},
    base::EnumName{GpuClosure::kSuspect,
                   "a reservation on it contradicts its pod's request or the inventory"},
    base::EnumName{
        GpuClosure::kNoMigTable,
        "in MIG mode, but its MIG profiles are unknown: the inventory has no migProfiles for it, "
        "and none are built in for its model and memory"}}};

[[nodiscard]] constexpr std::string_view to_string(GpuClosure closure) {
  return kGpuClosureSentences[closure];
}

/// A conflict between pods on a node that is not a conflict on one GPU. All pods are still counted.
enum class NodeConflict : std::uint8_t {
  kNone,
  kMixedAssigners,      // the node has annotated pods with devices and kubelet-assigned pods
  kUnitsOverCommitted,  // kubelet-assigned pods hold more units of a resource than the node has
};

/// The text for each NodeConflict in logs, events and GET /v1/nodes. Empty if there is no conflict.
inline constexpr base::EnumNames kNodeConflictSentences{std::array{
    base::EnumName{NodeConflict::kNone, ""},
    base::EnumName{NodeConflict::kMixedAssigners,
                   "annotated and kubelet-assigned pods run on it, and may use the same GPU"},
    base::EnumName{NodeConflict::kUnitsOverCommitted,
                   "over-committed: its kubelet-assigned pods hold more GPU units than it has"}}};

[[nodiscard]] constexpr std::string_view to_string(NodeConflict conflict) {
  return kNodeConflictSentences[conflict];
}

/// What a pod with one GPU adds to GpuState::pod_milli.
inline constexpr std::int32_t kPodMilli = 1000;

/// The use of one GPU.
struct GpuState {
  const GpuInfo* info = nullptr;  // points into the NodeState or the NodeInventory of the node
  base::MebiBytes memory;         // capacity
  base::MebiBytes used_memory;
  base::MilliGpu used_compute;
  GpuMode mode = GpuMode::kNone;
  /// The mode in which the GPU serves a new share that requires no specific mode. On a shared GPU,
  /// this is the current mode, or kNone if the operator no longer allows it. On other GPUs, it is
  /// the first sharing mode that the operator allows, or kNone.
  GpuMode sharing_mode = GpuMode::kNone;
  /// The CPU and memory that its pods request, and the number of its pods in thousandths. A pod
  /// with several GPUs is divided equally between its GPUs.
  HostResources host_requested;
  std::int32_t pod_milli = 0;
  bool allows_whole = false;  // the operator allows mode kWhole, regardless of the current use
  bool allows_both_sharing_modes = false;  // the operator allows both sharing modes
  GpuClosure closure = GpuClosure::kOpen;
  /// The position of the first GPU of the same model on this node. Equal numbers mean equal models.
  std::uint16_t model_group = 0;
  MigUse mig;  // what its pods use, in MIG mode
  /// GPUs with different numbers are not interchangeable, even if their states are equal
  /// (is_interchangeable_with()).
  std::uint16_t distinct_id = 0;
  /// Free memory plus free compute, each in thousandths of the GPU: 0..2000. 0 if the GPU is
  /// closed.
  std::int32_t free_milli_sum = 0;
  /// Free thousandths of the GPU, 0..1000: the smaller of free memory and free compute, or in MIG
  /// mode the free memory slices. 0 if the GPU is closed.
  std::int32_t free_milli = 0;

  [[nodiscard]] base::MebiBytes free_memory() const { return memory - used_memory; }
  [[nodiscard]] base::MilliGpu free_compute() const { return base::kWholeGpu - used_compute; }
  [[nodiscard]] bool empty() const { return mode == GpuMode::kNone; }
  /// Whether two GPUs of one node differ only in their positions.
  [[nodiscard]] bool is_interchangeable_with(const GpuState& other) const {
    return memory == other.memory && used_memory == other.used_memory &&
           used_compute == other.used_compute && mode == other.mode &&
           sharing_mode == other.sharing_mode && allows_whole == other.allows_whole &&
           allows_both_sharing_modes == other.allows_both_sharing_modes &&
           closure == other.closure && model_group == other.model_group &&
           distinct_id == other.distinct_id && info->mig_enabled == other.info->mig_enabled &&
           (!info->mig_enabled || has_same_slices_as(other));
  }
  /// Whether two GPUs in MIG mode have equal slices, apart from their uuids.
  [[nodiscard]] bool has_same_slices_as(const GpuState& other) const {
    return mig == other.mig && info->mig_table == other.info->mig_table &&
           info->failed_memory_slices == other.info->failed_memory_slices &&
           std::ranges::equal(
               info->mig_instances, other.info->mig_instances, [](const Slice& a, const Slice& b) {
                 return a.profile == b.profile && a.start == b.start && a.size == b.size;
               });
  }
};

/// The use of one node. fit/node_usage computes it from the node's inventory and holdings.
struct NodeState {
  // The fields that every decision reads come first, for fewer cache misses.
  std::shared_ptr<const NodeInventory> inventory;
  std::vector<GpuState> gpus;       // the GPUs of the inventory in order, then those in `vanished`
  std::int64_t free_milli_sum = 0;  // sum over the GPUs
  std::int64_t free_milli = 0;      // sum over the GPUs, minus kubelet_milli; at least 0
  /// Why the node accepts no annotated pods, or no kubelet-assigned pods, regardless of its GPUs.
  /// kNone if it accepts them.
  ReasonCode annotated_refusal = ReasonCode::kNone;
  ReasonCode kubelet_refusal = ReasonCode::kNone;
  NodeConflict conflict = NodeConflict::kNone;

  int snug_assigned_pods = 0;     // holdings with devices
  int kubelet_assigned_pods = 0;  // holdings with KubeletUnits
  int unplaced_pods = 0;          // holdings with Holding::unplaced
  std::vector<GpuInfo> vanished;  // GPUs that are reserved but no longer in the inventory
  UnitsByResource kubelet_used;
  std::int64_t kubelet_milli = 0;  // kubelet_used in milli-GPU
  HostResources host_used;         // requests of all pods on the node, including those without GPUs
  /// The resources that mirror shares, as all pods on the node request them (Holding::mirrored).
  MirroredAmounts mirrored_used;
  std::int64_t pod_count = 0;
  std::vector<HoldingPtr> holdings;
  /// What pods that are not in `holdings` contribute to `host_used`, `mirrored_used` and
  /// `pod_count`. If a node has very many CPU-only pods, `holdings` does not list them.
  HostResources unlisted_host_used;
  MirroredAmounts unlisted_mirrored_used;
  std::int64_t unlisted_pod_count = 0;

  [[nodiscard]] HostFree host_free() const {
    const HostResources& allocatable = inventory->host.resources;
    return {allocatable.cpu_milli - host_used.cpu_milli,
            (allocatable.memory_bytes - host_used.memory_bytes) >> 20};
  }

  [[nodiscard]] const std::string& name() const { return inventory->name; }

  /// The position in `gpus` of the GPU that a reserved device is charged to. This is the GPU that
  /// NodeInventory::find_gpu() finds, or else the vanished GPU with the same index and uuid.
  /// Nullopt if there is neither.
  [[nodiscard]] std::optional<std::size_t> find_gpu(const ReservedDevice& device) const;
  /// The number of NVLinks between the GPUs at two positions; 0 if unknown.
  [[nodiscard]] int nvlinks_between(std::size_t a, std::size_t b) const {
    const auto& nvlinks = inventory->nvlinks;
    return a < nvlinks.size() && b < nvlinks.size() ? nvlinks[a][b] : 0;
  }
};
using NodeStatePtr = std::shared_ptr<const NodeState>;

/// All node states, indexed by slot. Tables share chunks of states. So the new table after a change
/// of one node copies only one chunk and the list of chunks, not a pointer for every node.
class NodeTable {
 public:
  static constexpr std::size_t kChunkSize = 64;
  /// Versions are stored apart from states, because decisions read only the versions of most nodes,
  /// not their states.
  struct Chunk {
    std::array<NodeStatePtr, kChunkSize> states;  // null if the slot has no node
    /// The version of each state. Two states of the same slot have different versions. 0 means that
    /// a state has no version.
    std::array<std::uint64_t, kChunkSize> versions = {};
  };

  NodeTable() = default;
  NodeTable(std::vector<std::shared_ptr<const Chunk>> chunks, std::size_t size)
      : chunks_(std::move(chunks)), size_(size) {}
  /// Makes a table whose versions are all 0.
  explicit NodeTable(const std::vector<NodeStatePtr>& nodes);

  [[nodiscard]] std::size_t size() const { return size_; }
  /// The state of the node in `slot`; null if the slot has no node.
  [[nodiscard]] const NodeStatePtr& operator[](std::size_t slot) const {
    return chunks_[slot / kChunkSize]->states[slot % kChunkSize];
  }
  [[nodiscard]] std::uint64_t version(std::size_t slot) const {
    return chunks_[slot / kChunkSize]->versions[slot % kChunkSize];
  }

 private:
  std::vector<std::shared_ptr<const Chunk>> chunks_;
  std::size_t size_ = 0;
};

struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};

/// An unbound pod with status.nominatedNodeName. kube-scheduler has evicted other pods on that node
/// for it.
struct Nomination {
  std::string name_space;
  std::string node;
  PodRank rank;
  GpuRequest request;
  HostResources host;        // requested CPU and memory
  MirroredAmounts mirrored;  // requested amounts of the resources that mirror shares
};
using NominationPtr = std::shared_ptr<const Nomination>;
/// The nominations of one node, highest rank first.
using Nominations = std::vector<NominationPtr>;

/// The intents of one node, earliest first: placements that filter or prioritize has named as
/// winners and that are not bound yet. They count as taken for other pods.
using Intents = std::vector<HoldingPtr>;

struct Snapshot {
  base::Generation generation;        // counts all changes of the ledger
  base::Generation freed_generation;  // counts changes that may have freed capacity
  /// Counts intents that ended without the bind of their pods and so freed capacity.
  base::Generation ended_intents_generation;
  base::Generation inventory_generation;  // counts changes of inventories
  NodeTable nodes;                        // indexed by NodeIndex
  /// Maps node names to positions in `nodes`.
  std::shared_ptr<const NameIndex> names;
  std::unordered_map<std::uint32_t, Intents> intents;  // by NodeIndex; only nodes with intents
  /// Nominated pods that are not in the ledger yet, by NodeIndex. Capacity is reserved for them.
  std::unordered_map<std::uint32_t, Nominations> nominations;
  /// The GPU compute that the pods of each namespace hold.
  NamespaceUsage namespace_usage;
  /// Names of GPU models, indexed by GpuInfo::model_id. Element 0 is empty. Null if there are none.
  std::shared_ptr<const std::vector<std::string>> models;
  /// MIG tables, indexed by GpuInfo::mig_table_id. Element 0 is null. Null if there are none.
  std::shared_ptr<const std::vector<MigTableRef>> mig_tables;
  /// The learned demand. Never null.
  DemandPtr demand{DemandPtr{}, &kNoDemand};

  /// The intents on the node in `slot`; null if there are none.
  [[nodiscard]] const Intents* intents_on(std::uint32_t slot) const {
    if (intents.empty()) return nullptr;
    const auto found = intents.find(slot);
    return found == intents.end() ? nullptr : &found->second;
  }
  /// The pods that are nominated to the node in `slot`; null if there are none.
  [[nodiscard]] const Nominations* nominations_on(std::uint32_t slot) const {
    if (nominations.empty()) return nullptr;
    const auto found = nominations.find(slot);
    return found == nominations.end() ? nullptr : &found->second;
  }
};
using SnapshotPtr = std::shared_ptr<const Snapshot>;

}  // namespace snug::model
