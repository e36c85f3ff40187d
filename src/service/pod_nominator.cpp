#include "service/pod_nominator.hpp"

#include <memory>
#include <string>
#include <utility>

namespace snug::service {

model::NominationPtr PodNominator::nomination_of(const PodInfo& pod) {
  const model::PodFacts& facts = pod.facts;
  if (facts.nominated_node_name.empty() || facts.terminating || !pod.asks_for_gpus()) {
    return nullptr;
  }
  return std::make_shared<const model::Nomination>(
      model::Nomination{.name_space = facts.name_space,
                        .node = facts.nominated_node_name,
                        .rank = pod.rank,
                        .request = *pod.request,
                        .host = pod.host,
                        .mirrored = pod.mirrored});
}

void PodNominator::update(const PodInfo& pod) {
  model::NominationPtr nomination = nomination_of(pod);
  if (nomination == nullptr) {
    ledger_.end_nomination(pod.facts.uid);
  } else if (!ledger_.nominate(std::move(nomination))) {
    log_nominations_kept(NominationsKept::kSome);
  }
}

void PodNominator::replaced(std::size_t dropped_nominations) {
  log_nominations_kept(dropped_nominations > 0 ? NominationsKept::kSome : NominationsKept::kAll);
}

void PodNominator::log_nominations_kept(NominationsKept kept) {
  if (kept == std::exchange(logged_kept_, kept)) return;
  if (kept == NominationsKept::kAll) {
    log_.write(LogLevel::kInfo, "GPUs are kept free for every nominated pod again");
    return;
  }
  log_.write(LogLevel::kWarn, "for some nominated pods no GPU is kept free: there are more than " +
                                  std::to_string(max_nominations_));
}

}  // namespace snug::service
