// An immutable view of the ledger: each node's capacity, use and holders. Decisions read only
// snapshots. Thread-safe, since a snapshot never changes.
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

/// Why a GPU accepts no new pods. Its holders stay counted.
enum class GpuClosure : std::uint8_t {
  kOpen,
  kUnhealthy,      // by the inventory
  kVanished,       // reserved, but no longer in the inventory
  kChanged,        // the GPU at the index has another uuid than a reservation names
  kOverCommitted,  // its holders use more than the GPU has
  kModeConflict,   // its holders have different modes
  kSuspect,        // a reservation contradicts its own request or the inventory
  kNoMigTable,     // in MIG mode, but the card's profiles are unknown
};

/// What metrics call them.
inline constexpr base::EnumNames kGpuClosureNames{std::array{
    base::EnumName{GpuClosure::kOpen, "open"}, base::EnumName{GpuClosure::kUnhealthy, "unhealthy"},
    base::EnumName{GpuClosure::kVanished, "vanished"},
    base::EnumName{GpuClosure::kChanged, "changed"},
    base::EnumName{GpuClosure::kOverCommitted, "over_committed"},
    base::EnumName{GpuClosure::kModeConflict, "mode_conflict"},
    base::EnumName{GpuClosure::kSuspect, "suspect"},
    base::EnumName{GpuClosure::kNoMigTable, "no_mig_table"}}};

/// What logs, events and GET /v1/nodes say to people; empty: the GPU is open.
inline constexpr base::EnumNames kGpuClosureSentences{std::array{
    base::EnumName{GpuClosure::kOpen, ""}, base::EnumName{GpuClosure::kUnhealthy, "unhealthy"},
    base::EnumName{GpuClosure::kVanished, "reserved, and no longer in the node's inventory"},
    base::EnumName{GpuClosure::kChanged,
                   "it, or a slice of it, is no longer the one that reservations name"},
    base::EnumName{GpuClosure::kOverCommitted,
                   "over-committed: its holders add up to more than it has"},
    base::EnumName{GpuClosure::kModeConflict, "holders of different modes meet on it"},
    base::EnumName{GpuClosure::kSuspect,
                   "a reservation on it disagrees with its own request or with the inventory"},
    base::EnumName{GpuClosure::kNoMigTable,
                   "in MIG mode, and the inventory gives no migProfiles for this model and memory, "
                   "nor are they built in"}}};

[[nodiscard]] constexpr std::string_view to_string(GpuClosure closure) {
  return kGpuClosureSentences[closure];
}

/// A conflict between holders of a node that no single GPU shows. All holders stay counted.
enum class NodeConflict : std::uint8_t {
  kNone,
  kMixedAssigners,      // pods with devices chosen by Snug beside kubelet-assigned pods
  kUnitsOverCommitted,  // kubelet-assigned pods hold more units of a resource than the node has
};

/// What logs, events and GET /v1/nodes say to people; empty: there is no conflict.
inline constexpr base::EnumNames kNodeConflictSentences{std::array{
    base::EnumName{NodeConflict::kNone, ""},
    base::EnumName{
        NodeConflict::kMixedAssigners,
        "annotated and kubelet-assigned pods meet on it, and may have been given one GPU"},
    base::EnumName{NodeConflict::kUnitsOverCommitted,
                   "over-committed: its kubelet-assigned pods hold more units than it has"}}};

[[nodiscard]] constexpr std::string_view to_string(NodeConflict conflict) {
  return kNodeConflictSentences[conflict];
}

/// What one pod adds to GpuState::pod_milli.
inline constexpr std::int32_t kPodMilli = 1000;

/// One GPU's use.
struct GpuState {
  const GpuInfo* info = nullptr;  // lives as long as the NodeState that holds this
  base::MebiBytes memory;         // capacity
  base::MebiBytes used_memory;
  base::MilliGpu used_compute;
  GpuMode mode = GpuMode::kNone;
  /// The mode in which it serves a share: its current mode if the operator allows it, else the
  /// first sharing mode that the operator allows; kNone: it serves no shares.
  GpuMode sharing_mode = GpuMode::kNone;
  /// The CPU and memory requests of its pods, and the number of its pods in thousandths. A pod with
  /// several GPUs is divided equally between them.
  HostResources host_requested;
  std::int32_t pod_milli = 0;
  bool allows_whole = false;  // the operator allows whole-GPU pods, whatever its current use
  bool allows_both_sharing_modes = false;  // the operator allows both sharing modes
  GpuClosure closure = GpuClosure::kOpen;
  /// The position of the node's first GPU of the same model: equal numbers mean equal models.
  std::uint16_t model_group = 0;
  MigUse mig;  // what its holders use, in MIG mode
  /// GPUs with different numbers must not be treated as interchangeable although their states are
  /// equal (see same_as()).
  std::uint16_t distinct_id = 0;
  /// Free memory plus free compute, each in thousandths of the GPU: 0..2000; 0 when closed.
  std::int32_t free_milli_sum = 0;
  /// Free thousandths of the GPU, 0..1000: the minimum of its free memory and free compute, or its
  /// free memory slices in MIG mode; 0 when closed.
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
           info->mig_failed_slices == other.info->mig_failed_slices &&
           std::ranges::equal(
               info->mig_instances, other.info->mig_instances, [](const Slice& a, const Slice& b) {
                 return a.profile == b.profile && a.start == b.start && a.size == b.size;
               });
  }
};

/// One node's use: the sum of its holdings, applied to its inventory (fit/node_usage computes it).
struct NodeState {
  // The fields that every decision reads come first, for locality.
  std::shared_ptr<const NodeInventory> inventory;
  std::vector<GpuState> gpus;       // the inventory's in order, then the vanished ones
  std::int64_t free_milli_sum = 0;  // sum over the GPUs
  std::int64_t free_milli = 0;      // sum over the GPUs, minus kubelet_milli
  /// Why the node accepts no annotated pods, or no kubelet-assigned pods, whatever its GPUs; kNone:
  /// it accepts them.
  ReasonCode annotated_refusal = ReasonCode::kNone;
  ReasonCode kubelet_refusal = ReasonCode::kNone;
  NodeConflict conflict = NodeConflict::kNone;

  int snug_assigned_pods = 0;     // holdings with devices
  int kubelet_assigned_pods = 0;  // holdings by count
  int unplaced_pods = 0;          // holdings that close the node to annotated pods
  std::vector<GpuInfo> vanished;  // GPUs that are reserved but no longer in the inventory
  std::map<std::string, std::int64_t, std::less<>> kubelet_used;  // units by resource
  std::int64_t kubelet_milli = 0;                                 // the same in milli-GPU
  HostResources host_used;  // of all pods on the node, including those without GPUs
  std::int64_t pod_count = 0;
  std::vector<HoldingPtr> holdings;
  /// The part of `host_used` and `pods` that belongs to pods which `holdings` leaves out: pods
  /// without GPUs, on a node that has very many of them.
  HostResources unlisted_host_used;
  std::int64_t unlisted_pod_count = 0;

  [[nodiscard]] HostFree host_free() const {
    const HostResources& has = inventory->host.resources;
    return {has.cpu_milli - host_used.cpu_milli, (has.memory_bytes - host_used.memory_bytes) >> 20};
  }

  [[nodiscard]] const std::string& name() const { return inventory->name; }

  /// The position in `gpus` of the GPU that a reserved device is charged to: by
  /// NodeInventory::find_gpu(), else the vanished GPU with its index and uuid. Nullopt: none.
  [[nodiscard]] std::optional<std::size_t> find_gpu(const ReservedDevice& device) const;
  /// The number of NVLinks between the GPUs at two positions; 0 if unknown.
  [[nodiscard]] int nvlinks_between(std::size_t a, std::size_t b) const {
    const auto& all = inventory->nvlinks;
    return a < all.size() && b < all.size() ? all[a][b] : 0;
  }
};
using NodeStatePtr = std::shared_ptr<const NodeState>;

/// Node states by slot. Tables share chunks of states, so a new table after a change of one node
/// copies one chunk and the list of chunks, not a pointer for every node.
class NodeTable {
 public:
  static constexpr std::size_t kChunkSize = 64;
  /// Versions are apart from states, since most decisions read only the versions of most nodes.
  struct Chunk {
    std::array<NodeStatePtr, kChunkSize> states;  // null: the slot's node is gone
    /// A version number for each state. Two states of the same slot have different versions, unless
    /// they are 0, which means unnumbered.
    std::array<std::uint64_t, kChunkSize> versions = {};
  };

  NodeTable() = default;
  NodeTable(std::vector<std::shared_ptr<const Chunk>> chunks, std::size_t size)
      : chunks_(std::move(chunks)), size_(size) {}
  /// A table whose versions are all 0.
  explicit NodeTable(const std::vector<NodeStatePtr>& nodes);

  [[nodiscard]] std::size_t size() const { return size_; }
  /// Null where the slot's node is gone.
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

/// An unbound pod with status.nominatedNodeName: kube-scheduler evicted others for it on that node.
struct Nomination {
  std::string name_space;
  std::string node;
  PodRank rank;
  GpuRequest request;
};
using NominationPtr = std::shared_ptr<const Nomination>;
/// Of one node, in the order of rank.
using Nominations = std::vector<NominationPtr>;

/// Placements on one node that filter named as winners and that are not bound yet, earliest first.
/// Other pods see them as taken.
using Intents = std::vector<HoldingPtr>;

struct Snapshot {
  base::Generation generation;        // of the ledger
  base::Generation freed_generation;  // counts changes that may have freed capacity
  /// Counts intents that ended other than by their pods' binds, and so freed their places.
  base::Generation ended_intents_generation;
  base::Generation inventory_generation;  // counts changes of inventories
  NodeTable nodes;                        // by NodeIndex
  /// The slots of `nodes` by name.
  std::shared_ptr<const NameIndex> names;
  std::unordered_map<std::uint32_t, Intents> intents;  // by node; no entry is empty
  /// Nominated pods that hold nothing yet, by node: their requests are kept free for them.
  std::unordered_map<std::uint32_t, Nominations> nominations;
  /// The GPU compute that the holdings of each namespace have.
  NamespaceUsage namespace_usage;
  /// GPU models by GpuInfo::model_id; element 0 is empty. Null: there are none.
  std::shared_ptr<const std::vector<std::string>> models;
  /// MIG tables by GpuInfo::mig_table_id; element 0 is null. Null: there are none.
  std::shared_ptr<const std::vector<MigTableRef>> mig_tables;
  /// The learned demand for GPUs. Never null.
  DemandPtr demand{DemandPtr{}, &kNoDemand};
};
using SnapshotPtr = std::shared_ptr<const Snapshot>;

}  // namespace snug::model
