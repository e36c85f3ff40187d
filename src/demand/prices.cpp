#include "demand/prices.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace snug {
namespace {

constexpr std::size_t kGpu = 1000;  // milli
constexpr double kEpsilon = 1e-9;
/// A dozen sizes take some dozens; only speed depends on it, and rounding cannot make it endless.
constexpr int kMostPivots = 2'000;

using Matrix = std::vector<std::vector<double>>;

/// The linear program "fewest GPUs for all pods", a column for each way to cut a GPU, by the
/// revised simplex method.
class CuttingStock {
 public:
  explicit CuttingStock(const std::vector<ShareDemand>& demand)
      : demand_(demand),
        inverse_(demand.size(), std::vector<double>(demand.size(), 0)),
        gpus_(demand.size()),
        prices_(demand.size()) {
    // To begin with, each GPU is cut into shares of one size.
    for (std::size_t i = 0; i < demand.size(); ++i) {
      const std::int64_t copies = static_cast<std::int64_t>(kGpu) / demand[i].size;
      inverse_[i][i] = 1 / static_cast<double>(copies);
      gpus_[i] = demand[i].pods / static_cast<double>(copies);
    }
  }

  std::vector<double> solve() {
    for (int pivot = 0; pivot < kMostPivots; ++pivot) {
      set_prices();
      const std::vector<double> cut = best_cut();
      if (cut.empty() || !enter(cut)) break;
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

  /// How often each size stands in the most valuable cut; empty: none is worth more than a GPU.
  [[nodiscard]] std::vector<double> best_cut() const {
    std::vector<double> worth(kGpu + 1, 0);
    std::vector<std::size_t> last(kGpu + 1, demand_.size());
    for (std::size_t room = 1; room <= kGpu; ++room) {
      worth[room] = worth[room - 1];
      for (std::size_t i = 0; i < demand_.size(); ++i) {
        const auto size = static_cast<std::size_t>(demand_[i].size);
        if (size > room || worth[room - size] + prices_[i] <= worth[room] + kEpsilon) continue;
        worth[room] = worth[room - size] + prices_[i];
        last[room] = i;
      }
    }
    if (worth[kGpu] <= 1 + 1e-7) return {};
    std::vector<double> cut(demand_.size(), 0);
    std::size_t room = kGpu;
    while (room > 0) {
      const std::size_t i = last[room];
      if (i == demand_.size()) {
        --room;
      } else {
        cut[i] += 1;
        room -= static_cast<std::size_t>(demand_[i].size);
      }
    }
    return cut;
  }

  /// False: nothing would leave, which only rounding can cause.
  bool enter(const std::vector<double>& cut) {
    const std::size_t rows = demand_.size();
    std::vector<double> column(rows, 0);
    std::size_t leaves = rows;
    double least = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t k = 0; k < rows; ++k) column[i] += inverse_[i][k] * cut[k];
      if (column[i] <= kEpsilon) continue;
      const double ratio = gpus_[i] / column[i];
      if (leaves != rows && ratio >= least - kEpsilon) continue;
      leaves = i;
      least = ratio;
    }
    if (leaves == rows) return false;
    for (std::size_t i = 0; i < rows; ++i) {
      if (i != leaves) gpus_[i] -= least * column[i];
    }
    gpus_[leaves] = least;
    for (double& value : inverse_[leaves]) value /= column[leaves];
    for (std::size_t i = 0; i < rows; ++i) {
      if (i == leaves) continue;
      for (std::size_t k = 0; k < rows; ++k) inverse_[i][k] -= column[i] * inverse_[leaves][k];
    }
    return true;
  }

  const std::vector<ShareDemand>& demand_;
  Matrix inverse_;            // of the basis
  std::vector<double> gpus_;  // cut in the basis' ways
  std::vector<double> prices_;
};

}  // namespace

std::vector<double> cutting_prices(const std::vector<ShareDemand>& demand) {
  return CuttingStock(demand).solve();
}

std::vector<double> worth_of_room(const std::vector<ShareDemand>& demand,
                                  const std::vector<double>& prices) {
  std::vector<double> worth(kGpu + 1, 0);
  for (std::size_t room = 1; room <= kGpu; ++room) {
    worth[room] = worth[room - 1];
    for (std::size_t i = 0; i < demand.size(); ++i) {
      const auto size = static_cast<std::size_t>(demand[i].size);
      if (size <= room) worth[room] = std::max(worth[room], worth[room - size] + prices[i]);
    }
  }
  return worth;
}

}  // namespace snug
