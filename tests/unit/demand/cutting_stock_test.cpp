#include "demand/cutting_stock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/random.hpp"

namespace snug::cutting_stock_test {
namespace {

using Shares = std::vector<demand::ShareDemand>;
using Cut = std::vector<std::int64_t>;  // how often each size

constexpr double kNear = 1e-6;

/// All ways to cut a room into shares beside which no other fits.
void add_cuts(const Shares& shares, std::int64_t room, Cut& cut, std::vector<Cut>& cuts) {
  if (cut.size() == shares.size()) {
    const bool maximal = std::ranges::none_of(
        shares, [room](const demand::ShareDemand& share) { return share.size <= room; });
    if (maximal) cuts.push_back(cut);
    return;
  }
  const std::int64_t size = shares[cut.size()].size;
  for (std::int64_t times = 0; times * size <= room; ++times) {
    cut.push_back(times);
    add_cuts(shares, room - times * size, cut, cuts);
    cut.pop_back();
  }
}

std::vector<Cut> cuts_of(const Shares& shares, std::int64_t room = 1000) {
  std::vector<Cut> cuts;
  Cut cut;
  add_cuts(shares, room, cut, cuts);
  return cuts;
}

double worth_of(const Cut& cut, const std::vector<double>& prices) {
  double worth = 0;
  for (std::size_t i = 0; i < cut.size(); ++i) worth += static_cast<double>(cut[i]) * prices[i];
  return worth;
}

double total(const Shares& shares, const std::vector<double>& prices) {
  double sum = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) sum += shares[i].pods * prices[i];
  return sum;
}

/// "As much as all pods can be worth while no cut is worth more than 1", by the dictionary method
/// with Bland's rule: a row for each cut, a column for each size.
class NaiveProgram {
 public:
  NaiveProgram(const Shares& shares, const std::vector<Cut>& cuts) {
    for (const Cut& cut : cuts) {
      std::vector<double> row(cut.begin(), cut.end());
      row.push_back(1);
      basic_.push_back(shares.size() + basic_.size());
      rows_.push_back(std::move(row));
    }
    for (std::size_t i = 0; i < shares.size(); ++i) {
      free_.push_back(i);
      gain_.push_back(shares[i].pods);
    }
    gain_.push_back(0);
  }

  double best() {
    for (;;) {
      const std::size_t column = entering();
      if (column == free_.size()) return -gain_.back();
      pivot(leaving(column), column);
    }
  }

 private:
  [[nodiscard]] std::size_t entering() const {
    std::size_t best = free_.size();
    for (std::size_t i = 0; i < free_.size(); ++i) {
      if (gain_[i] > 1e-9 && (best == free_.size() || free_[i] < free_[best])) best = i;
    }
    return best;
  }

  /// A size is worth at most 1, so that some row always is.
  [[nodiscard]] std::size_t leaving(std::size_t column) const {
    std::size_t best = rows_.size();
    double least = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i][column] <= 1e-9) continue;
      const double ratio = rows_[i].back() / rows_[i][column];
      const bool first = best == rows_.size() || ratio < least - 1e-12;
      if (!first && (ratio > least + 1e-12 || basic_[i] > basic_[best])) continue;
      best = i;
      least = ratio;
    }
    return best;
  }

  void pivot(std::size_t row, std::size_t column) {
    const std::vector<double> old = rows_[row];
    const double by = old[column];
    for (std::size_t k = 0; k < old.size(); ++k) {
      rows_[row][k] = k == column ? 1 / by : old[k] / by;
    }
    const auto reduce = [&](std::vector<double>& other) {
      const double times = other[column];
      for (std::size_t k = 0; k < other.size(); ++k) {
        other[k] = (k == column ? 0 : other[k]) - times * rows_[row][k];
      }
    };
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (i != row) reduce(rows_[i]);
    }
    reduce(gain_);
    std::swap(basic_[row], free_[column]);
  }

  std::vector<std::vector<double>> rows_;  // the last of each: how much is left of the 1
  std::vector<double> gain_;
  std::vector<std::size_t> basic_;
  std::vector<std::size_t> free_;
};

/// Counts have been halved and added up for long.
double draw_pods(Random& random) {
  const auto pods = static_cast<double>(random.from_to(1, random.one_in(4) ? 300 : 30));
  return random.one_in(8) ? pods / 4 : pods;
}

Shares draw_shares(Random& random, std::int64_t most, std::int64_t smallest) {
  std::set<std::int64_t> sizes;
  const std::int64_t count = random.from_to(1, most);
  for (std::int64_t i = 0; i < count; ++i) {
    const bool round = random.one_in(2);
    sizes.insert(round
                     ? random.pick<std::int64_t>({100, 125, 200, 250, 300, 333, 400, 500, 600, 750})
                     : random.from_to(smallest, 999));
  }
  Shares shares;
  for (const std::int64_t size : sizes) {
    shares.push_back({size, draw_pods(random)});
  }
  if (random.one_in(2)) std::ranges::reverse(shares);
  return shares;
}

std::string text_of(const Shares& shares) {
  std::string text;
  for (const demand::ShareDemand& share : shares) {
    text += std::to_string(share.size) + " x" + std::to_string(share.pods) + "  ";
  }
  return text;
}

struct Row {
  std::string why;
  Shares shares;
  std::vector<double> prices;
};

TEST(CuttingStockPricesTest, OfAFewSizesAreWhatOneWorksOutByHand) {
  for (const Row& row : std::vector<Row>{
           {"nothing is asked for", {}, {}},
           {"two on a GPU", {{500, 3}}, {0.5}},
           {"three, and a milli-GPU is lost", {{333, 1}}, {1.0 / 3}},
           {"just not three", {{334, 7}}, {0.5}},
           {"just not two", {{501, 7}}, {1}},
           {"nearly all", {{999, 2}}, {1}},
           {"the smallest", {{1, 5}}, {0.001}},
           {"more large ones: the small ones are for nothing", {{600, 30}, {400, 10}}, {1, 0}},
           {"more small ones: they need GPUs of their own", {{600, 10}, {400, 30}}, {0.5, 0.5}},
           {"too few to fill what the large ones leave", {{810, 100}, {190, 99}}, {1, 0}},
           {"more than enough", {{810, 100}, {190, 1000}}, {0.8, 0.2}},
           {"two that never share", {{700, 5}, {600, 9}}, {1, 1}},
           {"one that divides the other", {{250, 400}, {500, 10}}, {0.25, 0.5}}}) {
    const std::vector<double> prices = demand::cutting_stock_prices(row.shares);
    ASSERT_EQ(prices.size(), row.prices.size()) << row.why;
    for (std::size_t i = 0; i < prices.size(); ++i) {
      EXPECT_NEAR(prices[i], row.prices[i], kNear) << row.why << ", size " << row.shares[i].size;
    }
  }
}

TEST(CuttingStockPricesTest, AreWithinEveryCutAndTheMostThatThatAllows) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    Shares shares = draw_shares(random, 6, 80);
    if (seed % 5 == 0) {  // one that hardly counts beside the others
      for (std::size_t i = 1; i < shares.size(); ++i) shares[i].pods *= 1e4;
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text_of(shares));
    const std::vector<Cut> cuts = cuts_of(shares);
    const std::vector<double> prices = demand::cutting_stock_prices(shares);
    for (const double price : prices) ASSERT_GE(price, 0);
    double dearest = 0;
    for (const Cut& cut : cuts) dearest = std::max(dearest, worth_of(cut, prices));
    ASSERT_LE(dearest, 1 + kNear);
    const double best = NaiveProgram(shares, cuts).best();
    ASSERT_NEAR(total(shares, prices), best, kNear * std::max(1.0, best));
  }
}

/// GPUs that one needs by putting each pod, the largest first, where it fits first.
double first_fit(Shares shares) {
  std::ranges::sort(shares, std::ranges::greater{}, &demand::ShareDemand::size);
  std::vector<std::int64_t> left;
  for (const demand::ShareDemand& share : shares) {
    for (double pod = 0; pod < share.pods; ++pod) {
      const auto room =
          std::ranges::find_if(left, [&](std::int64_t milli) { return milli >= share.size; });
      if (room == left.end()) {
        left.push_back(1000 - share.size);
      } else {
        *room -= share.size;
      }
    }
  }
  return static_cast<double>(left.size());
}

TEST(CuttingStockPricesTest, OfManySizesLieBetweenWhatThePodsAskForAndAPackingOfThem) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const Shares shares = draw_shares(random, 12, 1);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text_of(shares));
    const std::vector<double> prices = demand::cutting_stock_prices(shares);
    ASSERT_LE(demand::knapsack_values(shares, prices).back(), 1 + kNear);
    double asked = 0;
    for (const demand::ShareDemand& share : shares) {
      asked += share.pods * static_cast<double>(share.size) / 1000;
    }
    const double sum = total(shares, prices);
    EXPECT_GE(sum, asked * (1 - kNear));
    EXPECT_LE(sum, first_fit(shares) * (1 + kNear));
    EXPECT_EQ(demand::cutting_stock_prices(shares), prices)
        << "the same question has the same answer";
  }
}

TEST(KnapsackValuesTest, IsTheBestCutOfTheRoom) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    const Shares shares = draw_shares(random, 5, 90);
    std::vector<double> prices;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      prices.push_back(static_cast<double>(random.draw(1000)) / 1000);
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text_of(shares));
    const std::vector<double> worth = demand::knapsack_values(shares, prices);
    ASSERT_EQ(worth.size(), 1001U);
    for (int i = 0; i < 12; ++i) {
      const std::int64_t room = i == 0 ? 0 : i == 1 ? 1000 : random.draw(1001);
      double best = 0;
      for (const Cut& cut : cuts_of(shares, room)) best = std::max(best, worth_of(cut, prices));
      ASSERT_NEAR(worth[static_cast<std::size_t>(room)], best, 1e-9) << room;
    }
  }
}

TEST(KnapsackValuesTest, WhereNothingIsSoldNoRoomIsWorthAnything) {
  EXPECT_EQ(demand::knapsack_values({}, {}), std::vector<double>(1001, 0));
}

}  // namespace
}  // namespace snug::cutting_stock_test
