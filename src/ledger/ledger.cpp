#include "snug/ledger/ledger.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ledger/intents.hpp"
#include "ledger/nominations.hpp"
#include "ledger/slots.hpp"
#include "ledger/tombstones.hpp"
#include "snug/fit/usage.hpp"
#include "snug/plan/plan.hpp"

namespace snug {
namespace {

/// A pod without devices closes its node by what it shows itself to ask. What is added to one that
/// had no GPU counts, a reservation too: a restart would count it, and GPUs that it names may be
/// used.
bool gives_way(const Holding& known, const Holding& now) {
  if (known.of_host_alone()) return !now.of_host_alone();
  return known.unplaced && !now.unplaced && !now.written;
}

bool same_pod(const Holding& a, const Holding& b) {
  return a.host == b.host && a.terminating == b.terminating &&
         a.other_constraints == b.other_constraints && a.rank == b.rank;
}

}  // namespace

struct Ledger::Impl {
  Impl(const Clock& the_clock, const Limits& limits)
      : clock(the_clock),
        intents(limits),
        nominations(limits),
        ended(static_cast<std::size_t>(limits.max_tombstones)),
        max_nodes(static_cast<std::size_t>(limits.max_nodes)) {}

  const Clock& clock;
  mutable std::mutex mutex;
  // All below are guarded by `mutex`.
  std::unordered_map<std::string, LedgerEntry, StringHash, std::equal_to<>> entries;
  std::unordered_set<std::string, StringHash, std::equal_to<>> unconfirmed;  // uids in `entries`
  NodeSlots nodes;
  Intents intents;
  NominationTable nominations;
  Tombstones ended;
  std::size_t max_nodes;
  std::uint64_t sequence = 0;  // of changes of entries
  Generation generation;
  Generation room;
  DemandPtr demand{DemandPtr{}, &kNothingLearned};
  SnapshotPtr current;  // null: out of date

  void changed(bool made_room = false) {
    if (made_room) ++room.value;
    ++generation.value;
    current = nullptr;
  }
  void room_made() { changed(true); }
  void end_intent(std::string_view uid) {
    if (intents.end(uid)) changed();
  }
  LedgerEntry* find(std::string_view uid) {
    const auto found = entries.find(uid);
    return found == entries.end() ? nullptr : &found->second;
  }
  void set_state(LedgerEntry& entry, HoldingState state) {
    entry.state = state;
    entry.since = clock.now();
    entry.sequence = ++sequence;
    track(entry);
  }
  /// Call it after any change of state or `seen`.
  void track(const LedgerEntry& entry) {
    const std::string& uid = entry.holding->uid;
    const bool unseen = entry.state == HoldingState::kBound && !entry.seen;
    if (unseen || entry.state == HoldingState::kUnsettled) {
      unconfirmed.insert(uid);
    } else if (const auto found = unconfirmed.find(uid); found != unconfirmed.end()) {
      unconfirmed.erase(found);
    }
  }
  LedgerEntry& insert(HoldingPtr holding, HoldingState state) {
    LedgerEntry& entry = entries[holding->uid];
    entry = LedgerEntry{.holding = holding};
    set_state(entry, state);
    // What was kept for the pod elsewhere, or for one that finds no room now, is free for others.
    const bool kept_less =
        nominations.contains(holding->uid) || nominations.any_on(holding->reservation.node);
    nodes.add(std::move(holding));
    changed(kept_less);
    return entry;
  }
  void erase(std::string_view uid) {
    const auto found = entries.find(uid);
    if (found == entries.end()) return;
    const bool had_gpus = !found->second.holding->of_host_alone();
    nodes.remove(*found->second.holding);
    unconfirmed.erase(found->first);
    entries.erase(found);
    changed(had_gpus);
  }
  void end_nomination(std::string_view uid) {
    if (nominations.end(uid)) room_made();
  }
  void end_pod(std::string_view uid) {
    ended.add(uid);
    end_intent(uid);
    end_nomination(uid);
    erase(uid);
  }

  /// The one for which nothing is kept any more, or null: there is room for all of them.
  NominationPtr nominate(NominationPtr nomination) {
    const std::string& uid = nomination->rank.uid;
    const LedgerEntry* entry = find(uid);
    const bool bound = entry != nullptr && entry->state == HoldingState::kBound;
    if (bound || ended.contains(uid)) return nullptr;
    const bool moves = nominations.contains(uid);
    NominationTable::Put put = nominations.put(std::move(nomination), ++sequence);
    if (put.changed) changed(moves || put.left_out != nullptr);
    return std::move(put.left_out);
  }
  /// What a pod holds already need not be kept for it.
  auto waiting() const {
    return [this](const Nomination& pod) { return !entries.contains(pod.rank.uid); };
  }

  /// How many, of these and of those that were there, nothing is kept for any more.
  std::size_t nominate_all(const Nominations& listed) {
    std::unordered_set<std::string> left_out;  // one made since the mark may be in the list too
    for (const NominationPtr& nomination : listed) {
      if (const NominationPtr one = nominate(nomination)) left_out.insert(one->rank.uid);
    }
    std::erase_if(left_out, [this](const auto& uid) { return nominations.contains(uid); });
    return left_out.size();
  }

  bool put_node(NodeInventory inventory) {
    if (nodes.size() >= max_nodes && !nodes.find(inventory.name)) return false;
    if (nodes.put(std::move(inventory))) room_made();
    return true;
  }

  bool hold(const HoldingPtr& holding, bool watched);
  void bring_up_to_date(LedgerEntry& entry, const Holding& shown);
  NodeChoice choose(NodeIndex node, const ReserveInput& input);
  std::optional<ReserveFailure> held_already(const ReserveInput& input);
};

bool Ledger::Impl::hold(const HoldingPtr& holding, bool watched) {
  if (ended.contains(holding->uid)) return true;
  end_intent(holding->uid);
  end_nomination(holding->uid);
  LedgerEntry* entry = find(holding->uid);
  if (entry == nullptr) {
    entry = &insert(holding, HoldingState::kBound);
    entry->seen = watched;
    track(*entry);
    return true;
  }
  bool added = false;  // a reservation, by hand: that is told as an edit of one is
  if (gives_way(*entry->holding, *holding)) {
    const bool seen = entry->seen;
    added = holding->written;
    erase(holding->uid);
    entry = &insert(holding, HoldingState::kBound);
    entry->seen = seen;
  }
  const bool same = entry->holding->reservation == holding->reservation;
  const bool same_node = entry->holding->reservation.node == holding->reservation.node;
  const bool settled = entry->state == HoldingState::kBound && same_node;
  if (!same && !settled) {
    // The API server shows a binding that is not the one we tried: its word counts.
    erase(holding->uid);
    entry = &insert(holding, HoldingState::kBound);
  } else if (!settled) {
    set_state(*entry, HoldingState::kBound);
  }
  bring_up_to_date(*entry, *holding);
  entry->seen = entry->seen || watched;
  if (!watched) entry->since = clock.now();
  track(*entry);
  return (same && !added) || !settled;
}

/// What the API server says of the pod beside its GPUs.
void Ledger::Impl::bring_up_to_date(LedgerEntry& entry, const Holding& shown) {
  if (same_pod(*entry.holding, shown)) return;
  auto next = std::make_shared<Holding>(*entry.holding);
  next->host = shown.host;
  next->terminating = shown.terminating;
  next->other_constraints = shown.other_constraints;
  next->rank = shown.rank;
  entry.holding = std::move(next);
  nodes.replace(entry.holding);
  changed();
}

/// The best devices on the node, beside what other pods were promised there while that leaves any.
NodeChoice Ledger::Impl::choose(NodeIndex node, const ReserveInput& input) {
  const NodeStatePtr& live = nodes.state(node);
  const Nominations nominated = nominations.on(input.node, waiting());
  const Around around{.held = nodes.held(),
                      .nominations = nominated.empty() ? nullptr : &nominated,
                      .demand = *demand};
  std::vector<HoldingPtr> promised = intents.of_others(input.node, input.claim.rank.uid);
  if (!promised.empty()) {
    promised.insert(promised.end(), live->holdings.begin(), live->holdings.end());
    const NodeStatePtr later = add_up(live->inventory, std::move(promised));
    return choose_on(*live, input.claim, around, later.get());
  }
  return choose_on(*live, input.claim, around);
}

std::optional<ReserveFailure> Ledger::Impl::held_already(const ReserveInput& input) {
  using Kind = ReserveFailure::Kind;
  if (ended.contains(input.claim.rank.uid)) return ReserveFailure{.kind = Kind::kEnded};
  const LedgerEntry* entry = find(input.claim.rank.uid);
  if (entry == nullptr) return std::nullopt;
  if (entry->holding->reservation.node != input.node) {
    return ReserveFailure{.kind = Kind::kElsewhere, .entry = *entry};
  }
  switch (entry->state) {
    case HoldingState::kBound:
      return ReserveFailure{.kind = Kind::kBound, .entry = *entry};
    case HoldingState::kReserved:
      return ReserveFailure{.kind = Kind::kInFlight, .entry = *entry};
    case HoldingState::kUnsettled:
      break;
  }
  return std::nullopt;
}

Ledger::Ledger(const Clock& clock, const Limits& limits)
    : impl_(std::make_unique<Impl>(clock, limits)) {}
Ledger::~Ledger() = default;

SnapshotPtr Ledger::snapshot() {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->intents.expire(impl_->clock.now())) impl_->changed();
  if (impl_->current == nullptr) {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->generation = impl_->generation;
    snapshot->room_generation = impl_->room;
    snapshot->inventories = impl_->nodes.inventories();
    snapshot->nodes = impl_->nodes.table();
    snapshot->names = impl_->nodes.name_index();
    for (HoldingPtr& intent : impl_->intents.all()) {
      if (const auto node = impl_->nodes.find(intent->reservation.node)) {
        snapshot->intents[node->value].push_back(std::move(intent));
      }
    }
    for (const std::string& name : impl_->nominations.nodes()) {
      const auto node = impl_->nodes.find(name);
      Nominations nominated = impl_->nominations.on(name, impl_->waiting());
      if (node && !nominated.empty()) snapshot->nominations[node->value] = std::move(nominated);
    }
    snapshot->held = impl_->nodes.held();
    snapshot->demand = impl_->demand;
    snapshot->models = impl_->nodes.models();
    snapshot->mig_tables = impl_->nodes.mig_tables();
    impl_->current = std::move(snapshot);
  }
  return impl_->current;
}

bool Ledger::put_node(NodeInventory inventory) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->put_node(std::move(inventory));
}

void Ledger::remove_node(std::string_view name) {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->nodes.remove(name)) impl_->changed();
}

std::size_t Ledger::replace_nodes(std::vector<NodeInventory> inventories) {
  const std::lock_guard lock(impl_->mutex);
  std::unordered_set<std::string> listed;
  for (const NodeInventory& inventory : inventories) listed.insert(inventory.name);
  for (const std::string& name : impl_->nodes.names()) {
    if (!listed.contains(name) && impl_->nodes.remove(name)) impl_->changed();
  }
  std::size_t left_out = 0;
  for (NodeInventory& inventory : inventories) {
    if (!impl_->put_node(std::move(inventory))) ++left_out;
  }
  return left_out;
}

bool Ledger::hold(const HoldingPtr& holding) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->hold(holding, true);
}

bool Ledger::hold_as_read(const HoldingPtr& holding) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->hold(holding, false);
}

bool Ledger::nominate(NominationPtr nomination) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->nominate(std::move(nomination)) == nullptr;
}

void Ledger::end_nomination(std::string_view uid) {
  const std::lock_guard lock(impl_->mutex);
  impl_->end_nomination(uid);
}

Generation Ledger::inventories() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->nodes.inventories();
}

void Ledger::put_demand(DemandPtr demand) {
  const std::lock_guard lock(impl_->mutex);
  impl_->demand.swap(demand);  // the old one ends outside of the lock
  impl_->changed();
}

void Ledger::policy_changed() {
  const std::lock_guard lock(impl_->mutex);
  impl_->room_made();
}

void Ledger::gone(std::string_view uid) {
  const std::lock_guard lock(impl_->mutex);
  impl_->end_pod(uid);
}

ListMark Ledger::list_begins() {
  const std::lock_guard lock(impl_->mutex);
  return {impl_->sequence};
}

ListResult Ledger::replace_holdings(ListMark mark, const ListedPods& listed) {
  const std::lock_guard lock(impl_->mutex);
  std::unordered_set<std::string_view> bound;
  ListResult result;
  for (const HoldingPtr& holding : listed.bound) {
    if (!impl_->hold(holding, true)) result.edited.push_back(holding->uid);
    bound.insert(holding->uid);
  }
  std::vector<std::string> gone;
  std::vector<std::string> unbound;
  for (const auto& [uid, entry] : impl_->entries) {
    if (entry.sequence > mark.sequence || bound.contains(uid)) continue;
    if (!listed.living.contains(uid)) {
      if (entry.state != HoldingState::kReserved) gone.push_back(uid);
    } else if (entry.state == HoldingState::kBound) {
      unbound.push_back(uid);
    }
  }
  for (const std::string& uid : gone) impl_->end_pod(uid);
  for (const std::string& uid : unbound) impl_->erase(uid);
  std::unordered_set<std::string_view> nominated;
  for (const NominationPtr& nomination : listed.nominated) nominated.insert(nomination->rank.uid);
  for (const std::string& uid : impl_->nominations.until(mark.sequence)) {
    if (!nominated.contains(uid)) impl_->end_nomination(uid);
  }
  result.not_kept = impl_->nominate_all(listed.nominated);
  std::ranges::sort(result.edited);
  return result;
}

std::expected<HoldingPtr, ReserveFailure> Ledger::reserve(const ReserveInput& input) {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->intents.expire(impl_->clock.now())) impl_->changed();
  if (auto held = impl_->held_already(input)) return std::unexpected(*std::move(held));
  if (LedgerEntry* unsettled = impl_->find(input.claim.rank.uid)) {
    impl_->set_state(*unsettled, HoldingState::kReserved);
    return unsettled->holding;
  }
  const std::optional<NodeIndex> node = impl_->nodes.find(input.node);
  if (!node) return std::unexpected(ReserveFailure{.reason = ReasonCode::kUnknownNode});
  const NodeChoice choice = impl_->choose(*node, input);
  if (choice.reason != ReasonCode::kNone) {
    return std::unexpected(ReserveFailure{.reason = choice.reason});
  }
  impl_->end_intent(input.claim.rank.uid);
  auto holding = to_holding(*impl_->nodes.state(*node), input.claim, choice.placement);
  holding->pod = input.pod;
  holding->host = input.claim.host;
  holding->other_constraints = input.other_constraints;
  impl_->insert(holding, HoldingState::kReserved);
  return holding;
}

void Ledger::bound(std::string_view uid) {
  const std::lock_guard lock(impl_->mutex);
  LedgerEntry* entry = impl_->find(uid);
  if (entry == nullptr || entry->state == HoldingState::kBound) return;
  impl_->set_state(*entry, HoldingState::kBound);
}

void Ledger::release(std::string_view uid) {
  const std::lock_guard lock(impl_->mutex);
  LedgerEntry* entry = impl_->find(uid);
  if (entry == nullptr || entry->state == HoldingState::kBound) return;
  if (!entry->doubt) {
    impl_->erase(uid);
    return;
  }
  impl_->set_state(*entry, HoldingState::kUnsettled);
  entry->since = *entry->doubt;
}

void Ledger::unsettled(std::string_view uid) {
  const std::lock_guard lock(impl_->mutex);
  LedgerEntry* entry = impl_->find(uid);
  if (entry == nullptr || entry->state != HoldingState::kReserved) return;
  impl_->set_state(*entry, HoldingState::kUnsettled);
  entry->doubt = entry->since;
}

void Ledger::release_unsettled(std::string_view uid, std::uint64_t sequence) {
  const std::lock_guard lock(impl_->mutex);
  const LedgerEntry* entry = impl_->find(uid);
  if (entry == nullptr || entry->state != HoldingState::kUnsettled) return;
  if (entry->sequence == sequence) impl_->erase(uid);
}

void Ledger::note_intent(HoldingPtr intent) {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->find(intent->uid) != nullptr || impl_->ended.contains(intent->uid)) return;
  impl_->intents.note(std::move(intent), impl_->clock.now());
  impl_->changed();
}

void Ledger::end_intent(std::string_view uid) {
  const std::lock_guard lock(impl_->mutex);
  impl_->end_intent(uid);
}

std::optional<LedgerEntry> Ledger::find(std::string_view uid) const {
  const std::lock_guard lock(impl_->mutex);
  const LedgerEntry* entry = impl_->find(uid);
  if (entry == nullptr) return std::nullopt;
  return *entry;
}

std::vector<LedgerEntry> Ledger::entries() const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<LedgerEntry> result;
  for (const auto& [uid, entry] : impl_->entries) {
    if (!entry.holding->of_host_alone()) result.push_back(entry);
  }
  return result;
}

std::vector<LedgerEntry> Ledger::unconfirmed() const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<LedgerEntry> result;
  result.reserve(impl_->unconfirmed.size());
  for (const std::string& uid : impl_->unconfirmed)
    result.push_back(impl_->entries.find(uid)->second);
  return result;
}

bool Ledger::ended(std::string_view uid) const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->ended.contains(uid);
}

}  // namespace snug
