#include "snug/demand/demand_learner.hpp"

#include <algorithm>
#include <cmath>

#include "demand/prior.hpp"
#include "snug/base/limits.hpp"
#include "snug/demand/fitted.hpp"

namespace snug::demand {
namespace {

/// Returns the number of arrivals that a moving average covers. The latest arrival has the weight 1
/// / window_size(arrivals).
double window_size(std::int64_t arrivals) {
  return static_cast<double>(std::clamp<std::int64_t>(arrivals, 1, kRegimeWindow));
}

}  // namespace

void DemandLearner::HysteresisLevel::update(double ratio) {
  const double exact = std::min(ratio, 1.0) * max_level_;
  if (std::abs(exact - level_) > kRegimeHysteresis) level_ = static_cast<int>(std::lround(exact));
}

void DemandLearner::forget_rarest_shapes() {
  while (shape_counts_.size() >= base::kMaxPodShapes) {
    for (auto& [shape, pods] : shape_counts_) pods /= 2;
    std::erase_if(shape_counts_,
                  [](const auto& counted_shape) { return counted_shape.second < 1; });
  }
}

void DemandLearner::count_shape(const PodShape& shape) {
  if (!shape_counts_.contains(shape)) forget_rarest_shapes();
  shape_counts_[shape] += 1;
  ++counted_pods_;
}

void DemandLearner::add_live_pod(std::string_view uid, const PodShape& shape) {
  live_pods_.emplace(uid, LivePod{.requested_gpus = {.gpus = shape.gpus,
                                                     .gpu_milli = shape.gpu_milli,
                                                     .gpu_memory = shape.gpu_memory,
                                                     .mig_profile = shape.mig_profile,
                                                     .slice_count = shape.slice_count}});
}

void DemandLearner::pod_was_present(std::string_view uid, const PodShape& shape) {
  if (!shape.asks_for_gpus() || knows(uid)) return;
  add_live_pod(uid, shape);
  count_shape(shape);
}

void DemandLearner::pod_arrived(std::string_view uid, const PodShape& shape, const Supply& supply) {
  if (!shape.asks_for_gpus() || knows(uid)) return;
  add_live_pod(uid, shape);
  if (!supply.can_hold(shape)) return;
  count_shape(shape);
  ++arrivals_;
  const double milli = static_cast<double>(supply.total_milli(shape));
  arriving_milli_ += (milli - arriving_milli_) / window_size(arrivals_);
  leaving_milli_ -= leaving_milli_ / window_size(arrivals_);
  update_churn();
  if (shape.gpus + shape.slice_count == 1) start_waiting(uid, milli);
}

void DemandLearner::record_outcome(double milli, bool refused) {
  judged_milli_ += (milli - judged_milli_) / window_size(arrivals_);
  refused_milli_ += ((refused ? milli : 0) - refused_milli_) / window_size(arrivals_);
  saturation_.update(judged_milli_ > 0 ? refused_milli_ / judged_milli_ / kFullSaturationRatio : 0);
}

void DemandLearner::update_churn() {
  churn_.update(arriving_milli_ > 0 ? leaving_milli_ / arriving_milli_ / kFullChurnRatio : 0);
}

void DemandLearner::start_waiting(std::string_view uid, double milli) {
  if (waiting_.size() >= base::kMaxWaitingPods) waiting_.pop_front();
  waiting_.push_back({std::string(uid), milli});
}

/// Called when the pod has been placed. Records that it has overtaken all pods that arrived before
/// it and are still waiting.
void DemandLearner::stop_waiting(std::string_view uid) {
  const auto placed = std::ranges::find(waiting_, uid, &WaitingPod::uid);
  if (placed == waiting_.end()) return;
  record_outcome(placed->milli, false);
  for (auto overtaken_pod = waiting_.begin(); overtaken_pod != placed; ++overtaken_pod)
    ++overtaken_pod->overtaken_by;
  waiting_.erase(placed);
  while (!waiting_.empty() && waiting_.front().overtaken_by >= kOvertakersUntilRefused) {
    record_outcome(waiting_.front().milli, true);
    waiting_.pop_front();
  }
}

void DemandLearner::pod_placed(std::string_view uid) {
  const auto live_pod = live_pods_.find(uid);
  if (live_pod == live_pods_.end() || live_pod->second.placed) return;
  live_pod->second.placed = true;
  stop_waiting(uid);
}

void DemandLearner::pod_left(std::string_view uid, const Supply& supply) {
  const auto live_pod = live_pods_.find(uid);
  if (live_pod == live_pods_.end()) return;
  if (live_pod->second.placed) {
    const std::int64_t milli = supply.total_milli(live_pod->second.requested_gpus);
    // leaving_milli_ is limited to arriving_milli_. Without this limit, churn would stay high for
    // too long after very many pods have left at once.
    leaving_milli_ = std::min(leaving_milli_ + static_cast<double>(milli) / window_size(arrivals_),
                              std::max(arriving_milli_, 1.0));
    update_churn();
  }
  live_pods_.erase(live_pod);
}

void DemandLearner::retain(const std::unordered_set<std::string_view>& living,
                           const Supply& supply) {
  std::vector<std::string> ended_uids;
  for (const auto& [uid, pod] : live_pods_) {
    if (!living.contains(uid)) ended_uids.push_back(uid);
  }
  std::ranges::sort(ended_uids);  // since floating-point sums depend on the order
  for (const std::string& uid : ended_uids) pod_left(uid, supply);
}

model::Demand DemandLearner::demand() const {
  model::Demand demand = tables_.at_churn(churn());
  demand.saturation = saturation();
  return demand;
}

bool DemandLearner::tables_due() const { return counted_pods_ >= next_build_at_; }

void DemandLearner::build_tables(const Supply& supply) {
  const double weight = prior_weight_after(static_cast<double>(counted_pods_));
  ShapeCounts pods_with_prior = shape_counts_;
  std::erase_if(pods_with_prior,
                [&](const auto& counted_shape) { return !supply.can_hold(counted_shape.first); });
  for (const auto& [shape, pods] : prior_pods(supply)) pods_with_prior[shape] += weight * pods;
  tables_ = DemandTables(pods_with_prior, supply, weight);
  next_build_at_ = counted_pods_ < kPodsBetweenBuilds ? std::max<std::int64_t>(1, 2 * counted_pods_)
                                                      : counted_pods_ + kPodsBetweenBuilds;
}

}  // namespace snug::demand
