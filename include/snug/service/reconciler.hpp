// Keeps the ledger equal to the API server: applies lists and watch events, lets demand be learned
// from them, settles binds of unknown outcome, wakes waiting pods when room appears, and reports
// what should not be (over-commitment, edited or missing reservations).
//
// The sink's calls come from the watch threads (nodes and pods each one at a time), tick() from one
// more. Nothing here decides a placement.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "snug/base/clock.hpp"
#include "snug/ledger/demand_keeper.hpp"
#include "snug/ledger/ledger.hpp"
#include "snug/service/closures.hpp"
#include "snug/service/holding.hpp"
#include "snug/service/layout_changes.hpp"
#include "snug/service/pending.hpp"
#include "snug/service/ports.hpp"
#include "snug/service/readiness.hpp"

namespace snug {

struct ReconcilerParts {
  Ledger& ledger;
  PendingPods& pending;
  DemandKeeper& demand;
  Readiness& readiness;
  ApiPort& api;
  Metrics& metrics;
  Log& log;
  const Clock& clock;
};

class Reconciler final : public ClusterSink {
 public:
  Reconciler(ReconcilerParts parts, const Limits& limits);

  void stream_alive(Resource resource, std::string_view version) override;
  void stream_lost(Resource resource) override;
  void pods_list_begins() override;
  void pods_listed(std::vector<PodFacts> pods) override;
  void pod_changed(PodFacts pod) override;
  void pod_gone(const PodFacts& pod) override;
  void nodes_list_begins() override;
  void nodes_listed(std::vector<NodeFacts> nodes) override;
  void node_changed(NodeFacts node) override;
  void node_gone(std::string_view name) override;

  /// Whatever is due by the clock: call it about every 50 ms. May wait for the API server.
  void tick();

 private:
  enum class Shown : std::uint8_t { kWatched, kRead };
  enum class Kept : std::uint8_t { kAll, kSome };  // of the room for nominated pods

  void apply_bound(const PodFacts& pod, Shown shown);
  /// Lets demand be learned from a pod that has not been counted, or that is bound now.
  void note_demand(const PodFacts& pod);
  /// Keeps what an unbound pod asks on the node that it is nominated to.
  void note_nomination(const PodFacts& pod);
  [[nodiscard]] std::string what_was_edited(const PodFacts& pod) const;
  /// Says it when it changes; that all is well again only a list can know.
  void say_nominations(Kept kept);
  /// Says once for each pod what is wrong with its reservation.
  void report(const PodFacts& pod, const std::string& problem);
  [[nodiscard]] NodeInventory take_in(const NodeFacts& node);
  void leave_out(NodeFacts node);
  /// Takes in nodes that were left out, while there is room.
  void fill_up();
  void say_left_out();
  void touch_room();
  void settle();
  [[nodiscard]] std::vector<LedgerEntry> in_turn(std::vector<LedgerEntry> entries) const;
  [[nodiscard]] bool settle_one(const LedgerEntry& entry);

  ReconcilerParts parts_;
  Limits limits_;
  // Pod thread only.
  ListMark mark_;
  Kept told_nominations_ = Kept::kAll;
  // Node thread only.
  std::unordered_map<std::string, std::string> told_;  // what is wrong with a node, by its name
  /// By name: nodes beyond maxNodes, as many again at most. Others come with their next change.
  std::map<std::string, NodeFacts> left_out_;
  std::size_t told_left_out_ = 0;
  // tick() only.
  /// Whether waiting pods were woken since this Snug leads: another one may have refused them.
  bool woken_ = false;
  Generation touched_;
  std::string told_touch_;  // why the last wake-up failed; empty: it did not
  std::optional<TimePoint> last_touch_;
  TimePoint last_settle_;
  std::string asked_last_;  // uid
  ClosureReporter closures_;
  LayoutReporter layouts_;
  std::mutex mutex_;
  std::unordered_set<std::string> reported_;  // uids of pods with a reported problem; guarded
};

}  // namespace snug
