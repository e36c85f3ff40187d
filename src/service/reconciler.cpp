#include "snug/service/reconciler.hpp"

#include <algorithm>
#include <utility>

#include "snug/codec/inventory.hpp"
#include "snug/request/host.hpp"
#include "snug/request/parse.hpp"
#include "snug/service/holding.hpp"
#include "snug/service/pod_claim.hpp"

namespace snug {
namespace {

constexpr std::string_view kEdited =
    "its reservation was edited after binding; the ledger keeps what was bound";
constexpr std::string_view kAdded =
    "its reservation was added after it was bound without a GPU; it counts, as it would after a "
    "restart";

/// Null: the pod is not nominated, or asks for no GPU that could be kept for it.
NominationPtr nomination_of(const PodFacts& pod) {
  if (pod.nominated_node_name.empty() || pod.terminating) return nullptr;
  auto request = parse_request(pod);
  if (!request || request->empty()) return nullptr;
  return std::make_shared<const Nomination>(Nomination{.name_space = pod.name_space,
                                                       .node = pod.nominated_node_name,
                                                       .rank = rank_of(pod),
                                                       .request = *std::move(request)});
}

/// A pod that asks for GPUs, as demand counts it; nothing: it asks for none, or may not be placed
/// yet.
std::optional<DemandKeeper::Seen> demand_of(const PodFacts& pod) {
  if (pod.gated) return std::nullopt;
  const auto request = parse_request(pod);
  if (!request || request->empty()) return std::nullopt;
  return DemandKeeper::Seen{.uid = pod.uid,
                            .shape = shape_of(*request, host_request(pod)),
                            .placed = !pod.node_name.empty()};
}

}  // namespace

Reconciler::Reconciler(ReconcilerParts parts, const Limits& limits)
    : parts_(parts),
      limits_(limits),
      closures_(parts.api, parts.metrics, parts.log),
      layouts_(parts.api, limits) {}

void Reconciler::stream_alive(Resource resource, std::string_view version) {
  parts_.readiness.alive(resource, version);
}

void Reconciler::stream_lost(Resource resource) { parts_.readiness.lost(resource); }

void Reconciler::pods_list_begins() {
  parts_.readiness.list_begins(Resource::kPods);
  mark_ = parts_.ledger.list_begins();
  parts_.pending.list_begins();
}

void Reconciler::pods_listed(std::vector<PodFacts> pods) {
  ListedPods listed;
  std::vector<PodFacts> unbound;
  std::vector<DemandKeeper::Seen> demand;
  for (const PodFacts& pod : pods) {
    if (pod.finished) continue;
    listed.living.insert(pod.uid);
    // One that ended while the list was on its way is neither counted nor awaited again.
    if (parts_.ledger.ended_since(mark_, pod.uid)) continue;
    if (auto seen = demand_of(pod)) demand.push_back(*std::move(seen));
    if (pod.node_name.empty()) {
      unbound.push_back(pod);
      if (NominationPtr nomination = nomination_of(pod)) {
        listed.nominated.push_back(std::move(nomination));
      }
      continue;
    }
    ReadHolding held = read_holding(pod, limits_);
    if (!held.problem.empty()) report(pod, held.problem);
    listed.bound.push_back(std::move(held.holding));
  }
  const ListResult result = parts_.ledger.replace_holdings(mark_, listed);
  for (const PodFacts& pod : pods) {
    if (std::ranges::binary_search(result.edited, pod.uid)) report(pod, what_was_edited(pod));
  }
  say_nominations(result.not_kept > 0 ? Kept::kSome : Kept::kAll);
  parts_.pending.replace(std::move(unbound));
  parts_.demand.listed(demand);
  parts_.readiness.listed(Resource::kPods);
}

void Reconciler::pod_changed(PodFacts pod) {
  if (pod.finished) {
    pod_gone(pod);
    return;
  }
  // Before anything else: it may show that a pod that had ended runs again.
  if (!pod.node_name.empty()) apply_bound(pod, Shown::kWatched);
  if (parts_.ledger.ended(pod.uid)) return;
  note_demand(pod);
  if (!pod.node_name.empty()) return;
  note_nomination(pod);
  parts_.pending.put(std::move(pod));
}

void Reconciler::pod_gone(const PodFacts& pod) {
  // In this order: whoever notes a refusal of the pod after the second line sees that it has ended.
  parts_.ledger.gone(pod.uid);
  parts_.pending.remove(pod.uid);
  parts_.demand.gone(pod.uid);
  const std::lock_guard lock(mutex_);
  reported_.erase(pod.uid);
}

void Reconciler::note_demand(const PodFacts& pod) {
  const auto seen = demand_of(pod);
  if (!seen) return;
  parts_.demand.seen(*seen);
  // The ticker may have seen it end meanwhile.
  if (parts_.ledger.ended(pod.uid)) parts_.demand.gone(pod.uid);
}

void Reconciler::note_nomination(const PodFacts& pod) {
  NominationPtr nomination = nomination_of(pod);
  if (nomination == nullptr) {
    parts_.ledger.end_nomination(pod.uid);
  } else if (!parts_.ledger.nominate(std::move(nomination))) {
    say_nominations(Kept::kSome);
  }
}

void Reconciler::say_nominations(Kept kept) {
  if (kept == std::exchange(told_nominations_, kept)) return;
  if (kept == Kept::kAll) {
    parts_.log.write(LogLevel::kInfo, "room is kept for every nominated pod again");
    return;
  }
  parts_.log.write(LogLevel::kWarn,
                   "for some nominated pods no room is kept: there are more than " +
                       std::to_string(limits_.max_nominations));
}

void Reconciler::apply_bound(const PodFacts& pod, Shown shown) {
  parts_.pending.remove(pod.uid);
  ReadHolding held = read_holding(pod, limits_);
  const bool as_known = shown == Shown::kWatched ? parts_.ledger.hold(held.holding)
                                                 : parts_.ledger.hold_as_read(held.holding);
  if (!as_known) held.problem = what_was_edited(pod);
  if (!held.problem.empty()) report(pod, held.problem);
}

/// Of a pod whose holding the ledger did not find as it had it.
std::string Reconciler::what_was_edited(const PodFacts& pod) const {
  const auto entry = parts_.ledger.find(pod.uid);
  const auto shown = read_holding(pod, limits_).holding;
  const bool counts = entry && entry->holding->reservation == shown->reservation;
  return std::string(counts ? kAdded : kEdited);
}

void Reconciler::report(const PodFacts& pod, const std::string& problem) {
  if (!parts_.readiness.leads()) return;  // whoever leads says it
  {
    const std::lock_guard lock(mutex_);
    if (reported_.size() >= static_cast<std::size_t>(limits_.max_tombstones)) reported_.clear();
    if (!reported_.insert(pod.uid).second) return;
  }
  parts_.metrics.reservation_problem(ReservationProblem::kReservation);
  parts_.log.write(LogLevel::kWarn, "pod " + pod.name_space + "/" + pod.name + ": " + problem);
  parts_.api.warn({.name_space = pod.name_space,
                   .pod = pod.name,
                   .uid = pod.uid,
                   .reason = "GpuReservationProblem",
                   .note = problem});
}

NodeInventory Reconciler::take_in(const NodeFacts& node) {
  NodeInventory inventory = read_inventory(node, limits_);
  if (inventory.closed_because.empty()) {
    told_.erase(node.name);
    return inventory;
  }
  std::string& told = told_[node.name];
  if (told != inventory.closed_because) {
    told = inventory.closed_because;
    // A layout that is being changed is nobody's fault, and would raise an alert each time.
    if (inventory.closed_to_all != ReasonCode::kReconfiguring) {
      parts_.metrics.reservation_problem(ReservationProblem::kNodeClosed);
    }
    parts_.log.write(LogLevel::kWarn, "node " + node.name + ": " + told);
  }
  return inventory;
}

void Reconciler::leave_out(NodeFacts node) {
  const bool known = left_out_.contains(node.name);
  if (!known && left_out_.size() >= static_cast<std::size_t>(limits_.max_nodes)) return;
  std::string name = node.name;
  left_out_.insert_or_assign(std::move(name), std::move(node));
}

void Reconciler::fill_up() {
  while (!left_out_.empty() && parts_.ledger.put_node(take_in(left_out_.begin()->second))) {
    left_out_.erase(left_out_.begin());
  }
}

void Reconciler::say_left_out() {
  if (left_out_.size() == std::exchange(told_left_out_, left_out_.size())) return;
  if (left_out_.empty()) {
    parts_.log.write(LogLevel::kInfo, "no node is left out any more");
    return;
  }
  const bool all = left_out_.size() < static_cast<std::size_t>(limits_.max_nodes);
  parts_.log.write(LogLevel::kError, (all ? "" : "at least ") + std::to_string(left_out_.size()) +
                                         " nodes are left out: there are more than maxNodes (" +
                                         std::to_string(limits_.max_nodes) + ")");
}

void Reconciler::nodes_list_begins() { parts_.readiness.list_begins(Resource::kNodes); }

void Reconciler::nodes_listed(std::vector<NodeFacts> nodes) {
  std::vector<NodeInventory> inventories;
  inventories.reserve(nodes.size());
  std::unordered_set<std::string_view> listed;
  for (const NodeFacts& node : nodes) {
    inventories.push_back(take_in(node));
    listed.insert(node.name);
  }
  std::erase_if(told_, [&](const auto& told) { return !listed.contains(told.first); });
  left_out_.clear();
  if (parts_.ledger.replace_nodes(std::move(inventories)) > 0) {
    const auto taken_in = parts_.ledger.snapshot()->names;
    for (NodeFacts& node : nodes) {
      if (!taken_in->contains(node.name)) leave_out(std::move(node));
    }
  }
  say_left_out();
  parts_.demand.nodes_listed();
  parts_.readiness.listed(Resource::kNodes);
}

void Reconciler::node_changed(NodeFacts node) {
  if (parts_.ledger.put_node(take_in(node))) {
    left_out_.erase(node.name);
  } else {
    leave_out(std::move(node));
  }
  say_left_out();
}

void Reconciler::node_gone(std::string_view name) {
  told_.erase(std::string(name));
  left_out_.erase(std::string(name));
  parts_.ledger.remove_node(name);
  fill_up();
  say_left_out();
}

void Reconciler::tick() {
  if (!parts_.readiness.leads()) woken_ = false;
  if (!parts_.readiness.ready()) return;
  touch_room();
  settle();
  closures_.look_at(*parts_.ledger.snapshot());
}

void Reconciler::touch_room() {
  const SnapshotPtr snapshot = parts_.ledger.snapshot();
  // Both only grow, and so does their sum.
  const Generation room{snapshot->room_generation.value + snapshot->intents_ended.value};
  const bool waiting =
      !woken_ || parts_.pending.any_waiting(snapshot->room_generation, snapshot->intents_ended);
  if ((woken_ && room <= touched_) || !waiting) return;
  const TimePoint now = parts_.clock.now();
  const auto interval = std::chrono::milliseconds(limits_.room_touch_interval_ms);
  if (last_touch_ && now - *last_touch_ < interval) return;
  last_touch_ = now;
  const Result<void> touched = parts_.api.touch_room(room);
  if (!touched) {
    if (std::exchange(told_touch_, touched.error().message) == touched.error().message) return;
    parts_.log.write(LogLevel::kWarn,
                     "waiting pods could not be woken: " + touched.error().message);
    return;
  }
  told_touch_.clear();
  woken_ = true;
  touched_ = room;
  parts_.metrics.room_touched();
}

void Reconciler::settle() {
  const TimePoint now = parts_.clock.now();
  const auto interval = std::chrono::milliseconds(limits_.settle_interval_ms);
  if (now - last_settle_ < interval) return;
  last_settle_ = now;
  layouts_.look_at(*parts_.ledger.snapshot(), parts_.pending);
  const auto resync = std::chrono::milliseconds(limits_.resync_ms);
  for (const LedgerEntry& entry : in_turn(parts_.ledger.unconfirmed())) {
    const bool bound = entry.state == HoldingState::kBound;
    if (bound && now - entry.since < resync) continue;  // the watch may yet show it
    asked_last_ = entry.holding->uid;
    if (!settle_one(entry) || parts_.clock.now() - now >= interval) return;
  }
}

/// Each round goes on where the last one ended, so that none waits behind one that is never
/// answered.
std::vector<LedgerEntry> Reconciler::in_turn(std::vector<LedgerEntry> entries) const {
  const auto uid = [](const LedgerEntry& entry) -> const std::string& {
    return entry.holding->uid;
  };
  std::ranges::sort(entries, {}, uid);
  std::ranges::rotate(entries, std::ranges::upper_bound(entries, asked_last_, {}, uid));
  return entries;
}

/// False: the API server is away, and there is no use in asking about others.
bool Reconciler::settle_one(const LedgerEntry& entry) {
  const Holding& held = *entry.holding;
  const TimePoint asked_at = parts_.clock.now();
  const auto fetched = parts_.api.get_pod(held.name_space, held.pod);
  if (!fetched) {
    const ErrorCode code = fetched.error().code;
    return code != ErrorCode::kUnavailable && code != ErrorCode::kUnknown;
  }
  const std::optional<PodFacts>& found = *fetched;
  if (!found || found->uid != held.uid || found->finished) {
    if (!parts_.ledger.gone_as_read(held.uid, entry.sequence)) return true;
    parts_.pending.remove(held.uid);
    parts_.demand.gone(held.uid);
  } else if (!found->node_name.empty()) {
    apply_bound(*found, Shown::kRead);
  } else if (asked_at - entry.since >= std::chrono::milliseconds(limits_.bind_settle_ms)) {
    // No request of ours can still be under way in the API server, and it says: unbound.
    parts_.ledger.release_unsettled(held.uid, entry.sequence);
  }
  return true;
}

}  // namespace snug
