#include "snug/ledger/ledger.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ledger/ended_pods.hpp"
#include "ledger/holding_comparison.hpp"
#include "ledger/intent_table.hpp"
#include "ledger/list_replacement.hpp"
#include "ledger/node_registry.hpp"
#include "ledger/nomination_table.hpp"
#include "snug/base/mutex.hpp"
#include "snug/fit/node_usage.hpp"
#include "snug/plan/plan.hpp"

namespace snug::ledger {
/// What the ledger's mutex guards.
struct Ledger::State {
  State(const base::Clock& the_clock, const base::Limits& limits)
      : clock(the_clock),
        intents(limits),
        nominations(limits),
        ended(static_cast<std::size_t>(limits.max_tombstones)),
        max_nodes(static_cast<std::size_t>(limits.max_nodes)) {}

  const base::Clock& clock;
  std::unordered_map<std::string, LedgerEntry, model::StringHash, std::equal_to<>> entries;
  std::unordered_set<std::string, model::StringHash, std::equal_to<>>
      unconfirmed;  // uids in `entries`
  NodeRegistry nodes;
  IntentTable intents;
  NominationTable nominations;
  EndedPods ended;
  std::size_t max_nodes;
  std::uint64_t sequence = 0;  // of changes of entries
  base::Generation generation;
  base::Generation room;
  base::Generation intents_ended;
  model::DemandPtr demand{model::DemandPtr{}, &model::kNoDemand};
  model::SnapshotPtr current;  // null: out of date

  void changed(bool made_room = false) {
    if (made_room) ++room.value;
    ++generation.value;
    current = nullptr;
  }
  void room_made() { changed(true); }
  /// An intent has ended, and its place is free for others.
  void intent_ended() {
    ++intents_ended.value;
    changed();
  }
  void end_intent(std::string_view uid) {
    if (intents.remove(uid) != nullptr) intent_ended();
  }
  void expire_intents() {
    if (intents.expire(clock.now())) intent_ended();
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
  /// Must be called after any change of `state`, `seen` or `revived`.
  void track(const LedgerEntry& entry) {
    const std::string& uid = entry.holding->uid;
    const bool unseen =
        entry.state == HoldingState::kBound && (!entry.confirmed || entry.reappeared_after_end);
    if (unseen || entry.state == HoldingState::kUnsettled) {
      unconfirmed.insert(uid);
    } else if (const auto found = unconfirmed.find(uid); found != unconfirmed.end()) {
      unconfirmed.erase(found);
    }
  }
  LedgerEntry& insert(model::HoldingPtr holding, HoldingState state) {
    LedgerEntry& entry = entries[holding->uid];
    entry = LedgerEntry{.holding = holding};
    set_state(entry, state);
    // What was kept for this pod on another node, or for a pod that no longer fits here, is now
    // free.
    const bool kept_less =
        nominations.contains(holding->uid) || nominations.any_on(holding->reservation.node);
    nodes.add(std::move(holding));
    changed(kept_less);
    return entry;
  }
  void erase(std::string_view uid) {
    const auto found = entries.find(uid);
    if (found == entries.end()) return;
    const bool had_gpus = !found->second.holding->is_cpu_only();
    nodes.remove(*found->second.holding);
    unconfirmed.erase(found->first);
    entries.erase(found);
    changed(had_gpus);
  }
  void end_nomination(std::string_view uid) {
    if (nominations.remove(uid)) room_made();
  }
  void end_pod(std::string_view uid, EndedPods::Source source) {
    ended.add(uid, ++sequence, source);
    end_intent(uid);
    end_nomination(uid);
    erase(uid);
  }

  /// Returns the nomination that was dropped because there are too many; null: none.
  model::NominationPtr nominate(model::NominationPtr nomination) {
    const std::string& uid = nomination->rank.uid;
    const LedgerEntry* entry = find(uid);
    const bool bound = entry != nullptr && entry->state == HoldingState::kBound;
    if (bound || ended.contains(uid)) return nullptr;
    const bool moves = nominations.contains(uid);
    NominationTable::PutResult put = nominations.put(std::move(nomination), ++sequence);
    if (put.changed) changed(moves || put.dropped != nullptr);
    return std::move(put.dropped);
  }
  /// Selects pods that hold nothing yet: for others nothing needs to be kept.
  auto waiting() const {
    return [this](const model::Nomination& pod) { return !entries.contains(pod.rank.uid); };
  }

  /// Returns how many nominations, old or listed, were dropped.
  std::size_t nominate_all(const model::Nominations& listed) {
    // A set, since a nomination made after the mark may be in the list as well.
    std::unordered_set<std::string> left_out;
    for (const model::NominationPtr& nomination : listed) {
      if (const model::NominationPtr one = nominate(nomination)) left_out.insert(one->rank.uid);
    }
    std::erase_if(left_out, [this](const auto& uid) { return nominations.contains(uid); });
    return left_out.size();
  }

  void remove_node(std::string_view name) {
    // The node's inventory says how much its kubelet units count against their namespace's cap.
    const bool frees_caps = !nodes.gpu_pod_uids(name).empty();
    if (nodes.remove(name)) changed(frees_caps);
  }

  bool put_node(model::NodeInventory inventory) {
    if (nodes.size() >= max_nodes && !nodes.find(inventory.name)) return false;
    if (nodes.put(std::move(inventory))) room_made();
    return true;
  }

  enum class Shown : std::uint8_t { kListed, kWatched, kRead };
  bool hold(const model::HoldingPtr& holding, Shown shown);
  void bring_up_to_date(LedgerEntry& entry, const model::Holding& shown);
  plan::NodeChoice choose(base::NodeIndex node, const ReserveInput& input);
  void not_shown_bound(const std::string& uid, std::uint64_t mark, bool lives);
  std::optional<ReserveFailure> held_already(const ReserveInput& input);
};

bool Ledger::State::hold(const model::HoldingPtr& holding, Shown shown) {
  const bool watched = shown != Shown::kRead;
  const bool revived = ended.contains(holding->uid);
  if (revived) {
    // A list that started after the end has already erased the tombstone.
    if (shown != Shown::kWatched || ended.only_from_get(holding->uid)) return true;
    ended.erase(holding->uid);
  }
  end_intent(holding->uid);
  end_nomination(holding->uid);
  LedgerEntry* entry = find(holding->uid);
  if (entry == nullptr) {
    entry = &insert(holding, HoldingState::kBound);
    entry->confirmed = watched;
    entry->reappeared_after_end = revived;
    track(*entry);
    return true;
  }
  bool added = false;  // somebody added a reservation by hand, which is reported like an edit
  if (is_superseded_by(*entry->holding, *holding)) {
    const LedgerEntry before = *entry;
    added = holding->reservation_written;
    erase(holding->uid);
    entry = &insert(holding, HoldingState::kBound);
    entry->confirmed = before.confirmed;
    entry->reappeared_after_end = before.reappeared_after_end;
  }
  const bool same = entry->holding->reservation == holding->reservation;
  const bool same_node = entry->holding->reservation.node == holding->reservation.node;
  const bool settled = entry->state == HoldingState::kBound && same_node;
  if (!same && !settled) {
    // The API server shows another binding than the one that we tried, and it decides.
    erase(holding->uid);
    entry = &insert(holding, HoldingState::kBound);
  } else if (!settled) {
    set_state(*entry, HoldingState::kBound);
  }
  bring_up_to_date(*entry, *holding);
  entry->confirmed = entry->confirmed || watched;
  if (shown != Shown::kWatched) entry->reappeared_after_end = false;
  if (!watched) entry->since = clock.now();
  track(*entry);
  return (same && !added) || !settled;
}

/// Updates the facts of the pod other than its GPUs.
void Ledger::State::bring_up_to_date(LedgerEntry& entry, const model::Holding& shown) {
  if (same_except_reservation(*entry.holding, shown)) return;
  auto next = std::make_shared<model::Holding>(*entry.holding);
  next->host = shown.host;
  next->terminating = shown.terminating;
  next->has_other_constraints = shown.has_other_constraints;
  next->rank = shown.rank;
  entry.holding = std::move(next);
  nodes.replace(entry.holding);
  changed();
}

/// A list that started at `mark` does not show the pod bound.
void Ledger::State::not_shown_bound(const std::string& uid, std::uint64_t mark, bool lives) {
  const LedgerEntry& entry = entries.find(uid)->second;
  if (entry.sequence > mark) return;
  if (!lives) {
    if (entry.state != HoldingState::kReserved) end_pod(uid, EndedPods::Source::kStream);
  } else if (entry.state == HoldingState::kBound) {
    erase(uid);
  }
}

/// The best devices on the node that are not intended for other pods. If two pods have intents for
/// one place, the earlier has it.
plan::NodeChoice Ledger::State::choose(base::NodeIndex node, const ReserveInput& input) {
  const model::Nominations nominated = nominations.on(input.node, waiting());
  const model::Intents promised = intents.preceding(input.node, input.incoming.rank.uid);
  return plan::choose_placement(*nodes.state(node), input.incoming,
                                {.namespace_usage = nodes.namespace_usage(),
                                 .nominations = nominated.empty() ? nullptr : &nominated,
                                 .intents = promised.empty() ? nullptr : &promised,
                                 .demand = *demand});
}

std::optional<ReserveFailure> Ledger::State::held_already(const ReserveInput& input) {
  using Kind = ReserveFailure::Cause;
  if (ended.contains(input.incoming.rank.uid)) return ReserveFailure{.cause = Kind::kEnded};
  const LedgerEntry* entry = find(input.incoming.rank.uid);
  if (entry == nullptr) return std::nullopt;
  if (entry->holding->reservation.node != input.node) {
    return ReserveFailure{.cause = Kind::kElsewhere, .entry = *entry};
  }
  switch (entry->state) {
    case HoldingState::kBound:
      return ReserveFailure{.cause = Kind::kBound, .entry = *entry};
    case HoldingState::kReserved:
      return ReserveFailure{.cause = Kind::kInFlight, .entry = *entry};
    case HoldingState::kUnsettled:
      break;
  }
  return std::nullopt;
}

Ledger::Ledger(const base::Clock& clock, const base::Limits& limits)
    : state_(std::make_unique<State>(clock, limits)) {}
Ledger::~Ledger() = default;

model::SnapshotPtr Ledger::snapshot() {
  const base::MutexLock lock(mutex_);
  state_->expire_intents();
  if (state_->current == nullptr) {
    auto snapshot = std::make_shared<model::Snapshot>();
    snapshot->generation = state_->generation;
    snapshot->freed_generation = state_->room;
    snapshot->ended_intents_generation = state_->intents_ended;
    snapshot->inventory_generation = state_->nodes.inventory_generation();
    snapshot->nodes = state_->nodes.table();
    snapshot->names = state_->nodes.name_index();
    for (model::HoldingPtr& intent : state_->intents.all()) {
      if (const auto node = state_->nodes.find(intent->reservation.node)) {
        snapshot->intents[node->value].push_back(std::move(intent));
      }
    }
    for (const std::string& name : state_->nominations.nodes()) {
      const auto node = state_->nodes.find(name);
      model::Nominations nominated = state_->nominations.on(name, state_->waiting());
      if (node && !nominated.empty()) snapshot->nominations[node->value] = std::move(nominated);
    }
    snapshot->namespace_usage = state_->nodes.namespace_usage();
    snapshot->demand = state_->demand;
    snapshot->models = state_->nodes.models();
    snapshot->mig_tables = state_->nodes.mig_tables();
    state_->current = std::move(snapshot);
  }
  return state_->current;
}

bool Ledger::put_node(model::NodeInventory inventory) {
  const base::MutexLock lock(mutex_);
  return state_->put_node(std::move(inventory));
}

void Ledger::remove_node(std::string_view name) {
  const base::MutexLock lock(mutex_);
  state_->remove_node(name);
}

std::size_t Ledger::replace_nodes(std::vector<model::NodeInventory> inventories) {
  // One node takes some microseconds, and more if its inventory has changed.
  constexpr std::size_t kAtOnce = 32;
  std::unordered_set<std::string> listed;
  for (const model::NodeInventory& inventory : inventories) listed.insert(inventory.name);
  std::vector<std::string> absent = [this] {
    const base::MutexLock lock(mutex_);
    return state_->nodes.names();
  }();
  std::erase_if(absent, [&](const std::string& name) { return listed.contains(name); });
  const auto in_parts = [&](std::size_t count, const auto& take) {
    for (std::size_t next = 0; next < count;) {
      const base::MutexLock lock(mutex_);
      for (const std::size_t last = std::min(next + kAtOnce, count); next < last; ++next)
        take(next);
    }
  };
  in_parts(absent.size(),
           [&](std::size_t i) SNUG_REQUIRES(mutex_) { state_->remove_node(absent[i]); });
  std::size_t left_out = 0;
  in_parts(inventories.size(), [&](std::size_t i) SNUG_REQUIRES(mutex_) {
    if (!state_->put_node(std::move(inventories[i]))) ++left_out;
  });
  return left_out;
}

bool Ledger::hold(const model::HoldingPtr& holding) {
  const base::MutexLock lock(mutex_);
  return state_->hold(holding, State::Shown::kWatched);
}

bool Ledger::hold_from_get(const model::HoldingPtr& holding) {
  const base::MutexLock lock(mutex_);
  return state_->hold(holding, State::Shown::kRead);
}

bool Ledger::nominate(model::NominationPtr nomination) {
  const base::MutexLock lock(mutex_);
  return state_->nominate(std::move(nomination)) == nullptr;
}

void Ledger::end_nomination(std::string_view uid) {
  const base::MutexLock lock(mutex_);
  state_->end_nomination(uid);
}

base::Generation Ledger::inventory_generation() const {
  const base::MutexLock lock(mutex_);
  return state_->nodes.inventory_generation();
}

void Ledger::set_demand(model::DemandPtr demand) {
  const base::MutexLock lock(mutex_);
  state_->demand.swap(demand);  // the old value is destroyed without the lock
  state_->changed();
}

void Ledger::policy_changed() {
  const base::MutexLock lock(mutex_);
  state_->room_made();
}

void Ledger::end_pod(std::string_view uid) {
  const base::MutexLock lock(mutex_);
  state_->end_pod(uid, EndedPods::Source::kStream);
}

bool Ledger::end_pod_from_get(std::string_view uid, std::uint64_t sequence) {
  const base::MutexLock lock(mutex_);
  const LedgerEntry* entry = state_->find(uid);
  if (entry == nullptr || entry->sequence != sequence) return false;
  state_->end_pod(uid, EndedPods::Source::kGet);
  return true;
}

ListMark Ledger::begin_list() {
  const base::MutexLock lock(mutex_);
  return {state_->sequence};
}

ListResult Ledger::replace_holdings(ListMark mark, const ListedPods& listed) {
  ListResult result{.edited_uids =
                        ListReplacement<State>(mutex_, state_.get(), mark, listed).run()};
  const base::MutexLock lock(mutex_);
  std::unordered_set<std::string_view> nominated;
  for (const model::NominationPtr& nomination : listed.nominated)
    nominated.insert(nomination->rank.uid);
  for (const std::string& uid : state_->nominations.made_by(mark.sequence)) {
    if (!nominated.contains(uid)) state_->end_nomination(uid);
  }
  result.dropped_nominations = state_->nominate_all(listed.nominated);
  std::ranges::sort(result.edited_uids);
  return result;
}

std::expected<model::HoldingPtr, ReserveFailure> Ledger::reserve(const ReserveInput& input) {
  const base::MutexLock lock(mutex_);
  state_->expire_intents();
  if (auto held = state_->held_already(input)) return std::unexpected(*std::move(held));
  if (LedgerEntry* unsettled = state_->find(input.incoming.rank.uid)) {
    state_->set_state(*unsettled, HoldingState::kReserved);
    return unsettled->holding;
  }
  const std::optional<base::NodeIndex> node = state_->nodes.find(input.node);
  if (!node) return std::unexpected(ReserveFailure{.reason = model::ReasonCode::kUnknownNode});
  const plan::NodeChoice choice = state_->choose(*node, input);
  if (choice.reason != model::ReasonCode::kNone) {
    return std::unexpected(ReserveFailure{.reason = choice.reason});
  }
  const model::NodeState& live = *state_->nodes.state(*node);
  auto holding = plan::to_holding(live, input.incoming, choice.placement);
  const model::HoldingPtr intent = state_->intents.remove(input.incoming.rank.uid);
  if (intent != nullptr && may_free_capacity(*intent, *holding, live)) state_->intent_ended();
  holding->pod = input.pod;
  holding->host = input.incoming.host;
  holding->has_other_constraints = input.has_other_constraints;
  state_->insert(holding, HoldingState::kReserved);
  return holding;
}

void Ledger::mark_bound(std::string_view uid) {
  const base::MutexLock lock(mutex_);
  LedgerEntry* entry = state_->find(uid);
  if (entry == nullptr || entry->state == HoldingState::kBound) return;
  state_->set_state(*entry, HoldingState::kBound);
}

void Ledger::release(std::string_view uid) {
  const base::MutexLock lock(mutex_);
  LedgerEntry* entry = state_->find(uid);
  if (entry == nullptr || entry->state == HoldingState::kBound) return;
  if (!entry->last_unknown_bind) {
    state_->erase(uid);
    return;
  }
  state_->set_state(*entry, HoldingState::kUnsettled);
  entry->since = *entry->last_unknown_bind;
}

void Ledger::mark_unsettled(std::string_view uid) {
  const base::MutexLock lock(mutex_);
  LedgerEntry* entry = state_->find(uid);
  if (entry == nullptr || entry->state != HoldingState::kReserved) return;
  state_->set_state(*entry, HoldingState::kUnsettled);
  entry->last_unknown_bind = entry->since;
}

void Ledger::release_unsettled(std::string_view uid, std::uint64_t sequence) {
  const base::MutexLock lock(mutex_);
  const LedgerEntry* entry = state_->find(uid);
  if (entry == nullptr || entry->state != HoldingState::kUnsettled) return;
  if (entry->sequence == sequence) state_->erase(uid);
}

void Ledger::note_intent(model::HoldingPtr intent) {
  const base::MutexLock lock(mutex_);
  if (state_->find(intent->uid) != nullptr || state_->ended.contains(intent->uid)) return;
  if (state_->intents.put(std::move(intent), state_->clock.now())) ++state_->intents_ended.value;
  state_->changed();
}

void Ledger::end_intent(std::string_view uid) {
  const base::MutexLock lock(mutex_);
  state_->end_intent(uid);
}

std::optional<LedgerEntry> Ledger::find(std::string_view uid) const {
  const base::MutexLock lock(mutex_);
  const LedgerEntry* entry = state_->find(uid);
  if (entry == nullptr) return std::nullopt;
  return *entry;
}

std::vector<LedgerEntry> Ledger::gpu_entries() const {
  const base::MutexLock lock(mutex_);
  std::vector<LedgerEntry> result;
  for (const auto& [uid, entry] : state_->entries) {
    if (!entry.holding->is_cpu_only()) result.push_back(entry);
  }
  return result;
}

std::vector<LedgerEntry> Ledger::unconfirmed() const {
  const base::MutexLock lock(mutex_);
  std::vector<LedgerEntry> result;
  result.reserve(state_->unconfirmed.size());
  for (const std::string& uid : state_->unconfirmed)
    result.push_back(state_->entries.find(uid)->second);
  return result;
}

bool Ledger::has_ended(std::string_view uid) const {
  const base::MutexLock lock(mutex_);
  return state_->ended.contains(uid);
}

bool Ledger::ended_after(ListMark mark, std::string_view uid) const {
  const base::MutexLock lock(mutex_);
  return state_->ended.ended_after(uid, mark.sequence);
}

}  // namespace snug::ledger
