// Bound pods, as the API server shows them: what each holds, read from its reservation, goes to the
// ledger; a reservation that is missing, malformed or edited is reported.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

#include "snug/base/limits.hpp"
#include "snug/base/mutex.hpp"
#include "snug/ledger/ledger.hpp"
#include "snug/service/pod_info.hpp"
#include "snug/service/ports.hpp"
#include "snug/service/readiness.hpp"

namespace snug::service {

struct ParsedHolding {
  model::HoldingPtr holding;  // never null
  std::string problem;  // what is wrong with its reservation, or that it has none; empty: nothing
};

/// `pod` is bound. Its reservation counts if it names this pod and this node; the request
/// annotations of today never change it. A pod without a reservation counts by its nvidia.com/*
/// limits; if it asks by annotation it is unplaced. Every pod holds CPU and memory of its node.
[[nodiscard]] ParsedHolding read_holding(const PodInfo& pod, const base::Limits& limits);

struct BoundPodsParts {
  ledger::Ledger& ledger;
  const Readiness& readiness;
  ApiPort& api;
  Metrics& metrics;
  Log& log;
};

/// Reports one problem for each pod, and only while this Snug leads. Thread-safe.
class BoundPods {
 public:
  BoundPods(BoundPodsParts parts, const base::Limits& limits) : parts_(parts), limits_(limits) {}

  enum class ShownBy : std::uint8_t { kWatch, kGet };
  void apply(const PodInfo& pod, ShownBy source);
  /// For a list, which is applied as a whole: what the pod holds.
  [[nodiscard]] model::HoldingPtr read(const PodInfo& pod);
  /// The ledger has the pod's holding otherwise than the API server shows it now.
  void report_edit(const PodInfo& pod);
  void forget(std::string_view uid);

 private:
  [[nodiscard]] std::string_view describe_edit(const PodInfo& pod,
                                               const model::Holding& shown) const;
  void report(const PodInfo& pod, std::string_view problem);

  BoundPodsParts parts_;
  const base::Limits limits_;
  base::Mutex mutex_;
  std::unordered_set<std::string> reported_ SNUG_GUARDED_BY(mutex_);  // uids
};

}  // namespace snug::service
