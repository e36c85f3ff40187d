#include "demand/slice_value.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>

#include "snug/demand/fitted.hpp"
#include "snug/mig/layouts.hpp"
#include "snug/mig/profile_choice.hpp"

namespace snug::demand {
namespace {

constexpr double kEighths = 8;

/// Computes SliceValueTable::cells of the card.
std::vector<model::AxisMask> cells_of(const model::MigTable& table) {
  std::set<int> ends{0, table.memory_slices};
  for (const model::MigPlacement& slice : mig::all_placements(table)) {
    ends.insert(slice.start);
    ends.insert(slice.start + table.profiles[slice.profile].size);
  }
  std::vector<model::AxisMask> cells;
  for (auto begin = ends.begin(), end = std::next(begin); end != ends.end(); ++begin, ++end) {
    cells.push_back(model::axis_range(*begin, *end - *begin));
  }
  return cells;
}

/// Computes the functions of slice_value.hpp for the states of a card. Bit i of a state is set if
/// cell i is taken.
class CardStates {
 public:
  explicit CardStates(const SliceDemand& demand)
      : demand_(demand), table_(*demand.table), cells_(cells_of(table_)) {
    if (cells_.size() > model::SliceValueTable::kMaxCells) return;
    starts_.resize(table_.profiles.size());
    for (std::size_t p = 0; p < starts_.size(); ++p)
      mean_size_ += demand_.share_by_profile[p] * profile_eighths(p);
    for (const model::MigPlacement& slice : mig::all_placements(table_)) {
      starts_[slice.profile].push_back(state_of(slice.range(table_)));
    }
  }

  [[nodiscard]] bool has_few_cells() const {
    return cells_.size() <= model::SliceValueTable::kMaxCells;
  }
  [[nodiscard]] const std::vector<model::AxisMask>& cells() const { return cells_; }
  [[nodiscard]] std::size_t states() const { return std::size_t{1} << cells_.size(); }

  /// Returns T(s), the taken eighths of the card.
  [[nodiscard]] double taken_eighths(std::size_t state) const {
    double slices = 0;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if ((state >> i & 1U) != 0) slices += std::popcount(cells_[i]);
    }
    return in_eighths(slices);
  }

  /// Returns prior(s), a measure of the placements that are still possible.
  [[nodiscard]] double prior(std::size_t state) const {
    model::AxisMask taken = 0;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if ((state >> i & 1U) != 0) taken |= cells_[i];
    }
    const auto slices_if_empty =
        static_cast<double>(std::max<std::int64_t>(1, mig::free_placement_slices(table_, {})));
    return kEighths * static_cast<double>(mig::free_placement_slices(table_, {taken, {}})) /
           slices_if_empty;
  }

  /// Computes V(s) for all states. It starts with the full card, because V(s) depends on states
  /// with more taken cells.
  [[nodiscard]] std::vector<double> expected_sold(double other_card) const {
    std::vector<double> sold(states());
    // The probability d_p * f_p that a pod requests profile p and another card has a place for it.
    std::vector<double> passes(starts_.size());
    for (std::size_t p = 0; p < passes.size(); ++p) {
      passes[p] = other_card * available_part(p) * demand_.share_by_profile[p];
    }
    for (std::size_t state = states(); state-- > 0;) {
      double sold_eighths = 0;
      double passing = 0;
      for (std::size_t p = 0; p < starts_.size(); ++p) {
        double best_sold = -1;
        for (const std::size_t slice_cells : starts_[p]) {
          if ((state & slice_cells) == 0)
            best_sold = std::max(best_sold, profile_eighths(p) + sold[state | slice_cells]);
        }
        if (best_sold < 0) {
          passing += passes[p];
        } else {
          sold_eighths += demand_.share_by_profile[p] * best_sold;
        }
      }
      sold[state] = sold_eighths > 0 ? sold_eighths / (1 - passing) : 0;
    }
    return sold;
  }

  /// Computes the headroom P(s) for all states.
  [[nodiscard]] std::vector<double> headroom() const {
    std::vector<double> headroom_by_state(states());
    for (std::size_t p = 0; p < starts_.size(); ++p) {
      if (demand_.share_by_profile[p] <= 0) continue;
      const double weight =
          demand_.share_by_profile[p] * profile_eighths(p) * profile_eighths(p) / mean_size_;
      for (std::size_t state = 0; state < states(); ++state) {
        headroom_by_state[state] += weight * discounted_headroom(p, state);
      }
    }
    return headroom_by_state;
  }

 private:
  [[nodiscard]] double in_eighths(double slices) const {
    return kEighths * slices / table_.memory_slices;
  }
  [[nodiscard]] double profile_eighths(std::size_t profile) const {
    return in_eighths(table_.profiles[profile].size);
  }

  /// Returns min(1, m_p / a_p)^2, the factor of d in d_p.
  [[nodiscard]] double available_part(std::size_t profile) const {
    const double slices_per_card = kEighths * demand_.share_by_profile[profile] / mean_size_;
    const double available =
        std::min(1.0, mig::max_slices(table_, profile) / std::max(slices_per_card, 1e-9));
    return available * available;
  }

  [[nodiscard]] std::size_t state_of(model::AxisMask range) const {
    std::size_t state = 0;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if ((cells_[i] & range) != 0) state |= std::size_t{1} << i;
    }
    return state;
  }

  /// Returns the inner sum of P(s), the one over j. eighths_to_free[i][n] is the smallest number of
  /// eighths that must become free before n slices of the profile fit at its first i starts.
  [[nodiscard]] double discounted_headroom(std::size_t profile, std::size_t state) const {
    const std::vector<std::size_t>& starts = starts_[profile];
    constexpr double kNever = 1e9;
    constexpr std::size_t kMost =
        model::SliceValueTable::kMaxCells;  // each cell has at most one of the starts
    std::array<std::array<double, kMost + 1>, kMost + 1> eighths_to_free{};
    for (auto& row : eighths_to_free) row.fill(kNever);
    eighths_to_free[0][0] = 0;
    for (std::size_t i = 1; i <= starts.size(); ++i) {
      std::size_t before = i - 1;  // number of starts whose slices end before this start
      while (before > 0 && (starts[before - 1] & starts[i - 1]) != 0) --before;
      const double freed = taken_eighths(state & starts[i - 1]);
      eighths_to_free[i][0] = 0;
      for (std::size_t n = 1; n <= i; ++n) {
        eighths_to_free[i][n] =
            std::min(eighths_to_free[i - 1][n], eighths_to_free[before][n - 1] + freed);
      }
    }
    double headroom_sum = 0;
    for (std::size_t n = 1; n <= starts.size() && eighths_to_free[starts.size()][n] < kNever; ++n) {
      headroom_sum += std::pow(kHeadroomDiscount, eighths_to_free[starts.size()][n]);
    }
    return headroom_sum;
  }

  const SliceDemand& demand_;
  const model::MigTable& table_;
  std::vector<model::AxisMask> cells_;
  double mean_size_ = 0;
  std::vector<std::vector<std::size_t>> starts_;  // by profile: the cells of each placement
};

SliceDemand demand_for(const ShapeCounts& pods, const model::MigTableRef& table,
                       std::int64_t cards) {
  SliceDemand demand{.table = table.pointer(), .share_by_profile = {}};
  demand.other_card = 1 - std::pow(static_cast<double>(cards + 1), -kOtherCardExponent);
  for (const model::MigProfile& profile : table->profiles) {
    demand.share_by_profile.push_back(profile.is_plain() ? kPriorSlices : 0);
  }
  for (const auto& [shape, count] : pods) {
    const std::optional<mig::SliceRequirement> requirement = slice_requirement(shape);
    const auto profile = requirement ? mig::smallest_profile(*table, *requirement) : std::nullopt;
    if (!profile) continue;
    const std::int64_t slices_per_pod = shape.slice_count > 0 ? shape.slice_count : shape.gpus;
    demand.share_by_profile[*profile] += count * static_cast<double>(slices_per_pod);
  }
  const double all_slices =
      std::accumulate(demand.share_by_profile.begin(), demand.share_by_profile.end(), 0.0);
  demand.prior_weight = std::max(0.0, 1 - demand.other_card * all_slices / kEnoughSlices);
  for (double& share : demand.share_by_profile) share = all_slices > 0 ? share / all_slices : 0;
  return demand;
}

}  // namespace

std::optional<mig::SliceRequirement> slice_requirement(const PodShape& shape) {
  if (shape.slice_count > 0) return mig::SliceRequirement{.profile = shape.mig_profile};
  if (shape.gpus == 0) return std::nullopt;
  if (shape.gpu_memory.value > 0) return mig::SliceRequirement{.memory = shape.gpu_memory};
  if (shape.gpu_milli >= base::kWholeGpu.value) return std::nullopt;
  return mig::SliceRequirement{.thousandths = static_cast<int>(shape.gpu_milli)};
}

std::vector<SliceDemand> slice_demand(const ShapeCounts& pods, const Supply& supply) {
  std::vector<SliceDemand> demands;
  if (supply.mig_tables == nullptr) return demands;
  demands.resize(1);
  for (std::size_t i = 1; i < supply.mig_tables->size(); ++i) {
    const std::int64_t cards = supply.gpus_by_mig_table[i];
    demands.push_back(cards > 0 ? demand_for(pods, (*supply.mig_tables)[i], cards) : SliceDemand{});
  }
  return demands;
}

model::SliceValueTable make_slice_value_table(const SliceDemand& demand, Regime regime) {
  if (demand.table == nullptr) return {};
  const CardStates card(demand);
  if (!card.has_few_cells()) return {};
  const bool churns = regime == Regime::kChurning;
  const double other_card =
      churns ? std::min(demand.other_card, kMostOtherCardInChurn) : demand.other_card;
  const std::vector<double> sold = card.expected_sold(other_card);
  const std::vector<double> headroom =
      churns ? card.headroom() : std::vector<double>(card.states());
  model::SliceValueTable table{.cells = card.cells(), .value_by_state = {}};
  for (std::size_t state = 0; state < card.states(); ++state) {
    const double taken = card.taken_eighths(state);
    const double churn_eighths =
        churns ? kHeadroomWeight * headroom[state] + kDrainWeight * taken * taken : 0;
    const double learned_eighths = sold[state] + churn_eighths;
    const double eighths =
        demand.prior_weight * card.prior(state) + (1 - demand.prior_weight) * learned_eighths;
    table.value_by_state.push_back(
        static_cast<std::int32_t>(std::lround(1e6 * eighths / kEighths)));
  }
  return table;
}

}  // namespace snug::demand
