// The one owner of all reservations. A pod's way through it:
//
//                 reserve                bound, hold
//   (nothing) ─────────────► Reserved ─────────────────► Bound
//                             │    ▲                       ▲
//        unsettled, release*  │    │ reserve (a retry)     │ hold
//                             ▼    │                       │
//                            Unsettled ────────────────────┘
//
// Whatever a pod holds ends by gone. Reserved also ends by release, * unless an earlier bind is
// still in doubt; Unsettled by release_unsettled; Bound by a list that shows the pod unbound, or,
// where it was given no device, by a hold that shows it asking for none; one without GPUs gives way
// to a hold that shows some. hold() also creates a Bound entry: someone else bound the pod, or
// Snug was restarted.
//
// Invariants
//   - A reservation is made only where fit says yes on the live state, under the lock: what the
//     ledger decides never adds up to more than a GPU has.
//   - What is taken on a node is always the sum of its holdings over its inventory (fit/usage).
//   - A holding of devices or units ends only by release (the bind surely did not happen), gone
//     (deleted or finished), or a list that was begun after it and lacks it. Never by time alone.
//   - A pod that has ended holds nothing until something that is surely newer shows it bound and
//     running (a phase can go from Failed back to Running, and a read can be answered wrongly): a
//     list that was begun after the end, or, where a list or the watch said that it ended, a later
//     event of the watch. Late events and reads bring nothing back.
//   - Bound beats reserved: when the API server shows a pod bound elsewhere, our own attempt ends.
//
// Thread-safety: all methods may be called from any thread. One mutex, held for microseconds (by
// reserve of a pod of many containers that is hard to place for milliseconds, beside dozens of
// nominated pods for tens of them: the bounds of base/limits.hpp), never over I/O or logging. A
// list of pods is taken in by parts of 256 pods, or of the pods with GPUs of one node where those
// are more: for each part the mutex is held for some 2 us a pod, and whoever waits for it comes
// first. A list of nodes is taken in by parts of 32 nodes. What changes on a node costs its pods
// with GPUs and, up to 1,024 of them, those without; beyond that a pod without GPUs costs the same
// however many there are. bench/ledger_bench shows all three. After a change snapshot() costs the
// chunks of nodes that changed, a list of all chunks, the intents and the nominations; until the
// next change nothing.
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
#include "snug/plan/claim.hpp"

namespace snug {

enum class HoldingState : std::uint8_t { kReserved, kUnsettled, kBound };

inline constexpr EnumNames kHoldingStateNames{std::array{
    EnumName{HoldingState::kReserved, "reserved"}, EnumName{HoldingState::kUnsettled, "unsettled"},
    EnumName{HoldingState::kBound, "bound"}}};

struct LedgerEntry {
  HoldingPtr holding;
  HoldingState state = HoldingState::kReserved;
  bool seen = false;           // a list or the watch has shown it bound
  std::uint64_t sequence = 0;  // of its last change
  TimePoint since;             // of its last change of state, or of the GET that showed it bound
  /// The watch showed it bound after it had ended: a read, or a list, has yet to say the same.
  bool revived = false;
  /// When the outcome of one of its binds was last unknown: that one may still be carried out,
  /// whatever becomes of later ones.
  std::optional<TimePoint> doubt;
};

struct ReserveInput {
  Claim claim;
  std::string_view pod;
  std::string_view node;
  bool other_constraints = false;  // PodFacts
};

/// Why reserve did not reserve.
struct ReserveFailure {
  enum class Kind : std::uint8_t {
    kNoFit,      // `reason` says why
    kElsewhere,  // the pod already holds `entry`, on another node
    kInFlight,   // the pod's own bind to this node is under way
    kBound,      // the pod is bound to this very node already
    kEnded,      // the pod has been deleted or has finished
  };
  Kind kind = Kind::kNoFit;
  ReasonCode reason = ReasonCode::kNone;
  LedgerEntry entry;
};

/// Marks the point in time at which a list was asked for.
struct ListMark {
  std::uint64_t sequence = 0;
};

struct ListedPods {
  std::vector<HoldingPtr> bound;
  std::unordered_set<std::string_view> living;  // uids of all pods in the list
  std::vector<NominationPtr> nominated;
};

struct ListResult {
  std::vector<std::string> edited;  // uids, sorted, for which hold() would return false
  std::size_t not_kept = 0;         // nominations for which there was no room in the ledger
};

class Ledger {
 public:
  Ledger(const Clock& clock, const Limits& limits);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  [[nodiscard]] SnapshotPtr snapshot();

  // What nodes have. A node that goes keeps its holdings until their pods go.
  /// False: there are max_nodes nodes already, and this one is not taken in.
  bool put_node(NodeInventory inventory);
  void remove_node(std::string_view name);
  /// The whole list: nodes that are not in it are gone. Returns how many were not taken in. One
  /// thread at a time puts, removes and replaces nodes; others may see the list half taken in.
  std::size_t replace_nodes(std::vector<NodeInventory> inventories);

  // What pods hold, as the API server shows it.
  /// The pod is bound, with this holding, which may be of the host's cpu and memory alone. What a
  /// holding that the ledger has already says of GPUs stays: later edits change nothing; returns
  /// false where they differ. But one that was given no device (Holding::unplaced) ends when the
  /// pod asks for none any more, and one of the host alone becomes what is shown, as it would after
  /// a restart: that too returns false where what was added is a reservation, which only somebody's
  /// edit can be. What it says of the pod otherwise is brought up to date.
  bool hold(const HoldingPtr& holding);
  /// The same from a GET of the pod: nothing says that the watch will show it, or its end, so it
  /// stays unseen.
  bool hold_as_read(const HoldingPtr& holding);
  /// The watch says that the pod is deleted or finished; it may not have held anything.
  void gone(std::string_view uid);
  /// The same from a GET of the pod. False: the entry has changed since `sequence`, and what was
  /// read may be older; nothing is done.
  bool gone_as_read(std::string_view uid, std::uint64_t sequence);
  [[nodiscard]] ListMark list_begins();
  /// A whole list, by parts: others see each node's GPUs before it or after it, and some nodes
  /// before others. What it does not show bound, and what has not changed since the mark, holds
  /// nothing; a bind under way or unsettled stays while its pod lives. A pod that has ended since
  /// the mark stays so; one that ended before it, and is in the list, lives again. Nominations are
  /// those made since the mark and those of the list, as far as max_nominations goes.
  ListResult replace_holdings(ListMark mark, const ListedPods& listed);

  // Nominations: unbound pods for which room on a node is kept, until they hold something, are
  // gone, or end_nomination.
  /// False: there are more than max_nominations, and nothing is kept for the last by rank, which
  /// may be this one or another.
  bool nominate(NominationPtr nomination);
  void end_nomination(std::string_view uid);

  /// Snapshot::inventories, without a snapshot.
  [[nodiscard]] Generation inventories() const;

  /// What has been learned of the pods that ask for GPUs; not null. Decisions from here on go by
  /// it.
  void put_demand(DemandPtr demand);

  /// What namespaces may share or how much is another now: pods that were refused may fit.
  void policy_changed();

  // Binding.
  /// Chooses devices on the node and takes them, re-checking fit on the live state. An unsettled
  /// pod gets the very reservation back that it has.
  [[nodiscard]] std::expected<HoldingPtr, ReserveFailure> reserve(const ReserveInput& input);
  void bound(std::string_view uid);
  /// The bind under way surely does not happen. Where an earlier one may, it is unsettled again.
  void release(std::string_view uid);
  void unsettled(std::string_view uid);
  /// Releases an unsettled holding if nothing happened to it since `sequence`.
  void release_unsettled(std::string_view uid, std::uint64_t sequence);

  // Intents: winners named by filter or prioritize and not bound yet. For other pods they count as
  // taken until they end: by reserve, hold, gone or end_intent, after intent_ttl_ms, or when there
  // are more than max_intents.
  void note_intent(HoldingPtr intent);
  void end_intent(std::string_view uid);

  [[nodiscard]] std::optional<LedgerEntry> find(std::string_view uid) const;
  /// Of pods with GPUs, and of those that asked for some and were given none.
  [[nodiscard]] std::vector<LedgerEntry> entries() const;
  /// Those that the API server has yet to confirm: unsettled ones, bound ones that neither a list
  /// nor the watch has shown, and revived ones. Costs what they are, not what the ledger holds.
  [[nodiscard]] std::vector<LedgerEntry> unconfirmed() const;
  [[nodiscard]] bool ended(std::string_view uid) const;
  /// It has ended after the mark: a list of then may show it nevertheless.
  [[nodiscard]] bool ended_since(ListMark mark, std::string_view uid) const;

 private:
  struct State;
  mutable FairMutex mutex_;
  const std::unique_ptr<State> state_ SNUG_PT_GUARDED_BY(mutex_);
};

}  // namespace snug
