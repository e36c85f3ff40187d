#include "demand/cutting_stock.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace snug::demand {
namespace {

constexpr std::size_t kGpuMilli = 1000;  // milli-GPU of a whole GPU
constexpr double kEpsilon = 1e-9;
/// The maximum number of pivots of the simplex method. It prevents an infinite loop, which rounding
/// errors could cause. A dozen sizes of shares need only a few dozen pivots.
constexpr int kMaxPivots = 2'000;

using Matrix = std::vector<std::vector<double>>;

/// Solves the linear program that minimizes the number of GPUs that all pods need together. The
/// program has one column for each cut of a GPU (see cutting_stock.hpp). The algorithm is the
/// revised simplex method with column generation.
class CuttingStock {
 public:
  explicit CuttingStock(const std::vector<ShareDemand>& demand)
      : demand_(demand),
        inverse_(demand.size(), std::vector<double>(demand.size(), 0)),
        gpus_(demand.size()),
        prices_(demand.size()) {
    // In the initial basis, each cut has only shares of one size.
    for (std::size_t i = 0; i < demand.size(); ++i) {
      const std::int64_t copies = static_cast<std::int64_t>(kGpuMilli) / demand[i].size;
      inverse_[i][i] = 1 / static_cast<double>(copies);
      gpus_[i] = demand[i].pods / static_cast<double>(copies);
    }
  }

  std::vector<double> solve() {
    for (int pivot = 0; pivot < kMaxPivots; ++pivot) {
      set_prices();
      const std::vector<double> cut = best_cut();
      if (cut.empty() || !enter_basis(cut)) break;
    }
    for (double& price : prices_) price = std::max(0.0, price);
    return std::move(prices_);
  }

 private:
  void set_prices() {
    for (std::size_t i = 0; i < prices_.size(); ++i) {
      prices_[i] = 0;
      for (const std::vector<double>& row : inverse_) prices_[i] += row[i];
    }
  }

  /// Returns the cut with the highest value at the current prices, as the number of shares of each
  /// size. Empty if no cut is worth more than 1 GPU; the prices are optimal then.
  [[nodiscard]] std::vector<double> best_cut() const {
    std::vector<double> cut_value(kGpuMilli + 1, 0);
    std::vector<std::size_t> last_share(kGpuMilli + 1, demand_.size());
    for (std::size_t free_milli = 1; free_milli <= kGpuMilli; ++free_milli) {
      cut_value[free_milli] = cut_value[free_milli - 1];
      for (std::size_t i = 0; i < demand_.size(); ++i) {
        const auto share_milli = static_cast<std::size_t>(demand_[i].size);
        if (share_milli > free_milli ||
            cut_value[free_milli - share_milli] + prices_[i] <= cut_value[free_milli] + kEpsilon)
          continue;
        cut_value[free_milli] = cut_value[free_milli - share_milli] + prices_[i];
        last_share[free_milli] = i;
      }
    }
    if (cut_value[kGpuMilli] <= 1 + 1e-7) return {};
    std::vector<double> cut(demand_.size(), 0);
    std::size_t free_milli = kGpuMilli;
    while (free_milli > 0) {
      const std::size_t i = last_share[free_milli];
      if (i == demand_.size()) {
        --free_milli;
      } else {
        cut[i] += 1;
        free_milli -= static_cast<std::size_t>(demand_[i].size);
      }
    }
    return cut;
  }

  /// Replaces a column of the basis by `cut`. False if there is no column to replace, which only
  /// rounding errors can cause.
  bool enter_basis(const std::vector<double>& cut) {
    const std::size_t rows = demand_.size();
    std::vector<double> entering_column(rows, 0);
    std::size_t leaving_row = rows;
    double least_gpus = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t k = 0; k < rows; ++k) entering_column[i] += inverse_[i][k] * cut[k];
      if (entering_column[i] <= kEpsilon) continue;
      const double ratio = gpus_[i] / entering_column[i];
      if (leaving_row != rows && ratio >= least_gpus - kEpsilon) continue;
      leaving_row = i;
      least_gpus = ratio;
    }
    if (leaving_row == rows) return false;
    for (std::size_t i = 0; i < rows; ++i) {
      if (i != leaving_row) gpus_[i] -= least_gpus * entering_column[i];
    }
    gpus_[leaving_row] = least_gpus;
    for (double& entry : inverse_[leaving_row]) entry /= entering_column[leaving_row];
    for (std::size_t i = 0; i < rows; ++i) {
      if (i == leaving_row) continue;
      for (std::size_t k = 0; k < rows; ++k)
        inverse_[i][k] -= entering_column[i] * inverse_[leaving_row][k];
    }
    return true;
  }

  const std::vector<ShareDemand>& demand_;
  Matrix inverse_;            // the inverse of the basis
  std::vector<double> gpus_;  // number of GPUs with each cut of the basis
  std::vector<double> prices_;
};

}  // namespace

std::vector<double> cutting_stock_prices(const std::vector<ShareDemand>& demand) {
  return CuttingStock(demand).solve();
}

std::vector<double> knapsack_values(const std::vector<ShareDemand>& demand,
                                    const std::vector<double>& prices) {
  std::vector<double> free_value(kGpuMilli + 1, 0);
  for (std::size_t free_milli = 1; free_milli <= kGpuMilli; ++free_milli) {
    free_value[free_milli] = free_value[free_milli - 1];
    for (std::size_t i = 0; i < demand.size(); ++i) {
      const auto share_milli = static_cast<std::size_t>(demand[i].size);
      if (share_milli <= free_milli)
        free_value[free_milli] =
            std::max(free_value[free_milli], free_value[free_milli - share_milli] + prices[i]);
    }
  }
  return free_value;
}

}  // namespace snug::demand
