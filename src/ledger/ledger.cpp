#include "snug/ledger/ledger.hpp"

#include <algorithm>
#include <ranges>
#include <unordered_set>
#include <utility>

#include "ledger/ledger_state.hpp"
#include "ledger/list_replacement.hpp"
#include "snug/base/mutex.hpp"
#include "snug/fit/node_usage.hpp"

namespace snug::ledger {

Ledger::Ledger(const base::Clock& clock, const base::Limits& limits)
    : state_(std::make_unique<State>(clock, limits)) {}
Ledger::~Ledger() = default;

model::SnapshotPtr Ledger::snapshot() {
  const base::MutexLock lock(mutex_);
  state_->expire_intents();
  if (state_->current_snapshot == nullptr) {
    auto snapshot = std::make_shared<model::Snapshot>();
    snapshot->generation = state_->generation;
    snapshot->freed_generation = state_->freed;
    snapshot->ended_intents_generation = state_->ended_intents;
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
      model::Nominations nominated = state_->nominations.on(name, state_->has_no_entry());
      if (node && !nominated.empty()) snapshot->nominations[node->value] = std::move(nominated);
    }
    snapshot->namespace_usage = state_->nodes.namespace_usage();
    snapshot->demand = state_->demand;
    snapshot->models = state_->nodes.models();
    snapshot->mig_tables = state_->nodes.mig_tables();
    state_->current_snapshot = std::move(snapshot);
  }
  return state_->current_snapshot;
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
  // The number of nodes for which the mutex is held at a time. One node takes some microseconds, or
  // more if its inventory has changed.
  constexpr std::size_t kNodesPerTurn = 32;
  std::unordered_set<std::string> listed_names;
  for (const model::NodeInventory& inventory : inventories) listed_names.insert(inventory.name);
  std::vector<std::string> absent = [this] {
    const base::MutexLock lock(mutex_);
    return state_->nodes.names();
  }();
  std::erase_if(absent, [&](const std::string& name) { return listed_names.contains(name); });
  const auto in_parts = [&](std::size_t count, const auto& take) {
    for (std::size_t next = 0; next < count;) {
      const base::MutexLock lock(mutex_);
      for (const std::size_t last = std::min(next + kNodesPerTurn, count); next < last; ++next)
        take(next);
    }
  };
  in_parts(absent.size(),
           [&](std::size_t i) SNUG_REQUIRES(mutex_) { state_->remove_node(absent[i]); });
  std::size_t nodes_left_out = 0;
  in_parts(inventories.size(), [&](std::size_t i) SNUG_REQUIRES(mutex_) {
    if (!state_->put_node(std::move(inventories[i]))) ++nodes_left_out;
  });
  return nodes_left_out;
}

bool Ledger::hold(const model::HoldingPtr& holding) {
  const base::MutexLock lock(mutex_);
  return state_->hold(holding, State::Source::kWatch);
}

bool Ledger::hold_from_get(const model::HoldingPtr& holding) {
  const base::MutexLock lock(mutex_);
  return state_->hold(holding, State::Source::kGet);
}

bool Ledger::nominate(model::NominationPtr nomination) {
  const base::MutexLock lock(mutex_);
  return state_->nominate(std::move(nomination)) == nullptr;
}

void Ledger::end_nomination(std::string_view uid) {
  const base::MutexLock lock(mutex_);
  state_->end_nomination(uid);
}

std::shared_ptr<const model::NodeInventory> Ledger::inventory(std::string_view node) const {
  const base::MutexLock lock(mutex_);
  return state_->nodes.inventory(node);
}

base::Generation Ledger::inventory_generation() const {
  const base::MutexLock lock(mutex_);
  return state_->nodes.inventory_generation();
}

void Ledger::set_demand(model::DemandPtr demand) {
  const base::MutexLock lock(mutex_);
  state_->demand.swap(demand);  // the parameter destroys the old value after the unlock
  state_->changed();
}

void Ledger::policy_changed() {
  const base::MutexLock lock(mutex_);
  state_->capacity_freed();
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
  for (const std::string& uid : state_->nominations.made_until(mark.sequence)) {
    if (!nominated.contains(uid)) state_->end_nomination(uid);
  }
  result.dropped_nominations = state_->nominate_all(listed.nominated);
  std::ranges::sort(result.edited_uids);
  return result;
}

std::expected<model::HoldingPtr, ReserveFailure> Ledger::reserve(const ReserveInput& input) {
  const base::MutexLock lock(mutex_);
  state_->expire_intents();
  if (auto existing_failure = state_->existing_holding_failure(input))
    return std::unexpected(*std::move(existing_failure));
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
  holding->mirrored = input.incoming.mirrored;
  holding->has_other_constraints = input.has_other_constraints;
  state_->insert(holding, HoldingState::kReserved);
  state_->own_binds.insert(holding->uid);
  return holding;
}

void Ledger::mark_bound(std::string_view uid) {
  const base::MutexLock lock(mutex_);
  LedgerEntry* entry = state_->find(uid);
  if (entry == nullptr || entry->state == HoldingState::kBound) return;
  state_->set_state(*entry, HoldingState::kBound);
}

std::vector<model::HoldingPtr> Ledger::take_own_binds() {
  const base::MutexLock lock(mutex_);
  std::map<std::uint64_t, model::HoldingPtr> bound;  // by sequence number
  std::erase_if(state_->own_binds, [&](const std::string& uid) SNUG_REQUIRES(mutex_) {
    const LedgerEntry& entry = state_->entries.find(uid)->second;
    if (entry.state != HoldingState::kBound) return false;
    bound.emplace(entry.sequence, entry.holding);
    return true;
  });
  const auto holdings = std::views::values(bound);
  return {holdings.begin(), holdings.end()};
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
  if (state_->find(intent->uid) != nullptr || state_->ended_pods.contains(intent->uid)) return;
  if (state_->intents.put(std::move(intent), state_->clock.now())) ++state_->ended_intents.value;
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
  std::vector<LedgerEntry> entries_with_gpus;
  for (const auto& [uid, entry] : state_->entries) {
    if (!entry.holding->is_cpu_only()) entries_with_gpus.push_back(entry);
  }
  return entries_with_gpus;
}

std::vector<std::string> Ledger::uids_in_flight() const {
  const base::MutexLock lock(mutex_);
  std::vector<std::string> uids;
  for (const std::string& uid : state_->unbound) {
    if (!state_->entries.find(uid)->second.holding->is_cpu_only()) uids.push_back(uid);
  }
  std::ranges::sort(uids);
  return uids;
}

std::optional<LedgerEntry> Ledger::find_gpu_pod(std::string_view name_space,
                                                std::string_view name) const {
  const base::MutexLock lock(mutex_);
  const auto uid = state_->gpu_pods.find(name_space, name);
  if (!uid) return std::nullopt;
  return state_->entries.find(*uid)->second;
}

std::unordered_set<std::string_view> Ledger::with_entry(
    std::span<const std::string_view> uids) const {
  // The number of uids for which the mutex is held at a time, some 100 us.
  constexpr std::size_t kUidsPerTurn = 1'024;
  std::unordered_set<std::string_view> known_uids;
  while (!uids.empty()) {
    const auto part = uids.first(std::min(kUidsPerTurn, uids.size()));
    uids = uids.subspan(part.size());
    const base::MutexLock lock(mutex_);
    for (const std::string_view uid : part) {
      if (state_->entries.contains(uid)) known_uids.insert(uid);
    }
  }
  return known_uids;
}

HoldingCounts Ledger::gpu_holding_counts() const {
  const base::MutexLock lock(mutex_);
  HoldingCounts counts;
  for (const std::string& uid : state_->unbound) {
    const LedgerEntry& entry = state_->entries.find(uid)->second;
    if (!entry.holding->is_cpu_only()) ++counts[entry.state];
  }
  std::int64_t not_bound = 0;
  for (const auto& [state, count] : counts) not_bound += count;
  counts[HoldingState::kBound] = state_->nodes.gpu_holdings() - not_bound;
  return counts;
}

std::vector<LedgerEntry> Ledger::unconfirmed() const {
  const base::MutexLock lock(mutex_);
  std::vector<LedgerEntry> unconfirmed_entries;
  unconfirmed_entries.reserve(state_->unconfirmed.size());
  for (const std::string& uid : state_->unconfirmed)
    unconfirmed_entries.push_back(state_->entries.find(uid)->second);
  return unconfirmed_entries;
}

bool Ledger::has_ended(std::string_view uid) const {
  const base::MutexLock lock(mutex_);
  return state_->ended_pods.contains(uid);
}

bool Ledger::ended_after(ListMark mark, std::string_view uid) const {
  const base::MutexLock lock(mutex_);
  return state_->ended_pods.ended_after(uid, mark.sequence);
}

}  // namespace snug::ledger
