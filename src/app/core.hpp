// Constructs ledger, reconciler and services and connects them, for all modes. The API server, the
// metrics, the log and the clock are passed in.
#pragma once

#include "snug/leader/election.hpp"
#include "snug/service/admin_service.hpp"
#include "snug/service/extender_service.hpp"
#include "snug/service/reconciler.hpp"
#include "snug/service/write_fence.hpp"

namespace snug {

/// All outlive the core.
struct CorePorts {
  const PolicyStore& policy;
  ApiPort& api;
  Metrics& metrics;
  Log& log;
  const Clock& clock;
  FirstSight* first_sight = nullptr;  // of the embedded mode
};

class Core {
 public:
  Core(const CorePorts& ports, const ServiceOptions& options)
      : ledger(ports.clock, options.limits),
        pending(options.limits),
        demand(ledger),
        readiness(ports.clock, options.limits),
        fence(ports.clock, unanswered_window(options.api_timeout, options.limits)),
        reconciler(
            {ledger, pending, demand, readiness, ports.api, ports.metrics, ports.log, ports.clock},
            options.limits),
        service({ledger, pending, readiness, fence, ports.policy, ports.api, ports.metrics,
                 ports.log, ports.clock, ports.first_sight},
                options),
        admin({ledger, pending, readiness, ports.policy}) {}

  Ledger ledger;
  PendingPods pending;
  DemandKeeper demand;
  Readiness readiness;
  WriteFence fence;
  Reconciler reconciler;
  ExtenderService service;
  AdminService admin;
};

}  // namespace snug
