// An immutable view of the ledger: what every node has, what is taken, and who holds it. Decisions
// read snapshots only. A snapshot is complete when made, never changes, and may be read by any
// number of threads.
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
#include "snug/model/name_index.hpp"
#include "snug/model/namespace_use.hpp"
#include "snug/model/node.hpp"
#include "snug/model/reservation.hpp"

namespace snug {

/// Why a GPU takes nothing new. Its holders stay counted.
enum class GpuClosure : std::uint8_t {
  kOpen,
  kUnhealthy,      // the inventory says so
  kVanished,       // reserved, and no longer in the inventory
  kChanged,        // the index now has another uuid than a reservation names
  kOverCommitted,  // holders add up to more than the GPU has
  kModeConflict,   // holders of different modes meet
  kSuspect,        // a reservation disagrees with its own request or with the inventory
  kNoMigTable,     // in MIG mode, and nobody says what slices its card can have
};

/// What metrics call them.
inline constexpr EnumNames kGpuClosureNames{std::array{
    EnumName{GpuClosure::kOpen, "open"}, EnumName{GpuClosure::kUnhealthy, "unhealthy"},
    EnumName{GpuClosure::kVanished, "vanished"}, EnumName{GpuClosure::kChanged, "changed"},
    EnumName{GpuClosure::kOverCommitted, "over_committed"},
    EnumName{GpuClosure::kModeConflict, "mode_conflict"},
    EnumName{GpuClosure::kSuspect, "suspect"},
    EnumName{GpuClosure::kNoMigTable, "no_mig_table"}}};

/// What logs, events and GET /v1/nodes say to people; empty: the GPU is open.
inline constexpr EnumNames kGpuClosureSentences{std::array{
    EnumName{GpuClosure::kOpen, ""}, EnumName{GpuClosure::kUnhealthy, "unhealthy"},
    EnumName{GpuClosure::kVanished, "reserved, and no longer in the node's inventory"},
    EnumName{GpuClosure::kChanged,
             "it, or a slice of it, is no longer the one that reservations name"},
    EnumName{GpuClosure::kOverCommitted,
             "over-committed: its holders add up to more than it has"},
    EnumName{GpuClosure::kModeConflict, "holders of different modes meet on it"},
    EnumName{GpuClosure::kSuspect,
             "a reservation on it disagrees with its own request or with the inventory"},
    EnumName{GpuClosure::kNoMigTable,
             "in MIG mode, and the inventory gives no migProfiles for this model and memory, "
             "nor are they built in"}}};

[[nodiscard]] constexpr std::string_view to_string(GpuClosure closure) {
  return kGpuClosureSentences[closure];
}

/// Why holders on a node cannot all be right, though no single GPU shows it. All stay counted.
enum class NodeConflict : std::uint8_t {
  kNone,
  kMixedKinds,      // pods with devices of Snug's beside pods whose devices the kubelet picks
  kUnitsOverTaken,  // the kubelet's pods hold more units of a resource than the node has
};

/// What logs, events and GET /v1/nodes say to people; empty: there is no conflict.
inline constexpr EnumNames kNodeConflictSentences{std::array{
    EnumName{NodeConflict::kNone, ""},
    EnumName{NodeConflict::kMixedKinds,
             "annotated and kubelet-assigned pods meet on it, and may have been given one GPU"},
    EnumName{NodeConflict::kUnitsOverTaken,
             "over-committed: its kubelet-assigned pods hold more units than it has"}}};

[[nodiscard]] constexpr std::string_view to_string(NodeConflict conflict) {
  return kNodeConflictSentences[conflict];
}

/// What a pod counts in GpuState::crowd.
inline constexpr std::int32_t kCrowdOfPod = 1000;

/// One GPU's use. `info` lives as long as the NodeState that holds it.
struct GpuState {
  const GpuInfo* info = nullptr;
  MebiBytes memory;  // capacity
  MebiBytes used_memory;
  MilliGpu used_compute;
  GpuMode mode = GpuMode::kNone;
  /// The mode in which it would serve a share: the one it is in while the operator allows that,
  /// else the first sharing entry of what the operator allows; kNone: it serves none.
  GpuMode sharing = GpuMode::kNone;
  /// What its pods ask of the node, and how many thousandths of pods they are: one that has several
  /// GPUs counts the same part on each.
  HostAmounts host;
  std::int32_t crowd = 0;
  bool takes_whole = false;  // as the operator allows, whatever is on it now
  bool shares_both = false;  // the operator allows both modes for shares
  GpuClosure closure = GpuClosure::kOpen;
  /// The position of the node's first GPU of the same model: equal numbers, equal models.
  std::uint16_t model = 0;
  MigUse mig;  // what its holders have, in MIG mode
  /// Not 0: something that is not its state tells it from all GPUs with another number.
  std::uint16_t told_apart = 0;
  /// What is left for others, thousandths of the memory plus thousandths of the compute: 0..2000;
  /// 0 when closed.
  std::int32_t room = 0;
  /// The same as one number, thousandths of the GPU: what is left of its memory or of its compute,
  /// whichever is less; of memory slices, in MIG mode; 0 when closed.
  std::int32_t left = 0;

  [[nodiscard]] MebiBytes free_memory() const { return memory - used_memory; }
  [[nodiscard]] MilliGpu free_compute() const { return kWholeGpu - used_compute; }
  [[nodiscard]] bool empty() const { return mode == GpuMode::kNone; }
  /// Nothing but their positions tells the two apart. Of GPUs of one node.
  [[nodiscard]] bool same_as(const GpuState& other) const {
    return memory == other.memory && used_memory == other.used_memory &&
           used_compute == other.used_compute && mode == other.mode && sharing == other.sharing &&
           takes_whole == other.takes_whole && shares_both == other.shares_both &&
           closure == other.closure && model == other.model && told_apart == other.told_apart &&
           info->mig == other.info->mig && (!info->mig || same_slices_as(other));
  }
  /// Of GPUs in MIG mode: what they have of slices, their uuids aside.
  [[nodiscard]] bool same_slices_as(const GpuState& other) const {
    return mig == other.mig && info->mig_table == other.info->mig_table &&
           info->mig_failed == other.info->mig_failed &&
           std::ranges::equal(
               info->mig_instances, other.info->mig_instances, [](const Slice& a, const Slice& b) {
                 return a.profile == b.profile && a.start == b.start && a.size == b.size;
               });
  }
};

/// One node's use: always the sum of its holdings over its inventory (fit/usage makes it).
struct NodeState {
  // What every decision reads stands first, and together.
  std::shared_ptr<const NodeInventory> inventory;
  std::vector<GpuState> gpus;  // the inventory's in its order, then the vanished ones
  std::int64_t room = 0;       // sum over the GPUs
  std::int64_t left = 0;       // sum over the GPUs, less what the kubelet's pods hold by count
  /// Why the node as a whole takes no pod of either kind, whatever its GPUs; kNone: it does.
  ReasonCode annotated_gate = ReasonCode::kNone;
  ReasonCode kubelet_gate = ReasonCode::kNone;
  NodeConflict conflict = NodeConflict::kNone;

  int snug_assigned = 0;          // holdings with devices
  int kubelet_assigned = 0;       // holdings by count
  int unplaced = 0;               // holdings that close the node to annotated pods
  std::vector<GpuInfo> vanished;  // GPUs that only reservations still name
  std::map<std::string, std::int64_t, std::less<>> kubelet_used;  // units by resource
  std::int64_t kubelet_milli = 0;                                 // the same as thousandths of GPUs
  HostAmounts host_used;  // of all pods on the node, those without GPUs included
  std::int64_t pods = 0;
  std::vector<HoldingPtr> holdings;
  /// The part of `host_used` and of `pods` that is of pods which `holdings` does not list: pods
  /// without GPUs, where a node has very many of them.
  HostAmounts unlisted_host_used;
  std::int64_t unlisted_pods = 0;

  [[nodiscard]] HostLeft host_left() const {
    const HostAmounts& has = inventory->host.amounts;
    return {has.cpu_milli - host_used.cpu_milli, (has.memory_bytes - host_used.memory_bytes) >> 20};
  }

  [[nodiscard]] const std::string& name() const { return inventory->name; }

  /// The position in `gpus` of the one that a reserved device is charged to: the inventory's
  /// (NodeInventory::gpu_of), else the vanished one with its index and uuid; nothing: none of them.
  [[nodiscard]] std::optional<std::size_t> gpu_of(const ReservedDevice& device) const;
  /// NVLinks between the GPUs at two positions; 0 where none are known.
  [[nodiscard]] int links(std::size_t a, std::size_t b) const {
    const auto& all = inventory->links;
    return a < all.size() && b < all.size() ? all[a][b] : 0;
  }
};
using NodeStatePtr = std::shared_ptr<const NodeState>;

/// Node states by slot, in chunks that tables share: a new table after a change of one node costs a
/// chunk and a list of chunks, not a pointer for every node.
class NodeTable {
 public:
  static constexpr std::size_t kChunk = 64;
  /// Of so many slots; apart, since most decisions look at most nodes' versions alone.
  struct Chunk {
    std::array<NodeStatePtr, kChunk> states;          // null: the slot's node is gone
    std::array<std::uint64_t, kChunk> versions = {};  // in one slot of one ledger, no two states
                                                      // have the same but 0
  };

  NodeTable() = default;
  NodeTable(std::vector<std::shared_ptr<const Chunk>> chunks, std::size_t size)
      : chunks_(std::move(chunks)), size_(size) {}
  /// Without versions.
  explicit NodeTable(const std::vector<NodeStatePtr>& nodes);

  [[nodiscard]] std::size_t size() const { return size_; }
  /// Null where the slot's node is gone.
  [[nodiscard]] const NodeStatePtr& operator[](std::size_t slot) const {
    return chunks_[slot / kChunk]->states[slot % kChunk];
  }
  [[nodiscard]] std::uint64_t version(std::size_t slot) const {
    return chunks_[slot / kChunk]->versions[slot % kChunk];
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

/// An unbound pod that kube-scheduler nominated to a node, where others were evicted for it
/// (status.nominatedNodeName).
struct Nomination {
  std::string name_space;
  std::string node;
  PodRank rank;
  GpuRequest request;
};
using NominationPtr = std::shared_ptr<const Nomination>;
/// Of one node, the first by rank first.
using Nominations = std::vector<NominationPtr>;

/// Placements on one node that were named as their pods' winners, and that are not bound yet, the
/// earliest first: they count as taken for other pods.
using Intents = std::vector<HoldingPtr>;

struct Snapshot {
  Generation generation;       // of the ledger
  Generation room_generation;  // counts the changes that may have made room
  /// Counts the intents whose places came free: that ended otherwise than by their pods' binds.
  Generation intents_ended;
  Generation inventories;  // counts the changes of what nodes have
  NodeTable nodes;         // by NodeIndex
  /// Names to slots of `nodes`.
  std::shared_ptr<const NameIndex> names;
  std::unordered_map<std::uint32_t, Intents> intents;  // by node; none is empty
  /// Pods without a holding that are nominated to a node, by node: what they ask is kept for them.
  std::unordered_map<std::uint32_t, Nominations> nominations;
  /// What the holdings of each namespace have of GPUs' compute.
  NamespaceUse held;
  /// GPU models by their number (GpuInfo::model_number), the first of them nameless. Null: none.
  std::shared_ptr<const std::vector<std::string>> models;
  /// MIG tables by their number (GpuInfo::mig_number), the first of them none. Null: none.
  std::shared_ptr<const std::vector<MigTableRef>> mig_tables;
  /// What has been learned of the pods that ask for GPUs. Never null.
  DemandPtr demand{DemandPtr{}, &kNothingLearned};
};
using SnapshotPtr = std::shared_ptr<const Snapshot>;

}  // namespace snug
