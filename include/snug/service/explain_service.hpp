// The use case behind GET /v1/explain: why a pod is pending, or why it is where it is. Reads a
// snapshot and the tables of pods, and changes nothing. For a bound pod whose decision Snug no
// longer remembers, it reads the pod from the API server.
//
// Thread-safe. One explanation is computed at a time, since each may keep a core busy for some ten
// milliseconds; others wait.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "snug/base/mutex.hpp"
#include "snug/codec/explain_codec.hpp"
#include "snug/ledger/ledger.hpp"
#include "snug/service/pending_pods.hpp"
#include "snug/service/placement_log.hpp"
#include "snug/service/policy_store.hpp"
#include "snug/service/ports.hpp"
#include "snug/service/readiness.hpp"
#include "snug/service/service_options.hpp"

namespace snug::service {

/// Exactly one of `pod` and `manifest` must be given.
struct ExplainQuery {
  std::optional<std::string> name_space;  // the pod's namespace; nullopt: `default`
  std::optional<std::string> pod;
  std::optional<std::string> manifest;  // a pod that need not exist, in JSON
  bool per_node = false;                // whether the reply has the reason of every node
  bool own_pods_only = false;           // whether the reply must not show other pods, nor nodes
};

/// The objects that ExplainService uses. They must outlive it.
struct ExplainParts {
  ledger::Ledger& ledger;
  const PendingPods& pending;
  const Readiness& readiness;
  const PolicyStore& policy;
  const PlacementLog& placements;
  ApiPort& api;
};

class ExplainService {
 public:
  ExplainService(ExplainParts parts, ServiceOptions options)
      : parts_(parts), options_(std::move(options)) {}

  /// Answers GET /v1/explain. 400: the query or the manifest is malformed. 404: no pod of this name
  /// is pending or holds GPUs. 503: Snug is not ready, or busy with other
  /// explanations.
  [[nodiscard]] Reply explain(const ExplainQuery& query);

  /// Why no node takes the pod, which asks for GPUs, and what would help: a sentence for an event.
  /// `refusal`: the reason that filter gave. `offered`: the nodes that it gave it for; null: all.
  [[nodiscard]] std::string refusal_sentence(const PodInfoPtr& pod, const model::Refusal& refusal,
                                             const OfferedNodesPtr& offered);

 private:
  [[nodiscard]] Reply explain_pod(const std::string& name, const ExplainQuery& query);
  [[nodiscard]] Reply explain_manifest(const std::string& manifest, const ExplainQuery& query);
  void explain_unbound(const PodInfoPtr& pod, bool per_node, codec::ExplainReply& reply);
  void explain_claim(const PodClaim& claim, const model::Snapshot& snapshot, bool per_node,
                     codec::ExplainReply& reply);
  void explain_held(const ledger::LedgerEntry& entry, codec::ExplainReply& reply);
  [[nodiscard]] std::vector<std::string> notes_for(const model::PodFacts& pod,
                                                   const explain::Explanation& explanation) const;

  ExplainParts parts_;
  const ServiceOptions options_;
  base::Mutex mutex_;                 // held during a computation
  std::atomic<int> explanations_{0};  // calls of explain() now
};

}  // namespace snug::service
