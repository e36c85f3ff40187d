// The use cases behind the admin port: show the state of nodes, pods, cluster and policy, and
// advise which few pods to move so that a request fits. They read a snapshot and the table of
// pending pods, and change nothing.
//
// Thread-safe. Only one defrag request runs at a time, since each may keep a core busy for some
// hundred milliseconds.
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
#include "snug/service/usage_monitor.hpp"

namespace snug::service {

/// A query about repacking: for one pending pod, or for a request without a pod. Exactly one of
/// `pod` and `request` must be given.
struct RepackQuery {
  std::optional<std::string> name_space;  // the pod's namespace; nullopt: `default`
  std::optional<std::string> pod;
  model::StringMap request;  // annotations: gpu-fraction, gpu-memory…
};

/// The objects that AdminService uses. They must outlive it.
struct AdminParts {
  ledger::Ledger& ledger;
  const PendingPods& pending;
  const Readiness& readiness;
  const PolicyStore& policy;
  const UsageMonitor& usage;
};

class AdminService {
 public:
  explicit AdminService(AdminParts parts);

  /// Answers GET /v1/nodes with all nodes, or with only the node `node_name`. 404: the ledger does
  /// not have this node.
  [[nodiscard]] Reply nodes(std::optional<std::string_view> node_name);
  /// Answers GET /v1/nodes?since=… with the nodes that have changed since that version of an
  /// earlier reply, or with all nodes.
  [[nodiscard]] Reply nodes_since(std::string_view version);
  /// Answers GET /v1/pods with all GPU pods, or with only those of `name_space`.
  [[nodiscard]] Reply pods(std::optional<std::string_view> name_space);
  /// Answers GET /v1/cluster.
  [[nodiscard]] Reply cluster();
  /// Answers GET /v1/history.
  [[nodiscard]] Reply history();
  /// Answers GET /v1/policy.
  [[nodiscard]] Reply policy();
  /// Answers GET /v1/defrag. 400: the query is malformed, or asks for no GPU. 404: no pending pod
  /// has this name. 503: Snug is not ready, or another defrag request is running.
  [[nodiscard]] Reply defrag(const RepackQuery& query);

 private:
  [[nodiscard]] Reply defrag_for(const PodInfoPtr& pod);

  AdminParts parts_;
  /// A random name of this object, in the versions of nodes_since().
  const std::string instance_;
  std::atomic<bool> defrag_runs_{false};
};

}  // namespace snug::service
