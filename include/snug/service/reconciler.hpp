// Keeps the ledger consistent with the API server. Passes each list and watch event to the jobs
// that it concerns (NodeIntake, BoundPods, PodNominator and PendingPods in src/service, and the
// ledger's DemandTracker), and runs the periodic jobs (BindSettler, PodWaker, ClosureReporter,
// LayoutReporter, NodeEvents and NodeMirror). It decides no placement.
//
// The watch threads make the calls of ClusterSink, and another thread calls tick(). Calls about
// nodes must not overlap each other. The same holds for calls about pods, and for calls of tick().
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "snug/admission/mirrored_resources.hpp"
#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/ledger/demand_tracker.hpp"
#include "snug/ledger/ledger.hpp"
#include "snug/service/agent_heartbeats.hpp"
#include "snug/service/pending_pods.hpp"
#include "snug/service/pod_events.hpp"
#include "snug/service/ports.hpp"
#include "snug/service/readiness.hpp"

namespace snug::service {

struct ReconcilerParts {
  ledger::Ledger& ledger;
  PendingPods& pending;
  ledger::DemandTracker& demand;
  Readiness& readiness;
  ApiPort& api;
  Metrics& metrics;
  Log& log;
  const base::Clock& clock;
  PodEvents* events = nullptr;            // null: no events about single pods
  AgentHeartbeats* heartbeats = nullptr;  // null: all agents of nodes count as alive
};

class Reconciler final : public ClusterSink {
 public:
  /// `mirrored_cards`: ServiceOptions::mirrored_cards.
  Reconciler(ReconcilerParts parts, const base::Limits& limits,
             const std::optional<admission::CardRange>& mirrored_cards = std::nullopt);
  ~Reconciler() override;

  void stream_alive(Resource resource, std::string_view version) override;
  void stream_lost(Resource resource) override;
  void pod_list_started() override;
  void pods_listed(std::vector<model::PodFacts> pods) override;
  void pod_changed(model::PodFacts pod) override;
  void pod_gone(const model::PodFacts& pod) override;
  void node_list_started() override;
  void nodes_listed(std::vector<model::NodeFacts> nodes) override;
  void node_changed(model::NodeFacts node) override;
  void node_gone(std::string_view name) override;

  /// Runs the periodic jobs that are due. Call it about every 50 ms. May wait for the API server.
  void tick();
  /// Called in place of tick() if Snug only removes what mirrors shares: writes nothing else.
  /// Returns whether nothing in the cluster mirrors them any more.
  [[nodiscard]] bool remove_mirrors();

 private:
  struct Jobs;

  void unbound_pod_changed(model::PodFacts facts);
  void note_demand(const PodInfo& pod);
  /// Notes the pods that Snug has bound for the events about them. The success of a bind may be
  /// known from its answer, a GET, a list or the watch.
  void note_own_binds();

  ReconcilerParts parts_;
  std::unique_ptr<Jobs> jobs_;
};

}  // namespace snug::service
