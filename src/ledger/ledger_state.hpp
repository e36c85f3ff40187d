// The internal state of the ledger, guarded by its mutex. Private to src/ledger.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ledger/ended_pods.hpp"
#include "ledger/intent_table.hpp"
#include "ledger/node_registry.hpp"
#include "ledger/nomination_table.hpp"
#include "snug/ledger/ledger.hpp"
#include "snug/model/pod_name_index.hpp"
#include "snug/plan/plan.hpp"

namespace snug::ledger {

struct Ledger::State {
  State(const base::Clock& the_clock, const base::Limits& limits)
      : clock(the_clock),
        intents(limits),
        nominations(limits),
        ended_pods(static_cast<std::size_t>(limits.max_tombstones)),
        max_nodes(static_cast<std::size_t>(limits.max_nodes)) {}

  const base::Clock& clock;
  std::unordered_map<std::string, LedgerEntry, model::StringHash, std::equal_to<>> entries;
  using UidSet = std::unordered_set<std::string, model::StringHash, std::equal_to<>>;
  UidSet unconfirmed;  // the uids of the entries that Ledger::unconfirmed() returns
  UidSet unbound;      // the uids of the entries that are not Bound
  /// The uids of the entries that reserve() has made and take_own_binds() has not returned.
  UidSet own_binds;
  model::PodNameIndex gpu_pods;  // the pods of Ledger::gpu_entries()
  NodeRegistry nodes;
  IntentTable intents;
  NominationTable nominations;
  EndedPods ended_pods;
  std::size_t max_nodes;
  std::uint64_t sequence = 0;  // the sequence number of the last change
  base::Generation generation;
  base::Generation freed;
  base::Generation ended_intents;
  model::DemandPtr demand{model::DemandPtr{}, &model::kNoDemand};
  model::SnapshotPtr current_snapshot;  // null: the state has changed since the last snapshot

  void changed(bool made_room = false) {
    if (made_room) ++freed.value;
    ++generation.value;
    current_snapshot = nullptr;
  }
  void capacity_freed() { changed(true); }
  /// Records that an intent has ended, so that its placement is free for other pods.
  void intent_ended() {
    ++ended_intents.value;
    changed();
  }
  void end_intent(std::string_view uid) {
    if (intents.remove(uid) != nullptr) intent_ended();
  }
  void expire_intents();
  LedgerEntry* find(std::string_view uid) {
    const auto known_entry = entries.find(uid);
    return known_entry == entries.end() ? nullptr : &known_entry->second;
  }
  void set_state(LedgerEntry& entry, HoldingState state) {
    entry.state = state;
    entry.since = clock.now();
    entry.sequence = ++sequence;
    update_sets(entry);
  }
  /// Must be called after any change of the entry's `state`, `confirmed` or `reappeared_after_end`.
  void update_sets(const LedgerEntry& entry) {
    const bool unseen =
        entry.state == HoldingState::kBound && (!entry.confirmed || entry.reappeared_after_end);
    put_or_remove(unconfirmed, entry.holding->uid,
                  unseen || entry.state == HoldingState::kUnsettled);
    put_or_remove(unbound, entry.holding->uid, entry.state != HoldingState::kBound);
  }
  static void put_or_remove(UidSet& uids, const std::string& uid, bool is_in) {
    if (is_in) {
      uids.insert(uid);
    } else {
      uids.erase(uid);
    }
  }
  LedgerEntry& insert(model::HoldingPtr holding, HoldingState state) {
    LedgerEntry& entry = entries[holding->uid];
    entry = LedgerEntry{.holding = holding};
    set_state(entry, state);
    if (!holding->is_cpu_only()) gpu_pods.add(holding->name_space, holding->pod, holding->uid);
    // Capacity that was kept free for this pod on another node, or for a nominated pod that no
    // longer fits on this node, is available to other pods now.
    const bool frees_kept_room =
        nominations.contains(holding->uid) || nominations.any_on(holding->reservation.node);
    nodes.add(std::move(holding));
    changed(frees_kept_room);
    return entry;
  }
  void erase(std::string_view uid) {
    const auto ended_entry = entries.find(uid);
    if (ended_entry == entries.end()) return;
    const model::Holding& holding = *ended_entry->second.holding;
    const bool had_gpus = !holding.is_cpu_only();
    if (had_gpus) gpu_pods.remove(holding.name_space, holding.pod, holding.uid);
    nodes.remove(holding);
    unconfirmed.erase(ended_entry->first);
    unbound.erase(ended_entry->first);
    own_binds.erase(ended_entry->first);
    entries.erase(ended_entry);
    changed(had_gpus);
  }
  void end_nomination(std::string_view uid) {
    if (nominations.remove(uid)) capacity_freed();
  }
  void end_pod(std::string_view uid, EndedPods::Source source) {
    ended_pods.add(uid, ++sequence, source);
    end_intent(uid);
    end_nomination(uid);
    erase(uid);
  }

  /// Adds a nomination, unless its pod is bound or has ended. Returns the nomination that was
  /// dropped because there are too many; null: none.
  model::NominationPtr nominate(model::NominationPtr nomination) {
    const std::string& uid = nomination->rank.uid;
    const LedgerEntry* entry = find(uid);
    const bool bound = entry != nullptr && entry->state == HoldingState::kBound;
    if (bound || ended_pods.contains(uid)) return nullptr;
    const bool moves = nominations.contains(uid);
    NominationTable::PutResult put = nominations.put(std::move(nomination), ++sequence);
    if (put.changed) changed(moves || put.dropped != nullptr);
    return std::move(put.dropped);
  }
  /// A predicate for nominations whose pods have no entry. Capacity is kept free only for these: a
  /// pod with an entry already holds its devices.
  auto has_no_entry() const {
    return [this](const model::Nomination& pod) { return !entries.contains(pod.rank.uid); };
  }

  /// Adds the nominations of a list. Returns the number of pods that are left without a nomination
  /// because there are too many.
  std::size_t nominate_all(const model::Nominations& listed) {
    // A set, since two nominations of one pod may be dropped: its earlier one and the listed one.
    std::unordered_set<std::string> dropped_uids;
    for (const model::NominationPtr& nomination : listed) {
      if (const model::NominationPtr dropped = nominate(nomination))
        dropped_uids.insert(dropped->rank.uid);
    }
    std::erase_if(dropped_uids, [this](const auto& uid) { return nominations.contains(uid); });
    return dropped_uids.size();
  }

  void remove_node(std::string_view name) {
    // Without the inventory, the nvidia.com/* units of the node's pods no longer count against the
    // caps of their namespaces.
    const bool frees_caps = !nodes.gpu_pod_uids(name).empty();
    if (nodes.remove(name)) changed(frees_caps);
  }

  bool put_node(model::NodeInventory inventory) {
    if (nodes.size() >= max_nodes && !nodes.find(inventory.name)) return false;
    const NodeRegistry::PutResult put = nodes.put(std::move(inventory));
    if (put != NodeRegistry::PutResult::kEqual) changed(put == NodeRegistry::PutResult::kChanged);
    return true;
  }

  enum class Source : std::uint8_t { kList, kWatch, kGet };
  bool hold(const model::HoldingPtr& holding, Source shown);
  void refresh_pod_facts(LedgerEntry& entry, const model::Holding& shown);
  plan::NodeChoice choose(base::NodeIndex node, const ReserveInput& input);
  void end_absent_pod(const std::string& uid, std::uint64_t mark, bool is_living);
  std::optional<ReserveFailure> existing_holding_failure(const ReserveInput& input);
};

}  // namespace snug::ledger
