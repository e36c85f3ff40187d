#include "sim/replay_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "snug/base/units.hpp"
#include "snug/demand/gpu_supply.hpp"
#include "snug/mig/card_catalog.hpp"
#include "snug/score/fragmentation.hpp"
#include "snug/sim/replay.hpp"

namespace snug::sim {
namespace {

constexpr std::size_t kChurnCurvePoints = 200;
constexpr int kTimeCurvePoints = 600;  // more, since most pods of a real trace may come late

std::optional<double> percent_of(std::int64_t part, std::int64_t all) {
  if (all == 0) return std::nullopt;
  return 100.0 * static_cast<double>(part) / static_cast<double>(all);
}

}  // namespace

ReplayMetrics::ReplayMetrics(const Trace& trace)
    : trace_(trace),
      capacity_milli_(base::kWholeGpu.value * trace.gpu_count()),
      churns_(trace.churns()) {
  report_.nodes = static_cast<std::int64_t>(trace.nodes.size());
  report_.gpus = trace.gpu_count();
  if (!trace.arrival_seconds.empty()) {
    report_.axes = CurveAxes::kUseByTime;
    sample_interval_ = std::max(trace.arrival_seconds.back() / kTimeCurvePoints, 1.0);
  } else if (churns_) {
    report_.axes = CurveAxes::kUseByArrivals;
  }
  times_.reserve(trace.arrivals.size());
  for (const TraceNode& node : trace.nodes) {
    if (node.mig_card == nullptr) continue;
    total_slices_ += std::int64_t{node.gpus} * node.mig_card->table->memory_slices;
  }
}

void ReplayMetrics::count_rejected(const TracePod& pod) {
  RejectedPods& rejected = report_.rejected;
  std::int64_t& kind = pod.gpus == 0                           ? rejected.cpu
                       : pod.gpus > 1                          ? rejected.multi
                       : pod.gpu_milli < base::kWholeGpu.value ? rejected.share
                                                               : rejected.one;
  ++kind;
}

void ReplayMetrics::pod_arrived(const TracePod& pod,
                                const std::optional<AllocatedAmounts>& allocated,
                                ledger::Ledger& ledger) {
  const bool placed = allocated.has_value();
  const auto arrival = static_cast<std::size_t>(report_.arrivals++);
  arrived_milli_ += pod.milli();
  requested_milli_ += pod.milli();
  if (placed) {
    used_milli_ += allocated->milli;
    slices_used_ += allocated->slices;
    ++report_.accepted;
  } else {
    count_rejected(pod);
  }
  count_slices(pod, placed, !churns_ || trace_.is_in_later_half(arrival));
  const std::int64_t level = std::llround(percent(arrived_milli_));
  if (!churns_) {
    if (level == 100) measure_level(at100_, ledger);
    if (level == 130) measure_level(at130_, ledger);
  } else if (trace_.is_in_later_half(arrival)) {
    count_later_half(pod, placed);
  }
  extend_curve(arrival, static_cast<double>(level));
}

void ReplayMetrics::extend_curve(std::size_t arrival, double level) {
  switch (report_.axes) {
    case CurveAxes::kUseByDemand:
      if (report_.curve.empty() || level > report_.curve.back().x) {
        add_curve_point(level);
      } else {
        report_.curve.back().y = percent(used_milli_);
        report_.reference.back().y = std::min(100.0, percent(arrived_milli_));
      }
      return;
    case CurveAxes::kUseByArrivals: {
      const std::size_t step = std::max<std::size_t>(1, trace_.arrivals.size() / kChurnCurvePoints);
      if (arrival % step == 0) add_curve_point(static_cast<double>(arrival));
      return;
    }
    case CurveAxes::kUseByTime:  // sample() extends it
    case CurveAxes::kFreeByPods:
      return;
  }
}

std::optional<double> ReplayMetrics::next_sample_until(double time) const {
  if (sample_interval_ <= 0) return std::nullopt;
  const double next = static_cast<double>(report_.curve.size()) * sample_interval_;
  return next <= time ? std::optional(next) : std::nullopt;
}

void ReplayMetrics::sample(double time) { add_curve_point(time); }

void ReplayMetrics::count_later_half(const TracePod& pod, bool placed) {
  allocation_.add(percent(used_milli_));
  ++later_half_.pods;
  later_half_.milli += pod.milli();
  later_half_.multi += pod.gpus > 1 ? 1 : 0;
  if (placed) {
    later_half_.milli_accepted += pod.milli();
    return;
  }
  ++later_half_.rejected;
  later_half_.multi_rejected += pod.gpus > 1 ? 1 : 0;
}

void ReplayMetrics::count_slices(const TracePod& pod, bool placed, bool counts) {
  if (!counts || total_slices_ == 0) return;
  slices_pct_.add(percent_of(slices_used_, total_slices_).value_or(0));
  if (pod.mig_slices == 0) return;
  constexpr int kMuch = 4;
  for (ProfilePods* pod_counts :
       {&profile_pods_, pod.mig_slices >= kMuch ? &large_profile_pods_ : nullptr}) {
    if (pod_counts == nullptr) continue;
    ++pod_counts->pods;
    pod_counts->rejected += placed ? 0 : 1;
  }
}

std::optional<MigReport> ReplayMetrics::mig_report() const {
  if (profile_pods_.pods == 0 || total_slices_ == 0) return std::nullopt;
  const double at_the_end = percent_of(slices_used_, total_slices_).value_or(0);
  return MigReport{
      .memory_slices_pct = churns_ ? slices_pct_.get().value_or(0) : at_the_end,
      .rejected_pct = percent_of(profile_pods_.rejected, profile_pods_.pods).value_or(0),
      .rejected_4_slices_or_more_pct =
          percent_of(large_profile_pods_.rejected, large_profile_pods_.pods)};
}

void ReplayMetrics::measure_level(DemandLevel& level, ledger::Ledger& ledger) {
  level.allocation.add(percent(used_milli_));
  level.fragmentation.add(fragmentation_pct(*ledger.snapshot()));
}

double ReplayMetrics::fragmentation_pct(const model::Snapshot& snapshot) {
  if (measured_states_.empty()) {
    typical_pods_ = typical_pods_of(trace_, demand::supply_of(snapshot));
    measured_states_.resize(snapshot.nodes.size());
    fragmentation_by_slot_.resize(snapshot.nodes.size());
  }
  double sum = 0;
  for (std::size_t slot = 0; slot < snapshot.nodes.size(); ++slot) {
    if (measured_states_[slot] != snapshot.nodes[slot]) {
      measured_states_[slot] = snapshot.nodes[slot];
      fragmentation_by_slot_[slot] =
          score::fragmentation(score::fragmentation_view(*measured_states_[slot]), typical_pods_);
    }
    sum += static_cast<double>(fragmentation_by_slot_[slot]) /
           static_cast<double>(model::kFixedPointOne);
  }
  return capacity_milli_ == 0 ? 0 : 100 * sum / static_cast<double>(capacity_milli_);
}

void ReplayMetrics::add_curve_point(double x) {
  report_.curve.push_back({x, percent(used_milli_)});
  report_.reference.push_back({x, std::min(100.0, percent(requested_milli_))});
}

SimulationReport ReplayMetrics::report() {
  SimulationReport report = report_;
  report.allocation = {at100_.allocation.get(), at130_.allocation.get()};
  report.fragmentation = {at100_.fragmentation.get(), at130_.fragmentation.get()};
  report.final_allocation = percent_of(used_milli_, capacity_milli_);
  if (later_half_.pods > 0) {
    report.churn = ChurnReport{
        .allocation_mean = allocation_.get().value_or(0),
        .gpu_accepted_pct = percent_of(later_half_.milli_accepted, later_half_.milli),
        .rejected_pct = percent_of(later_half_.rejected, later_half_.pods).value_or(0),
        .multi_rejected_pct = percent_of(later_half_.multi_rejected, later_half_.multi)};
  }
  report.mig = mig_report();
  std::tie(report.decision_us_p50, report.decision_us_p99) = times_.quantiles();
  return report;
}

}  // namespace snug::sim
