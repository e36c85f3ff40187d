// Owns all holdings of pods. The states of a pod's entry, with the functions that change them:
//
//                reserve                mark_bound, hold
//  (no entry) ─────────────► Reserved ─────────────────► Bound
//                              │    ▲                      ▲
//    mark_unsettled, release*  │    │ reserve (a retry)    │ hold
//                              ▼    │                      │
//                            Unsettled ────────────────────┘
//
// end_pod() ends an entry in any state. Other ways in which an entry ends:
//   - Reserved: release(). (*) If an earlier bind is still in doubt, the entry becomes Unsettled
//     instead.
//   - Unsettled: release_unsettled(), or a list that lacks the pod.
//   - Bound: a list that does not show the pod as bound.
// In two cases, hold() replaces a Bound entry by the holding that it is given: if an unplaced pod
// (Holding::unplaced) no longer requests a GPU, and if a pod without GPUs now has some. hold() also
// creates a Bound entry for a pod that another scheduler has bound, and for every bound pod after a
// restart of Snug.
//
// Invariants
//   - A reservation is made only if fit() succeeds on the live state, under the mutex. So the
//     ledger's own decisions never exceed the capacity of a GPU.
//   - The use of a node is always the sum of its holdings over its inventory (fit/node_usage).
//   - A holding of GPUs ends only for one of these reasons, and never by time alone: its bind
//     certainly was not executed (release(), release_unsettled()); its pod was deleted or has
//     finished (end_pod()); or a list that started after its last change does not show the pod as
//     bound.
//   - A pod that has ended holds nothing until newer information shows it as bound and running.
//     That is a list that started after the end; or, if the list or watch stream reported the end,
//     a later watch event. Late watch events and GETs do not revive a pod. (A phase can change from
//     Failed back to Running. The answer to a GET may arrive after newer watch events.)
//   - Bound wins over reserved: if the API server shows a pod as bound to another node, the
//     reservation of Snug's own bind ends.
//
// Thread-safe. One mutex guards the ledger. It is never held during I/O or logging, and usually for
// microseconds. Exceptions, which base/limits.hpp bounds:
//   - reserve() of a pod with many containers may take milliseconds, and tens of them if dozens of
//     pods are nominated to the node.
//   - A list of pods is applied in parts. A part consists of 256 pods, or of all pods with GPUs of
//     one node if they are more, and takes about 2 us per pod. Waiting threads get the mutex
//     between two parts.
//   - A list of nodes is applied in parts of 32 nodes.
//   - with_entry() looks up 1,024 pods at a time, in some 100 us.
//   - A change of a node takes time for each of its pods with GPUs, and for each of its pods
//     without GPUs if these are at most 1,024.
//   - After a change, snapshot() copies the changed chunks of nodes, the list of chunks, the
//     intents and the nominations. Without a change it copies nothing.
// bench/ledger_bench measures these times.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <span>
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
  bool confirmed = false;      // whether a list or the watch has shown the pod as bound
  std::uint64_t sequence = 0;  // the sequence number of the last change of `state`
  /// When `state` last changed, or when a GET last showed the pod as bound.
  base::TimePoint since;
  /// Whether the watch has shown the pod as bound after the pod had ended, and no list or GET
  /// has confirmed that yet.
  bool reappeared_after_end = false;
  /// When the outcome of one of the pod's binds last became unknown. The API server may still
  /// execute that bind, whatever the outcome of later ones. Nullopt: no outcome is unknown.
  std::optional<base::TimePoint> last_unknown_bind;
};

/// Numbers of holdings by state. A state without holdings may be missing.
using HoldingCounts = std::map<HoldingState, std::int64_t>;

struct ReserveInput {
  plan::IncomingPod incoming;
  std::string_view pod;
  std::string_view node;
  bool has_other_constraints = false;  // PodFacts::has_other_constraints
};

/// Why reserve() failed.
struct ReserveFailure {
  enum class Cause : std::uint8_t {
    kNoFit,      // the pod does not fit on the node; `reason` says why
    kElsewhere,  // the pod holds something on another node; `entry` shows it
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
  std::unordered_set<std::string_view> living;  // uids of all pods in the list, bound or not
  std::vector<model::NominationPtr> nominated;
};

struct ListResult {
  std::vector<std::string> edited_uids;  // pods with edited or added reservations; sorted
  std::size_t dropped_nominations = 0;   // the number dropped because of max_nominations
};

class Ledger {
 public:
  Ledger(const base::Clock& clock, const base::Limits& limits);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  [[nodiscard]] model::SnapshotPtr snapshot();

  // Inventories. When a node is removed, its holdings remain until their pods end.
  /// Adds a node or replaces its inventory. Returns false if the node is not added because there
  /// are already max_nodes nodes.
  bool put_node(model::NodeInventory inventory);
  void remove_node(std::string_view name);
  /// Applies a complete list of nodes: removes the nodes that it lacks. Returns the number of nodes
  /// that were not added because of max_nodes. Only one thread at a time may put, remove and
  /// replace nodes. Other threads may see the list partly applied.
  std::size_t replace_nodes(std::vector<model::NodeInventory> inventories);

  /// The node's inventory, without making a snapshot; null if there is no such node.
  [[nodiscard]] std::shared_ptr<const model::NodeInventory> inventory(std::string_view node) const;

  // Functions that apply the holdings and ends of pods that the API server shows.
  /// Records that the watch shows the pod as bound, with this holding of GPUs, CPU and memory. If
  /// the ledger already has a bound entry on this node, its GPUs do not change, since later edits
  /// of a reservation have no effect. Exceptions: an unplaced holding (Holding::unplaced) is
  /// replaced if the pod no longer requests a GPU, and a holding without GPUs is replaced if the
  /// new one has some, as would happen after a restart. The other facts of the pod are updated.
  /// Returns false if somebody has edited the reservation, or has added one by hand.
  bool hold(const model::HoldingPtr& holding);
  /// Does the same as hold(), for a holding that a GET shows. Does not set LedgerEntry::confirmed,
  /// because only a list or the watch confirms a pod: the watch can be behind the GET.
  bool hold_from_get(const model::HoldingPtr& holding);
  /// Records that the watch shows the pod as deleted or finished. The pod need not have held
  /// anything.
  void end_pod(std::string_view uid);
  /// Does the same as end_pod(), for an end that a GET shows. Returns false and changes nothing if
  /// the pod's entry is gone or has changed since `sequence`: the GET may be older than the change.
  bool end_pod_from_get(std::string_view uid, std::uint64_t sequence);
  /// Must be called before a list of pods is requested.
  [[nodiscard]] ListMark begin_list();
  /// Applies a complete list of pods, in parts. Meanwhile other threads may see the list applied to
  /// some nodes and not yet to others. But they never see, on the GPUs of one node, both a pod
  /// that the list adds and a pod that it ends.
  ///   - A holding that has changed since the mark stays.
  ///   - Any other holding of a pod that the list does not show as bound ends. Exceptions: a bind
  ///     in progress (Reserved) stays, and an Unsettled one stays if the list shows its pod.
  ///   - A pod that has ended since the mark stays ended. One that ended before the mark lives
  ///     again if the list shows it.
  ///   - The nominations become those of the list and those made since the mark, up to
  ///     max_nominations.
  ListResult replace_holdings(ListMark mark, const ListedPods& listed);

  // Nominations: unbound pods for which capacity on a node is kept free, until they hold something,
  // have ended, or end_nomination() is called.
  /// Returns false if there are more than max_nominations. Then the nomination with the lowest rank
  /// was dropped, which may be this one.
  bool nominate(model::NominationPtr nomination);
  void end_nomination(std::string_view uid);

  /// The value of Snapshot::inventory_generation, without making a snapshot.
  [[nodiscard]] base::Generation inventory_generation() const;

  /// Sets the learned demand for all later decisions. `demand` must not be null.
  void set_demand(model::DemandPtr demand);

  /// Must be called after the policy's sharing rules or caps have changed, since refused pods may
  /// fit now.
  void policy_changed();

  // Functions for the steps of a bind.
  /// Chooses devices on the node from the live state and reserves them. If the pod has an unsettled
  /// reservation on this node, reserves that one again.
  [[nodiscard]] std::expected<model::HoldingPtr, ReserveFailure> reserve(const ReserveInput& input);
  /// Records that the API server has executed the pod's current bind.
  void mark_bound(std::string_view uid);
  /// The holdings of the pods for which reserve() has chosen devices and that became Bound with
  /// them since the last call: each once, in the order in which they became Bound, however it
  /// became known (mark_bound(), hold() or a list). Takes time in proportion to their number and
  /// that of the binds in progress.
  [[nodiscard]] std::vector<model::HoldingPtr> take_own_binds();
  /// Records that the pod's current bind was certainly not executed: ends its reservation, or marks
  /// it as unsettled again if an earlier bind of the pod may still be executed.
  void release(std::string_view uid);
  /// Records that the outcome of the pod's current bind is unknown.
  void mark_unsettled(std::string_view uid);
  /// Ends an unsettled holding, unless its entry has changed since `sequence`.
  void release_unsettled(std::string_view uid, std::uint64_t sequence);

  // Intents: placements that filter or prioritize has named as winners and that are not bound yet.
  // Other pods see them as taken. An intent ends by reserve(), hold(), end_pod() or end_intent(),
  // after intent_ttl_ms, or when there are more than max_intents.
  void note_intent(model::HoldingPtr intent);
  void end_intent(std::string_view uid);

  [[nodiscard]] std::optional<LedgerEntry> find(std::string_view uid) const;
  /// The entries of pods that hold GPUs, and those of unplaced pods.
  [[nodiscard]] std::vector<LedgerEntry> gpu_entries() const;
  /// The sorted uids of the pods in gpu_entries() whose bind is in flight or has an unknown
  /// outcome.
  [[nodiscard]] std::vector<std::string> uids_in_flight() const;
  /// The newest of the gpu_entries() with this namespace and name. Takes constant time.
  [[nodiscard]] std::optional<LedgerEntry> find_gpu_pod(std::string_view name_space,
                                                        std::string_view name) const;
  /// Those of the uids that have an entry, as views of the caller's texts.
  [[nodiscard]] std::unordered_set<std::string_view> with_entry(
      std::span<const std::string_view> uids) const;
  /// The number of the gpu_entries(), by state. Takes time in proportion to the number of nodes and
  /// of entries that are not Bound.
  [[nodiscard]] HoldingCounts gpu_holding_counts() const;
  /// The entries that a GET should check: Unsettled ones, and Bound ones that neither a list nor
  /// the watch has shown, or that the watch has shown again after the end of their pods. Takes time
  /// in proportion to their number.
  [[nodiscard]] std::vector<LedgerEntry> unconfirmed() const;
  [[nodiscard]] bool has_ended(std::string_view uid) const;
  /// Whether the pod has ended after the mark. If so, a list that was requested at the mark may
  /// still show it.
  [[nodiscard]] bool ended_after(ListMark mark, std::string_view uid) const;

 private:
  struct State;
  mutable base::FairMutex mutex_;
  const std::unique_ptr<State> state_ SNUG_PT_GUARDED_BY(mutex_);
};

}  // namespace snug::ledger
