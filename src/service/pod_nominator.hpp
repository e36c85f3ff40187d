// Nominated pods: while an unbound pod has status.nominatedNodeName, what it asks for is kept free
// for it on that node. Used by one thread.
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

  /// Null: the pod is not nominated, or asks for no GPU.
  [[nodiscard]] static model::NominationPtr nomination_of(const PodInfo& pod);

  /// An unbound pod has changed.
  void update(const PodInfo& pod);
  /// A list has replaced all nominations; for `not_kept` of them the ledger was full.
  void replaced(std::size_t not_kept);

 private:
  enum class Kept : std::uint8_t { kAll, kSome };
  /// Logs changes. Only a list can show that all nominations are kept again.
  void log_kept(Kept kept);

  ledger::Ledger& ledger_;
  Log& log_;
  const std::int64_t max_nominations_;
  Kept logged_ = Kept::kAll;
};

}  // namespace snug::service
