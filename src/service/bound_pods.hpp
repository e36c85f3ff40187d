// Adds the pods that the API server shows as bound to the ledger, with the holdings that their
// reservations state. Reports reservations that are missing, malformed or edited.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

#include "snug/base/limits.hpp"
#include "snug/base/mutex.hpp"
#include "snug/ledger/ledger.hpp"
#include "snug/service/bound_holding.hpp"
#include "snug/service/pod_info.hpp"
#include "snug/service/ports.hpp"
#include "snug/service/readiness.hpp"

namespace snug::service {

struct BoundPodsParts {
  ledger::Ledger& ledger;
  const Readiness& readiness;
  ApiPort& api;
  Metrics& metrics;
  Log& log;
};

/// Reports at most one problem for each pod, and only while this Snug leads. Thread-safe.
class BoundPods {
 public:
  BoundPods(BoundPodsParts parts, const base::Limits& limits) : parts_(parts), limits_(limits) {}

  enum class ShownBy : std::uint8_t { kWatch, kGet };
  /// Adds a bound pod to the ledger, or updates it there.
  void apply(const PodInfo& pod, ShownBy shown_by);
  /// Returns the holding of a bound pod of a list. The caller applies the whole list to the ledger.
  [[nodiscard]] model::HoldingPtr read(const PodInfo& pod);
  /// Reports that the pod's reservation was edited, or was added by hand.
  void report_edit(const PodInfo& pod);
  void forget(std::string_view uid);

 private:
  [[nodiscard]] std::string_view describe_edit(const PodInfo& pod,
                                               const model::Holding& shown_holding) const;
  void report(const PodInfo& pod, std::string_view problem);

  BoundPodsParts parts_;
  const base::Limits limits_;
  base::Mutex mutex_;
  /// The uids of the pods whose problem was reported.
  std::unordered_set<std::string> reported_uids_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::service
