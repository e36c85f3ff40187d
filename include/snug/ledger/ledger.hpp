// The one owner of all reservations. A pod's way through it:
//
//                 reserve                bound, hold
//   (nothing) ─────────────► Reserved ─────────────────► Bound
//                             │    ▲                       ▲
//        unsettled, release*  │    │ reserve (a retry)     │ hold
//                             ▼    │                       │
//                            Unsettled ────────────────────┘
//
// gone() ends whatever a pod holds. Other ways in which an entry ends:
//   - Reserved: release(); * it returns to Unsettled while an earlier bind is in doubt.
//   - Unsettled: release_unsettled().
//   - Bound: a list that shows the pod unbound; for a pod without a device (Holding::unplaced), a
//     hold() that shows that it requests none; a pod without GPUs is replaced by a hold() that
//     shows some.
// hold() also creates a Bound entry, for a pod that another scheduler bound, and after a restart of
// Snug.
//
// Invariants
//   - A reservation is made only if fit() succeeds on the live state, under the lock. So the
//     ledger's own decisions never exceed the capacity of a GPU.
//   - The use of a node is always the sum of its holdings over its inventory (fit/node_usage).
//   - A holding of devices or units ends only by release() (the bind certainly did not happen),
//     gone() (deleted or finished), or a list that started after it and lacks it. Never by time
//     alone.
//   - A pod that has ended holds nothing until newer information shows it bound and running. That
//   is
//     a list that started after the end or, if a list or the watch reported the end, a later event
//     of the watch. Late events and reads do not revive a pod. (A phase can change from Failed back
//     to Running, and a read can be answered from a stale cache.)
//   - Bound wins over reserved: when the API server shows a pod bound elsewhere, our own bind ends.
//
// Thread-safe. One mutex, never held during I/O or logging, and usually for microseconds.
// Exceptions, bounded by base/limits.hpp: reserve() of a pod with many containers may take
// milliseconds, and tens of them beside dozens of nominated pods. A list of pods is applied in
// parts of 256 pods, or of all pods with GPUs of one node if those are more; each part holds the
// mutex for about 2 us per pod, and a waiting thread gets the mutex between two parts. A list of
// nodes is applied in parts of 32 nodes. A change of a node costs time for each of its pods with
// GPUs and for up to 1,024 pods without; beyond that, a pod without GPUs costs the same however
// many there are. After a change, snapshot() copies the changed chunks of nodes, the list of
// chunks, the intents and the nominations; without a change it copies nothing. bench/ledger_bench
// measures these costs.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "snug/base/clock.hpp"
#include "snug/base/enum_names.hpp"
#include "snug/base/ids.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/mutex.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/plan/incoming_pod.hpp"

namespace snug::ledger {

enum class HoldingState : std::uint8_t { kReserved, kUnsettled, kBound };

inline constexpr base::EnumNames kHoldingStateNames{
    std::array{base::EnumName{HoldingState::kReserved, "reserved"},
               base::EnumName{HoldingState::kUnsettled, "unsettled"},
               base::EnumName{HoldingState::kBound, "bound"}}};

struct LedgerEntry {
  model::HoldingPtr holding;
  HoldingState state = HoldingState::kReserved;
  bool confirmed = false;      // whether a list or the watch has shown the pod bound
  std::uint64_t sequence = 0;  // of its last change
  base::TimePoint since;       // of its last change of state, or of the GET that showed it bound
  /// The watch showed the pod bound after it had ended; a read or a list has yet to confirm it.
  bool reappeared_after_end = false;
  /// When the outcome of one of its binds last became unknown. The API server may still execute
  /// that bind, whatever the outcome of later ones.
  std::optional<base::TimePoint> last_unknown_bind;
};

struct ReserveInput {
  plan::IncomingPod incoming;
  std::string_view pod;
  std::string_view node;
  bool has_other_constraints = false;  // PodFacts
};

/// Why reserve() failed.
struct ReserveFailure {
  enum class Cause : std::uint8_t {
    kNoFit,      // for `reason`
    kElsewhere,  // the pod already holds `entry`, on another node
    kInFlight,   // another bind of the pod to this node is in progress
    kBound,      // the pod is already bound to this node
    kEnded,      // the pod has been deleted or has finished
  };
  Cause cause = Cause::kNoFit;
  model::ReasonCode reason = model::ReasonCode::kNone;
  LedgerEntry entry;
};

/// The point in the sequence of changes at which a list was requested.
struct ListMark {
  std::uint64_t sequence = 0;
};

struct ListedPods {
  std::vector<model::HoldingPtr> bound;
  std::unordered_set<std::string_view> living;  // uids of all pods of the list
  std::vector<model::NominationPtr> nominated;
};

struct ListResult {
  std::vector<std::string> edited_uids;  // sorted uids of pods for which hold() would return false
  std::size_t dropped_nominations = 0;   // nominations beyond max_nominations
};

class Ledger {
 public:
  Ledger(const base::Clock& clock, const base::Limits& limits);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  [[nodiscard]] model::SnapshotPtr snapshot();

  // Inventories. A removed node keeps its holdings until their pods end.
  /// False: there are max_nodes nodes already, and this one is not added.
  bool put_node(model::NodeInventory inventory);
  void remove_node(std::string_view name);
  /// Applies a whole list: nodes that are not in it are removed. Returns the number of nodes that
  /// were not added. Only one thread at a time may put, remove and replace nodes; others may see
  /// the list partly applied.
  std::size_t replace_nodes(std::vector<model::NodeInventory> inventories);

  // Holdings, as the API server shows them.
  /// The pod is bound with this holding, which may consist of CPU and memory alone. The GPUs of a
  /// holding that the ledger already has do not change: later edits of a reservation have no
  /// effect. Exceptions: a holding without a device (Holding::unplaced) ends when the pod no longer
  /// requests one, and a holding without GPUs is replaced by the one shown, as after a restart. The
  /// other facts of the pod are updated. False: somebody edited the reservation, or added one by
  /// hand.
  bool hold(const model::HoldingPtr& holding);
  /// The same from a GET of the pod. The entry stays unseen, since the watch may not have reached
  /// this state, and so may not report its end.
  bool hold_from_get(const model::HoldingPtr& holding);
  /// The watch reports that the pod is deleted or finished; it may not have held anything.
  void end_pod(std::string_view uid);
  /// The same from a GET of the pod. False, and nothing changes: the entry has changed since
  /// `sequence`, so the read may be older.
  bool end_pod_from_get(std::string_view uid, std::uint64_t sequence);
  [[nodiscard]] ListMark begin_list();
  /// Applies a whole list, in parts: other threads see each node's GPUs either before or after, and
  /// some nodes before others. A pod that the list does not show bound, and that has not changed
  /// since the mark, holds nothing; a bind in progress or unsettled remains while its pod lives. A
  /// pod that has ended since the mark stays ended; one that ended before it, and is in the list,
  /// lives again. Nominations become those made since the mark and those of the list, up to
  /// max_nominations.
  ListResult replace_holdings(ListMark mark, const ListedPods& listed);

  // Nominations: unbound pods for which capacity on a node is kept until they hold something, are
  // gone, or end_nomination() is called.
  /// False: there are more than max_nominations, and the last by rank, which may be this one or
  /// another, is dropped.
  bool nominate(model::NominationPtr nomination);
  void end_nomination(std::string_view uid);

  /// Snapshot::inventory_generation, without a snapshot.
  [[nodiscard]] base::Generation inventory_generation() const;

  /// Sets the learned demand that decisions use from now on; not null.
  void set_demand(model::DemandPtr demand);

  /// The policy's sharing rules or caps have changed, so pods that were refused may fit.
  void policy_changed();

  // Binding.
  /// Chooses devices on the node by the live state and reserves them. An unsettled pod gets the
  /// reservation that it has.
  [[nodiscard]] std::expected<model::HoldingPtr, ReserveFailure> reserve(const ReserveInput& input);
  void mark_bound(std::string_view uid);
  /// The bind in progress certainly does not happen. If an earlier one may, the pod is unsettled
  /// again.
  void release(std::string_view uid);
  void mark_unsettled(std::string_view uid);
  /// Releases an unsettled holding if nothing happened to it since `sequence`.
  void release_unsettled(std::string_view uid, std::uint64_t sequence);

  // Intents: winners that filter or prioritize named and that are not bound yet. Other pods see
  // them as taken until they end: by reserve(), hold(), gone() or end_intent(), after
  // intent_ttl_ms, or when there are more than max_intents.
  void note_intent(model::HoldingPtr intent);
  void end_intent(std::string_view uid);

  [[nodiscard]] std::optional<LedgerEntry> find(std::string_view uid) const;
  /// The entries of pods that hold GPUs, and of unplaced pods.
  [[nodiscard]] std::vector<LedgerEntry> gpu_entries() const;
  /// The entries that the API server has yet to confirm: unsettled ones, bound ones that neither a
  /// list nor the watch has shown, and revived ones. Takes time in proportion to their number.
  [[nodiscard]] std::vector<LedgerEntry> unconfirmed() const;
  [[nodiscard]] bool has_ended(std::string_view uid) const;
  /// Whether the pod ended after the mark, so that a list of that time may still show it.
  [[nodiscard]] bool ended_after(ListMark mark, std::string_view uid) const;

 private:
  struct State;
  mutable base::FairMutex mutex_;
  const std::unique_ptr<State> state_ SNUG_PT_GUARDED_BY(mutex_);
};

}  // namespace snug::ledger
