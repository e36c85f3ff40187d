// Keeps the ledger equal to the API server: hands each list and watch event to the jobs that it
// concerns (src/service/node_intake, bound_pods, pod_nominator; the ledger's DemandTracker), and
// runs those that are due by the clock (bind_settler, pod_waker, and the reports of
// src/service/closures and layout_changes). Nothing here decides a placement.
//
// The sink's calls come from the watch threads (nodes and pods each one at a time), tick() from one
// more.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/ledger/demand_tracker.hpp"
#include "snug/ledger/ledger.hpp"
#include "snug/service/pending_pods.hpp"
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
};

class Reconciler final : public ClusterSink {
 public:
  Reconciler(ReconcilerParts parts, const base::Limits& limits);
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

  /// Whatever is due by the clock: call it about every 50 ms. May wait for the API server.
  void tick();

 private:
  struct Jobs;

  void unbound_pod_changed(model::PodFacts facts);
  void note_demand(const PodInfo& pod);

  ReconcilerParts parts_;
  std::unique_ptr<Jobs> jobs_;
};

}  // namespace snug::service
