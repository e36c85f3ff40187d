#include "snug/demand/tables.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <utility>

#include "demand/prices.hpp"
#include "snug/base/limits.hpp"
#include "snug/demand/typical.hpp"

namespace snug {
namespace {

/// So many sizes of shares are priced, those first that take the most GPUs.
constexpr std::size_t kPricedSizes = 12;
/// As much demand as so many GPUs' is thought to name models, each alike, before any has been seen:
/// else the first pod that names one would make its GPUs look scarce.
constexpr double kNamingGpusBeforeAll = 50;

std::int64_t in_parts(double part) { return std::llround(part * static_cast<double>(kOne)); }

class Histogram {
 public:
  void add(double gpus, double cores_for_one) {
    const double bin = cores_for_one * 1000 / static_cast<double>(StrandTable::kBinMilli);
    const auto at = std::min(StrandTable::kBins - 1, static_cast<std::size_t>(bin));
    rows_[at].gpus += gpus;
    rows_[at].cores += gpus * cores_for_one;
  }

  [[nodiscard]] std::array<StrandTable::Bin, StrandTable::kBins> bins(double all_gpus) const {
    constexpr std::int64_t kLeastNeedMilli = 10;
    std::array<StrandTable::Bin, StrandTable::kBins> bins{};
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].gpus <= 0) continue;
      const std::int64_t need = std::llround(1000 * rows_[i].cores / rows_[i].gpus);
      bins[i] = {in_parts(rows_[i].gpus / all_gpus), std::max(kLeastNeedMilli, need)};
    }
    return bins;
  }

 private:
  struct Row {
    double gpus = 0;
    double cores = 0;
  };
  std::array<Row, StrandTable::kBins> rows_{};
};

std::vector<ShareDemand> priced_shares(const ShapeCounts& pods, MebiBytes memory) {
  std::map<std::int64_t, double> by_size;
  for (const auto& [shape, count] : pods) {
    const std::int64_t size = shape.milli_each(memory);
    if (size > 0 && size < kWholeGpu.value) {
      by_size[size] += count * static_cast<double>(shape.gpus);
    }
  }
  std::vector<ShareDemand> shares;
  for (const auto& [size, count] : by_size) shares.push_back({size, count});
  std::ranges::stable_sort(shares, std::ranges::greater{}, [](const ShareDemand& share) {
    return static_cast<double>(share.size) * share.pods;
  });
  if (shares.size() > kPricedSizes) shares.resize(kPricedSizes);
  return shares;
}

LeftOverTable left_over_of(const ShapeCounts& pods, MebiBytes memory) {
  constexpr double kMillionths = 1e6;
  const std::vector<ShareDemand> shares = priced_shares(pods, memory);
  const std::vector<double> prices = cutting_prices(shares);
  const std::vector<double> worth = worth_of_room(shares, prices);
  LeftOverTable table{.memory = memory};
  for (std::size_t i = 0; i < LeftOverTable::kSizes; ++i) {
    table.value[i] = static_cast<std::int32_t>(std::lround(kMillionths * worth[i]));
  }
  // A share of another size is worth what its room is.
  table.price = table.value;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    table.price[static_cast<std::size_t>(shares[i].size)] =
        static_cast<std::int32_t>(std::lround(kMillionths * prices[i]));
  }
  return table;
}

std::vector<RoomShape> rooms_of(const ShapeCounts& pods, const Supply& supply, double all_gpus) {
  std::vector<RoomShape> rooms;
  std::vector<double> gpus;
  for (const auto& [shape, count] : pods) {
    if (shape.gpus < 2) continue;
    const double asked =
        count * static_cast<double>(shape.milli(supply.usual_memory())) / kWholeGpu.value;
    rooms.push_back({.gpus = shape.gpus,
                     .cpu_milli = shape.cpu_milli,
                     .models = models_of(shape, supply),
                     .share = in_parts(asked / all_gpus)});
  }
  std::ranges::stable_sort(rooms, std::ranges::greater{}, &RoomShape::share);
  if (rooms.size() > kMostRoomShapes) rooms.resize(kMostRoomShapes);
  return rooms;
}

std::array<std::int64_t, kMostModels> scarcity_of(const ShapeCounts& pods, const Supply& supply) {
  std::array<std::int64_t, kMostModels> scarcity{};
  if (supply.models == nullptr || supply.models->size() < 2) return scarcity;
  const std::size_t models = supply.models->size();
  std::vector<double> named(models, kNamingGpusBeforeAll / static_cast<double>(models - 1));
  double all = kNamingGpusBeforeAll;
  for (const auto& [shape, count] : pods) {
    const double gpus =
        count * static_cast<double>(shape.milli(supply.usual_memory())) / kWholeGpu.value;
    all += gpus;
    if (!shape.names_models()) continue;
    const ModelSet set = models_of(shape, supply);
    const int each = std::popcount(set);
    for (std::size_t i = 1; i < models; ++i) {
      if ((set >> i & 1) != 0) named[i] += gpus / each;
    }
  }
  for (std::size_t i = 1; i < models; ++i) {
    if (supply.by_model[i] == 0) continue;
    const double part = static_cast<double>(supply.by_model[i]) / static_cast<double>(supply.gpus);
    scarcity[i] = in_parts(named[i] / all / part);
  }
  return scarcity;
}

}  // namespace

ShapeCounts pods_before_all(const Supply& supply) {
  struct Row {
    std::int64_t gpus;
    std::int64_t milli;
    double pods;
  };
  // Half of a GPU's part of the CPU for each, so that some is left for others.
  const std::int64_t cpu = supply.gpus == 0 ? 0 : supply.cpu_milli / supply.gpus / 2;
  ShapeCounts pods;
  for (const Row& row : {Row{1, 250, 3}, Row{1, 500, 5}, Row{1, 1000, 9}, Row{2, 1000, 1},
                         Row{4, 1000, 1}, Row{8, 1000, 1}}) {
    PodShape shape;
    shape.gpus = row.gpus;
    shape.gpu_milli = row.milli;
    shape.cpu_milli = cpu * row.gpus * row.milli / 1000;
    pods.emplace(std::move(shape), row.pods);
  }
  return pods;
}

DemandTables::DemandTables(const ShapeCounts& pods, const Supply& supply) {
  double all_gpus = 0;
  Histogram per_device;
  Histogram per_gpu;
  for (const auto& [shape, count] : pods) {
    const double each =
        static_cast<double>(shape.milli_each(supply.usual_memory())) / kWholeGpu.value;
    const double gpus = count * each * static_cast<double>(shape.gpus);
    if (gpus <= 0) continue;
    all_gpus += gpus;
    const double cores =
        static_cast<double>(shape.cpu_milli) / 1000 / static_cast<double>(shape.gpus);
    per_device.add(gpus, cores);
    per_gpu.add(gpus, cores / each);
  }
  if (all_gpus <= 0) return;
  per_device_ = per_device.bins(all_gpus);
  per_gpu_ = per_gpu.bins(all_gpus);
  for (const Supply::Size& size : supply.sizes) {
    rest_.left_over.push_back(left_over_of(pods, size.memory));
  }
  rest_.rooms = rooms_of(pods, supply, all_gpus);
  rest_.scarcity = scarcity_of(pods, supply);
  rest_.typical = typical_pods({pods.begin(), pods.end()}, supply);
}

Demand DemandTables::at(int churn) const {
  Demand demand = rest_;
  demand.churn = churn;
  Bins bins{};
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const std::int64_t still = per_device_[i].share * (Demand::kFullChurn - churn);
    const std::int64_t churning = per_gpu_[i].share * churn;
    if (still + churning == 0) continue;
    bins[i] = {
        .share = (still + churning) / Demand::kFullChurn,
        .need_milli = (still * per_device_[i].need_milli + churning * per_gpu_[i].need_milli) /
                      (still + churning)};
  }
  demand.strand = StrandTable(bins);
  return demand;
}

}  // namespace snug
