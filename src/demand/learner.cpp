#include "snug/demand/learner.hpp"

#include <algorithm>
#include <cmath>

#include "snug/base/limits.hpp"

namespace snug {
namespace {

/// Over so many arrivals the means of what comes and what goes are taken.
constexpr std::int64_t kWindow = 1'000;
/// Where this part of what comes is leaving, the cluster churns in full: a cluster that fills up is
/// far below it, one in balance at 1.
constexpr double kFullChurnRatio = 0.2;
/// A pod that so many have passed, which came after it and were placed before it, counts as
/// refused.
constexpr int kRefusedAfter = 16;
/// Where this part of what single GPUs and shares come to is refused, the cluster is saturated in
/// full.
constexpr double kFullSaturationRatio = 0.02;
/// Builds come at each doubling of the pods counted, and after so many.
constexpr std::int64_t kBuildAfter = 2'048;

double window(std::int64_t arrivals) {
  return static_cast<double>(std::clamp<std::int64_t>(arrivals, 1, kWindow));
}

}  // namespace

void DemandLearner::Steps::follow(double part) {
  constexpr double kStays = 0.75;
  const double exact = std::min(part, 1.0) * most_;
  if (std::abs(exact - at_) > kStays) at_ = static_cast<int>(std::lround(exact));
}

void DemandLearner::forget_the_rarest() {
  while (pods_.size() >= kMostShapes) {
    for (auto& [known, pods] : pods_) pods /= 2;
    std::erase_if(pods_, [](const auto& row) { return row.second < 1; });
  }
}

void DemandLearner::count(const PodShape& shape) {
  if (!pods_.contains(shape)) forget_the_rarest();
  pods_[shape] += 1;
  ++counted_;
}

void DemandLearner::know(std::string_view uid, const PodShape& shape) {
  living_.emplace(uid, Living{.asks = {.gpus = shape.gpus,
                                       .gpu_milli = shape.gpu_milli,
                                       .gpu_memory = shape.gpu_memory,
                                       .mig_profile = shape.mig_profile,
                                       .slices = shape.slices}});
}

void DemandLearner::was_there(std::string_view uid, const PodShape& shape) {
  if (!shape.asks() || knows(uid)) return;
  know(uid, shape);
  count(shape);
}

void DemandLearner::arrived(std::string_view uid, const PodShape& shape, const Supply& supply) {
  if (!shape.asks() || knows(uid)) return;
  know(uid, shape);
  if (!supply.may_hold(shape)) return;
  count(shape);
  ++arrivals_;
  const double milli = static_cast<double>(supply.milli(shape));
  arriving_ += (milli - arriving_) / window(arrivals_);
  leaving_ -= leaving_ / window(arrivals_);
  follow_leaving();
  if (shape.gpus + shape.slices == 1) wait(uid, milli);
}

void DemandLearner::judge(double milli, bool refused) {
  judged_ += (milli - judged_) / window(arrivals_);
  refused_ += ((refused ? milli : 0) - refused_) / window(arrivals_);
  saturation_.follow(judged_ > 0 ? refused_ / judged_ / kFullSaturationRatio : 0);
}

void DemandLearner::follow_leaving() {
  churn_.follow(arriving_ > 0 ? leaving_ / arriving_ / kFullChurnRatio : 0);
}

void DemandLearner::wait(std::string_view uid, double milli) {
  if (waiting_.size() >= kMostWaiting) waiting_.pop_front();
  waiting_.push_back({std::string(uid), milli});
}

/// All that came before it and still wait have been passed once more.
void DemandLearner::end_wait(std::string_view uid) {
  const auto placed = std::ranges::find(waiting_, uid, &Waiting::uid);
  if (placed == waiting_.end()) return;
  judge(placed->milli, false);
  for (auto before = waiting_.begin(); before != placed; ++before) ++before->passed;
  waiting_.erase(placed);
  while (!waiting_.empty() && waiting_.front().passed >= kRefusedAfter) {
    judge(waiting_.front().milli, true);
    waiting_.pop_front();
  }
}

void DemandLearner::placed(std::string_view uid) {
  const auto found = living_.find(uid);
  if (found == living_.end() || found->second.placed) return;
  found->second.placed = true;
  end_wait(uid);
}

void DemandLearner::gone(std::string_view uid, const Supply& supply) {
  const auto found = living_.find(uid);
  if (found == living_.end()) return;
  if (found->second.placed) {
    const std::int64_t milli = supply.milli(found->second.asks);
    // However much leaves at once, it counts no more than a full balance, and fades with what
    // comes.
    leaving_ = std::min(leaving_ + static_cast<double>(milli) / window(arrivals_),
                        std::max(arriving_, 1.0));
    follow_leaving();
  }
  living_.erase(found);
}

void DemandLearner::keep_only(const std::unordered_set<std::string_view>& living,
                              const Supply& supply) {
  std::vector<std::string> left;
  for (const auto& [uid, pod] : living_) {
    if (!living.contains(uid)) left.push_back(uid);
  }
  std::ranges::sort(left);  // sums of rounded numbers depend on their order
  for (const std::string& uid : left) gone(uid, supply);
}

Demand DemandLearner::demand() const {
  Demand demand = tables_.at(churn());
  demand.saturation = saturation();
  return demand;
}

bool DemandLearner::tables_due() const { return counted_ >= next_build_; }

void DemandLearner::build_tables(const Supply& supply) {
  const double doubt = doubt_after(static_cast<double>(counted_));
  ShapeCounts all = pods_;
  std::erase_if(all, [&](const auto& row) { return !supply.may_hold(row.first); });
  for (const auto& [shape, pods] : pods_before_all(supply)) all[shape] += doubt * pods;
  tables_ = DemandTables(all, supply, doubt);
  next_build_ =
      counted_ < kBuildAfter ? std::max<std::int64_t>(1, 2 * counted_) : counted_ + kBuildAfter;
}

}  // namespace snug
