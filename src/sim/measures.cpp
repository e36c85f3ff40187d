#include "sim/measures.hpp"

#include <algorithm>
#include <cmath>

#include "snug/base/units.hpp"
#include "snug/demand/supply.hpp"
#include "snug/mig/catalog.hpp"
#include "snug/score/fragmentation.hpp"
#include "snug/sim/replay.hpp"

namespace snug {
namespace {

constexpr std::size_t kChurnCurvePoints = 200;

double microseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

/// Of the sorted times the one that `part` of them do not exceed.
double quantile(const std::vector<std::chrono::nanoseconds>& sorted, double part) {
  if (sorted.empty()) return 0;
  const auto at = static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1));
  return microseconds(sorted[at]);
}

std::optional<double> percent_of(std::int64_t part, std::int64_t all) {
  if (all == 0) return std::nullopt;
  return 100.0 * static_cast<double>(part) / static_cast<double>(all);
}

}  // namespace

Measures::Measures(const Trace& trace)
    : trace_(trace), capacity_(kWholeGpu.value * trace.gpu_count()), churns_(trace.churns()) {
  report_.nodes = static_cast<std::int64_t>(trace.nodes.size());
  report_.gpus = trace.gpu_count();
  took_.reserve(trace.arrivals.size());
  for (const TraceNode& node : trace.nodes) {
    if (node.mig_card == nullptr) continue;
    slices_ += std::int64_t{node.gpus} * node.mig_card->table->axis;
  }
}

void Measures::count_rejected(const TracePod& pod) {
  RejectedPods& rejected = report_.rejected;
  std::int64_t& kind = pod.gpus == 0                     ? rejected.cpu
                       : pod.gpus > 1                    ? rejected.multi
                       : pod.gpu_milli < kWholeGpu.value ? rejected.share
                                                         : rejected.one;
  ++kind;
}

void Measures::arrived(const TracePod& pod, const std::optional<GivenParts>& given,
                       Ledger& ledger) {
  const bool placed = given.has_value();
  const auto number = static_cast<std::size_t>(report_.arrivals++);
  arrived_ += pod.milli();
  if (placed) {
    used_ += given->milli;
    slices_used_ += given->slices;
    ++report_.accepted;
  } else {
    count_rejected(pod);
  }
  count_slices(pod, placed, !churns_ || trace_.is_late(number));
  if (churns_) {
    if (trace_.is_late(number)) count_late(pod, placed);
    const std::size_t step = std::max<std::size_t>(1, trace_.arrivals.size() / kChurnCurvePoints);
    if (number % step == 0) draw(percent(arrived_));
    return;
  }
  const std::int64_t level = std::llround(percent(arrived_));
  if (level == 100) measure_level(at100_, ledger);
  if (level == 130) measure_level(at130_, ledger);
  if (report_.curve.empty() || static_cast<double>(level) > report_.curve.back().x) {
    draw(static_cast<double>(level));
  } else {
    report_.curve.back().allocation_pct = percent(used_);
  }
}

void Measures::count_late(const TracePod& pod, bool placed) {
  allocation_.add(percent(used_));
  ++late_.pods;
  late_.milli += pod.milli();
  late_.multi += pod.gpus > 1 ? 1 : 0;
  if (placed) {
    late_.milli_accepted += pod.milli();
    return;
  }
  ++late_.rejected;
  late_.multi_rejected += pod.gpus > 1 ? 1 : 0;
}

void Measures::count_slices(const TracePod& pod, bool placed, bool counts) {
  if (!counts || slices_ == 0) return;
  slices_pct_.add(percent_of(slices_used_, slices_).value_or(0));
  if (pod.mig_slices == 0) return;
  constexpr int kMuch = 4;
  for (Asked* asked : {&asked_, pod.mig_slices >= kMuch ? &asked_much_ : nullptr}) {
    if (asked == nullptr) continue;
    ++asked->pods;
    asked->rejected += placed ? 0 : 1;
  }
}

std::optional<MigReport> Measures::mig_report() const {
  if (asked_.pods == 0 || slices_ == 0) return std::nullopt;
  const double at_the_end = percent_of(slices_used_, slices_).value_or(0);
  return MigReport{
      .memory_slices_pct = churns_ ? slices_pct_.get().value_or(0) : at_the_end,
      .rejected_pct = percent_of(asked_.rejected, asked_.pods).value_or(0),
      .rejected_4_slices_or_more_pct = percent_of(asked_much_.rejected, asked_much_.pods)};
}

void Measures::measure_level(Level& level, Ledger& ledger) {
  level.allocation.add(percent(used_));
  level.fragmentation.add(fragmented(*ledger.snapshot()));
}

double Measures::fragmented(const Snapshot& snapshot) {
  if (known_.empty()) {
    typical_ = typical_of(trace_, supply_of(snapshot));
    known_.resize(snapshot.nodes.size());
    fragment_.resize(snapshot.nodes.size());
  }
  double sum = 0;
  for (std::size_t slot = 0; slot < snapshot.nodes.size(); ++slot) {
    if (known_[slot] != snapshot.nodes[slot]) {
      known_[slot] = snapshot.nodes[slot];
      fragment_[slot] = fragmentation(fragmentation_view(*known_[slot]), typical_);
    }
    sum += static_cast<double>(fragment_[slot]) / static_cast<double>(kOne);
  }
  return capacity_ == 0 ? 0 : 100 * sum / static_cast<double>(capacity_);
}

void Measures::draw(double x) { report_.curve.push_back({x, percent(used_)}); }

SimulationReport Measures::report() {
  SimulationReport report = report_;
  report.allocation = {at100_.allocation.get(), at130_.allocation.get()};
  report.fragmentation = {at100_.fragmentation.get(), at130_.fragmentation.get()};
  report.final_allocation = percent_of(used_, capacity_);
  if (late_.pods > 0) {
    report.churn = ChurnReport{.allocation_mean = allocation_.get().value_or(0),
                               .gpu_accepted_pct = percent_of(late_.milli_accepted, late_.milli),
                               .rejected_pct = percent_of(late_.rejected, late_.pods).value_or(0),
                               .multi_rejected_pct = percent_of(late_.multi_rejected, late_.multi)};
  }
  report.mig = mig_report();
  std::ranges::sort(took_);
  report.decision_us_p50 = quantile(took_, 0.5);
  report.decision_us_p99 = quantile(took_, 0.99);
  return report;
}

}  // namespace snug
