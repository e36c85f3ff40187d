// Constructs and connects the ledger, the reconciler and the services. This is the same in all
// modes, because the caller passes the API server, the metrics, the log and the clock.
#pragma once

#include "snug/leader/election.hpp"
#include "snug/service/admin_service.hpp"
#include "snug/service/explain_service.hpp"
#include "snug/service/extender_service.hpp"
#include "snug/service/pod_events.hpp"
#include "snug/service/reconciler.hpp"
#include "snug/service/write_fence.hpp"

namespace snug::app {

/// The ports that a ServiceCore uses. They must outlive it.
struct CorePorts {
  const service::PolicyStore& policy;
  service::ApiPort& api;
  service::Metrics& metrics;
  service::Log& log;
  const base::Clock& clock;
  const base::WallClock& wall_clock;
  service::PodCreator* pod_creator = nullptr;  // null unless in embedded mode
  /// Whether the caller passes the heartbeats of agents on. If not, all agents count as alive.
  bool has_heartbeats = false;
};

class ServiceCore {
 public:
  ServiceCore(const CorePorts& ports, const service::ServiceOptions& options)
      : ledger(ports.clock, options.limits),
        pending(options.limits),
        demand(ledger),
        heartbeats(ports.clock, options.limits),
        readiness(ports.clock, options.limits),
        fence(ports.clock, leader::unanswered_window(options.api_timeout, options.limits)),
        explanations({ledger, pending, readiness, ports.policy, placements, ports.api}, options),
        events({ledger, pending, readiness, placements, explanations, ports.api, ports.metrics,
                ports.clock},
               options),
        reconciler({ledger, pending, demand, readiness, ports.api, ports.metrics, ports.log,
                    ports.clock, &events, ports.has_heartbeats ? &heartbeats : nullptr},
                   options.limits, options.mirrored_cards),
        service({ledger, pending, readiness, fence, ports.policy, placements, ports.api,
                 ports.metrics, ports.log, ports.clock, ports.pod_creator, &events},
                options),
        usage({ledger, pending, readiness, ports.policy, ports.clock, ports.wall_clock}, options),
        admin({ledger, pending, readiness, ports.policy, usage}) {}

  ledger::Ledger ledger;
  service::PendingPods pending;
  ledger::DemandTracker demand;
  service::AgentHeartbeats heartbeats;
  service::Readiness readiness;
  service::WriteFence fence;
  service::PlacementLog placements;
  service::ExplainService explanations;
  service::PodEvents events;
  service::Reconciler reconciler;
  service::ExtenderService service;
  service::UsageMonitor usage;
  service::AdminService admin;
};

}  // namespace snug::app
