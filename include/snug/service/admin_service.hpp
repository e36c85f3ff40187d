// The use cases behind the admin port: the state of nodes and pods, and which few pods to move so
// that a request fits. They read a snapshot and the table of pending pods, and change nothing.
//
// Thread-safe. One defrag request runs at a time, since each may take a core for some hundred
// milliseconds.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "snug/ledger/ledger.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/service/pending_pods.hpp"
#include "snug/service/policy_store.hpp"
#include "snug/service/ports.hpp"
#include "snug/service/readiness.hpp"

namespace snug::service {

/// A pending pod, by its name; or a request without a pod, in the words of annotations.
struct RepackQuery {
  std::optional<std::string> name_space;  // nothing: `default`
  std::optional<std::string> pod;
  model::StringMap request;  // gpu-fraction, gpu-memory…
};

/// All outlive the service.
struct AdminParts {
  ledger::Ledger& ledger;
  const PendingPods& pending;
  const Readiness& readiness;
  const PolicyStore& policy;
};

class AdminService {
 public:
  explicit AdminService(AdminParts parts) : parts_(parts) {}

  /// GET /v1/nodes, or of one node: 404 if the ledger does not have it.
  [[nodiscard]] Reply nodes(std::optional<std::string_view> name);
  /// GET /v1/pods.
  [[nodiscard]] Reply pods();
  /// GET /v1/defrag. 400: the question is malformed, or asks for no GPU. 404: no such pod is
  /// pending. 503: Snug is not ready, or another defrag request is running.
  [[nodiscard]] Reply defrag(const RepackQuery& query);

 private:
  [[nodiscard]] Reply defrag_for(const PodInfoPtr& pod);

  AdminParts parts_;
  std::atomic<bool> defrag_runs_{false};
};

}  // namespace snug::service
