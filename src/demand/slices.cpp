#include "demand/slices.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>

#include "snug/mig/choose.hpp"
#include "snug/mig/layouts.hpp"

namespace snug {
namespace {

constexpr double kEighths = 8;

// Found with the arrivals of bench/packing and others made like them (docs/packing.md).
constexpr double kFewCards = 0.65;
constexpr double kMostPatienceInChurn = 0.9;
constexpr double kRooms = 0.4;
constexpr double kFadePerEighth = 0.6;
constexpr double kTaken = 0.06;
/// So many slices of each plain profile are thought to have come before all others.
constexpr double kSlicesBeforeAll = 1;
/// When so many have come, they say enough; where cards are few, that takes more.
constexpr double kEnoughSlices = 20;

std::vector<AxisMask> cells_of(const MigTable& table) {
  std::set<int> ends{0, table.axis};
  for (const MigPlacement& slice : placements(table)) {
    ends.insert(slice.start);
    ends.insert(slice.start + table.profiles[slice.profile].size);
  }
  std::vector<AxisMask> cells;
  for (auto begin = ends.begin(), end = std::next(begin); end != ends.end(); ++begin, ++end) {
    cells.push_back(axis_range(*begin, *end - *begin));
  }
  return cells;
}

/// A card's states: which of its cells are taken, as bits.
class Card {
 public:
  explicit Card(const SliceDemand& demand)
      : demand_(demand), table_(*demand.table), cells_(cells_of(table_)) {
    if (cells_.size() > SliceWorth::kMostCells) return;
    rooms_.resize(table_.profiles.size());
    for (std::size_t p = 0; p < rooms_.size(); ++p) mean_size_ += demand_.part[p] * size(p);
    for (const MigPlacement& slice : placements(table_)) {
      rooms_[slice.profile].push_back(state_of(slice.range(table_)));
    }
  }

  [[nodiscard]] bool few_cells() const { return cells_.size() <= SliceWorth::kMostCells; }
  [[nodiscard]] const std::vector<AxisMask>& cells() const { return cells_; }
  [[nodiscard]] std::size_t states() const { return std::size_t{1} << cells_.size(); }

  [[nodiscard]] double taken(std::size_t state) const {
    double slices = 0;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if ((state >> i & 1U) != 0) slices += std::popcount(cells_[i]);
    }
    return in_eighths(slices);
  }

  /// openness(), as a part of an empty card's.
  [[nodiscard]] double open(std::size_t state) const {
    AxisMask taken = 0;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if ((state >> i & 1U) != 0) taken |= cells_[i];
    }
    const auto all = static_cast<double>(std::max<std::int64_t>(1, openness(table_, {})));
    return kEighths * static_cast<double>(openness(table_, {taken, {}})) / all;
  }

  /// From full to empty: what a state can become comes before it.
  [[nodiscard]] std::vector<double> still_sold(double patience) const {
    std::vector<double> sold(states());
    std::vector<double> waits(rooms_.size());  // of each profile, if it has no room
    for (std::size_t p = 0; p < waits.size(); ++p) {
      waits[p] = patience * elsewhere(p) * demand_.part[p];
    }
    for (std::size_t state = states(); state-- > 0;) {
      double sum = 0;
      double waiting = 0;
      for (std::size_t p = 0; p < rooms_.size(); ++p) {
        double best = -1;
        for (const std::size_t room : rooms_[p]) {
          if ((state & room) == 0) best = std::max(best, size(p) + sold[state | room]);
        }
        if (best < 0) {
          waiting += waits[p];
        } else {
          sum += demand_.part[p] * best;
        }
      }
      sold[state] = sum > 0 ? sum / (1 - waiting) : 0;
    }
    return sold;
  }

  [[nodiscard]] std::vector<double> rooms(double fade) const {
    std::vector<double> worth(states());
    for (std::size_t p = 0; p < rooms_.size(); ++p) {
      if (demand_.part[p] <= 0) continue;
      const double weight = demand_.part[p] * size(p) * size(p) / mean_size_;
      for (std::size_t state = 0; state < states(); ++state) {
        worth[state] += weight * faded(p, state, fade);
      }
    }
    return worth;
  }

 private:
  [[nodiscard]] double in_eighths(double slices) const { return kEighths * slices / table_.axis; }
  [[nodiscard]] double size(std::size_t profile) const {
    return in_eighths(table_.profiles[profile].size);
  }

  /// The part of the pods without room here for which other cards have some: less than 1 where more
  /// of the profile is asked for than all cards can have.
  [[nodiscard]] double elsewhere(std::size_t profile) const {
    const double asked = kEighths * demand_.part[profile] / mean_size_;  // in the time of one card
    const double had = std::min(1.0, most_slices(table_, profile) / std::max(asked, 1e-9));
    return had * had;
  }

  [[nodiscard]] std::size_t state_of(AxisMask range) const {
    std::size_t state = 0;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if ((cells_[i] & range) != 0) state |= std::size_t{1} << i;
    }
    return state;
  }

  /// The sum over the 1st, 2nd, ... room of a profile at once. The least that must come free for so
  /// many, of the rooms up to each one, by dynamic programming.
  [[nodiscard]] double faded(std::size_t profile, std::size_t state, double fade) const {
    const std::vector<std::size_t>& rooms = rooms_[profile];
    constexpr double kNever = 1e9;
    constexpr std::size_t kMost = SliceWorth::kMostCells;  // rooms begin in different cells
    std::array<std::array<double, kMost + 1>, kMost + 1> least{};
    for (auto& row : least) row.fill(kNever);
    least[0][0] = 0;
    for (std::size_t i = 1; i <= rooms.size(); ++i) {
      std::size_t before = i - 1;  // rooms that end where this one begins, or sooner
      while (before > 0 && (rooms[before - 1] & rooms[i - 1]) != 0) --before;
      const double freed = taken(state & rooms[i - 1]);
      least[i][0] = 0;
      for (std::size_t n = 1; n <= i; ++n) {
        least[i][n] = std::min(least[i - 1][n], least[before][n - 1] + freed);
      }
    }
    double sum = 0;
    for (std::size_t n = 1; n <= rooms.size() && least[rooms.size()][n] < kNever; ++n) {
      sum += std::pow(fade, least[rooms.size()][n]);
    }
    return sum;
  }

  const SliceDemand& demand_;
  const MigTable& table_;
  std::vector<AxisMask> cells_;
  double mean_size_ = 0;
  std::vector<std::vector<std::size_t>> rooms_;  // of each profile, by starts: the cells it takes
};

SliceDemand demand_for(const ShapeCounts& pods, const MigTableRef& table, std::int64_t cards) {
  SliceDemand demand{.table = table.pointer(), .part = {}};
  demand.patience = 1 - std::pow(static_cast<double>(cards + 1), -kFewCards);
  for (const MigProfile& profile : table->profiles) {
    demand.part.push_back(profile.plain() ? kSlicesBeforeAll : 0);
  }
  for (const auto& [shape, count] : pods) {
    const std::optional<SliceNeed> need = slice_need(shape);
    const auto profile = need ? smallest_profile(*table, *need) : std::nullopt;
    if (!profile) continue;
    const std::int64_t each = shape.slices > 0 ? shape.slices : shape.gpus;
    demand.part[*profile] += count * static_cast<double>(each);
  }
  const double all = std::accumulate(demand.part.begin(), demand.part.end(), 0.0);
  demand.doubt = std::max(0.0, 1 - demand.patience * all / kEnoughSlices);
  for (double& part : demand.part) part = all > 0 ? part / all : 0;
  return demand;
}

}  // namespace

std::optional<SliceNeed> slice_need(const PodShape& shape) {
  if (shape.slices > 0) return SliceNeed{.profile = shape.mig_profile};
  if (shape.gpus == 0) return std::nullopt;
  if (shape.gpu_memory.value > 0) return SliceNeed{.memory = shape.gpu_memory};
  if (shape.gpu_milli >= kWholeGpu.value) return std::nullopt;
  return SliceNeed{.thousandths = static_cast<int>(shape.gpu_milli)};
}

std::vector<SliceDemand> slice_demand(const ShapeCounts& pods, const Supply& supply) {
  std::vector<SliceDemand> demands;
  if (supply.mig_tables == nullptr) return demands;
  demands.resize(1);
  for (std::size_t i = 1; i < supply.mig_tables->size(); ++i) {
    const std::int64_t cards = supply.by_mig_table[i];
    demands.push_back(cards > 0 ? demand_for(pods, (*supply.mig_tables)[i], cards) : SliceDemand{});
  }
  return demands;
}

SliceWorth slice_worth(const SliceDemand& demand, bool churns) {
  if (demand.table == nullptr) return {};
  const Card card(demand);
  if (!card.few_cells()) return {};
  const std::vector<double> sold =
      card.still_sold(churns ? std::min(demand.patience, kMostPatienceInChurn) : demand.patience);
  const std::vector<double> rooms =
      churns ? card.rooms(kFadePerEighth) : std::vector<double>(card.states());
  SliceWorth worth{.cells = card.cells(), .worth = {}};
  for (std::size_t state = 0; state < card.states(); ++state) {
    const double taken = card.taken(state);
    const double kept = churns ? kRooms * rooms[state] + kTaken * taken * taken : 0;
    const double known = sold[state] + kept;
    const double eighths = demand.doubt * card.open(state) + (1 - demand.doubt) * known;
    worth.worth.push_back(static_cast<std::int32_t>(std::lround(1e6 * eighths / kEighths)));
  }
  return worth;
}

}  // namespace snug
