// Passes the nominations of unbound pods to the ledger. While an unbound pod has
// status.nominatedNodeName, the GPUs that it asks for are kept free for it on that node. Used by
// one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "snug/base/limits.hpp"
#include "snug/ledger/ledger.hpp"
#include "snug/service/pod_info.hpp"
#include "snug/service/ports.hpp"

namespace snug::service {

class PodNominator {
 public:
  PodNominator(ledger::Ledger& ledger, Log& log, const base::Limits& limits)
      : ledger_(ledger), log_(log), max_nominations_(limits.max_nominations) {}

  /// The nomination of an unbound pod. Null: it is not nominated, is being deleted, or asks for no
  /// GPU.
  [[nodiscard]] static model::NominationPtr nomination_of(const PodInfo& pod);

  /// Updates the nomination of an unbound pod that has changed.
  void update(const PodInfo& pod);
  /// Must be called after a list has replaced all nominations. `dropped_nominations` is the number
  /// of nominations that the ledger dropped.
  void replaced(std::size_t dropped_nominations);

 private:
  enum class NominationsKept : std::uint8_t { kAll, kSome };
  /// Logs a change of `kept`: whether GPUs are kept free for all nominated pods or only for some. A
  /// change back to kAll becomes known only with a list of pods.
  void log_nominations_kept(NominationsKept kept);

  ledger::Ledger& ledger_;
  Log& log_;
  const std::int64_t max_nominations_;
  NominationsKept logged_kept_ = NominationsKept::kAll;
};

}  // namespace snug::service
