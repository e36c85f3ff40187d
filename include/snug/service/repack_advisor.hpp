// GET /v1/defrag: which few pods to move so that a request fits. Reads a snapshot, changes nothing.
// Thread-safe; one advice at a time, since each may take a core for some hundred milliseconds.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "snug/ledger/ledger.hpp"
#include "snug/model/node.hpp"
#include "snug/service/pending.hpp"
#include "snug/service/policy_store.hpp"
#include "snug/service/readiness.hpp"
#include "snug/service/reply.hpp"

namespace snug {

/// A pod that waits, by its name; or a request that nobody has made, as annotations would say it.
struct RepackQuestion {
  std::optional<std::string> name_space;  // of a stated request: nothing means `default`
  std::optional<std::string> pod;
  StringMap stated;  // gpu-fraction, gpu-memory…
};

class RepackAdvisor {
 public:
  /// All outlive it.
  RepackAdvisor(Ledger& ledger, const PendingPods& pending, const Readiness& readiness,
                const PolicyStore& policy)
      : ledger_(ledger), pending_(pending), readiness_(readiness), policy_(policy) {}

  /// 400: the question is malformed, or asks for no GPU. 404: no such pod waits. 503: not ready, or
  /// at work for somebody else.
  [[nodiscard]] Reply advise(const RepackQuestion& question);

 private:
  [[nodiscard]] Reply advise_on(const PodFacts& pod);

  Ledger& ledger_;
  const PendingPods& pending_;
  const Readiness& readiness_;
  const PolicyStore& policy_;
  std::mutex at_work_;
};

}  // namespace snug
