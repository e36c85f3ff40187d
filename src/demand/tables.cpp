#include "snug/demand/tables.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

#include "demand/prices.hpp"
#include "demand/slices.hpp"
#include "snug/base/limits.hpp"
#include "snug/demand/typical.hpp"

namespace snug {
namespace {

/// As much demand as so many GPUs' is thought to name models, each alike, before any has been seen:
/// else the first pod that names one would make its GPUs look scarce.
constexpr double kNamingGpusBeforeAll = 50;
/// From this part of the demand on, pods with several GPUs count in full.
constexpr double kCommonRooms = 0.05;

std::int64_t in_parts(double part) { return std::llround(part * static_cast<double>(kOne)); }

/// The widths of the bins: thousandths of a core, MiB.
constexpr std::int64_t kCpuWidth = 250;
constexpr std::int64_t kMemoryWidth = 2'048;

class Histogram {
 public:
  explicit Histogram(std::int64_t width) : width_(width) {}

  /// Of so many GPUs, the need with a whole one, and that of one pod for its part of one. What
  /// needs nothing is never short of it.
  void add(double gpus, double need, double of_one) {
    if (need <= 0) return;
    Row& row = rows_[bin_of(need)];
    row.gpus += gpus;
    row.needs += gpus * need;
    rows_[bin_of(of_one)].fed += 1000 * gpus / std::max(need, least());
  }

  [[nodiscard]] StrandTable::Bins bins(double all_gpus) const {
    StrandTable::Bins bins{};
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      bins[i].fed = in_parts(StrandTable::kFine * rows_[i].fed / all_gpus);
      if (rows_[i].gpus <= 0) continue;
      // A need near nothing is never short; it must not divide by nothing. One beyond what any node
      // has always is; sums stay inside 64 bits.
      constexpr double kMostNeed = 1e9;
      bins[i].share = in_parts(rows_[i].gpus / all_gpus);
      bins[i].need = std::llround(std::clamp(rows_[i].needs / rows_[i].gpus, least(), kMostNeed));
    }
    return bins;
  }

 private:
  struct Row {
    double gpus = 0;
    double needs = 0;
    double fed = 0;
  };
  [[nodiscard]] double least() const { return std::max(1.0, static_cast<double>(width_) / 25); }
  [[nodiscard]] std::size_t bin_of(double need) const {
    return std::min(StrandTable::kBins - 1,
                    static_cast<std::size_t>(need / static_cast<double>(width_)));
  }
  std::array<Row, StrandTable::kBins> rows_{};
  std::int64_t width_;
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
  shares.reserve(by_size.size());
  for (const auto& [size, count] : by_size) shares.push_back({size, count});
  std::ranges::sort(shares, {}, [](const ShareDemand& share) {
    return std::pair(-static_cast<double>(share.size) * share.pods, share.size);
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

/// Each pod that has to leave first makes a room of eight GPUs count kFadePerPod times as much; a
/// smaller one in proportion less, since smaller rooms come free more often.
std::array<std::int64_t, RoomShape::kFadeSteps> fade_of(std::int64_t gpus, int churn) {
  constexpr double kFadePerPod = 0.35;
  constexpr std::int64_t kLargeRoom = 8;
  const double of_pod = kFadePerPod * churn / Demand::kFullChurn *
                        static_cast<double>(std::min(gpus, kLargeRoom)) /
                        static_cast<double>(kLargeRoom);
  std::array<std::int64_t, RoomShape::kFadeSteps> fade{};
  for (std::size_t eighths = 0; eighths < fade.size(); ++eighths) {
    fade[eighths] = in_parts(std::pow(of_pod, static_cast<double>(eighths) / 8));
  }
  return fade;
}

std::vector<RoomShape> rooms_of(const ShapeCounts& pods, const Supply& supply, double all_gpus) {
  std::vector<RoomShape> rooms;
  for (const auto& [shape, count] : pods) {
    // A share on each of several GPUs needs none of them idle.
    if (shape.gpus < 2 || shape.milli_each(supply.usual_memory()) < kWholeGpu.value) continue;
    const double asked =
        count * static_cast<double>(shape.milli(supply.usual_memory())) / kWholeGpu.value;
    rooms.push_back({.gpus = shape.gpus,
                     .cpu_milli = shape.cpu_milli,
                     .memory_mib = shape.memory_mib,
                     .models = models_of(shape, supply),
                     .share = in_parts(asked / all_gpus)});
  }
  std::int64_t all = 0;
  for (const RoomShape& room : rooms) all += room.share;
  // Where such pods are rare, their rooms must not bend how shares are packed.
  const std::int64_t common = in_parts(kCommonRooms);
  for (RoomShape& room : rooms) {
    if (all < common) room.share = room.share * all / common;
  }
  std::ranges::sort(rooms, {}, [](const RoomShape& room) {
    return std::tuple(-room.share, room.cpu_milli, room.memory_mib, room.gpus, room.models);
  });
  if (rooms.size() > kMostRoomShapes) rooms.resize(kMostRoomShapes);
  return rooms;
}

std::array<std::int64_t, kMostModels> scarcity_of(const ShapeCounts& pods, const Supply& supply,
                                                  double doubt) {
  std::array<std::int64_t, kMostModels> scarcity{};
  if (supply.models == nullptr || supply.models->size() < 2) return scarcity;
  const std::size_t models = supply.models->size();
  std::vector<double> named(models, doubt * kNamingGpusBeforeAll / static_cast<double>(models - 1));
  double all = doubt * kNamingGpusBeforeAll;
  for (const auto& [shape, count] : pods) {
    const double gpus =
        count * static_cast<double>(shape.milli(supply.usual_memory())) / kWholeGpu.value;
    all += gpus;
    const ModelSet set = models_of(shape, supply);
    if (set == kAnyModel) continue;
    const int each = std::popcount(set);
    for (std::size_t i = 1; i < models; ++i) {
      if ((set >> i & 1) != 0) named[i] += gpus / each;
    }
  }
  for (std::size_t i = 1; i < models; ++i) {
    if (supply.by_model[i] == 0) continue;
    const double part = static_cast<double>(supply.by_model[i]) / static_cast<double>(supply.gpus);
    if (all > 0) scarcity[i] = in_parts(named[i] / all / part);
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
  // Half of a GPU's part of the node for each, so that some is left for others.
  ShapeCounts pods;
  const std::int64_t gpus = std::max<std::int64_t>(1, supply.gpus);
  const std::int64_t cpu = supply.cpu_milli / gpus / 2;
  const std::int64_t memory = supply.memory_mib / gpus / 2;
  for (const Row& row : {Row{1, 250, 3}, Row{1, 500, 5}, Row{1, 1000, 9}, Row{2, 1000, 1},
                         Row{4, 1000, 1}, Row{8, 1000, 1}}) {
    PodShape shape;
    shape.gpus = row.gpus;
    shape.gpu_milli = row.milli;
    shape.cpu_milli = cpu * row.gpus * row.milli / 1000;
    shape.memory_mib = memory * row.gpus * row.milli / 1000;
    pods.emplace(std::move(shape), row.pods);
  }
  return pods;
}

double doubt_after(double pods) {
  constexpr double kFadesOver = 4'000;
  return std::max(0.0, 1 - pods / kFadesOver);
}

DemandTables::DemandTables(const ShapeCounts& pods, const Supply& supply, double doubt) {
  double all_gpus = 0;
  ByUse<Histogram> cpu{Histogram(kCpuWidth), Histogram(kCpuWidth)};
  ByUse<Histogram> memory{Histogram(kMemoryWidth), Histogram(kMemoryWidth)};
  for (const auto& [shape, count] : pods) {
    const double each =
        static_cast<double>(shape.milli_each(supply.usual_memory())) / kWholeGpu.value;
    const double devices = static_cast<double>(shape.gpus);
    const double gpus = count * each * devices;
    if (gpus <= 0) continue;
    all_gpus += gpus;
    const double cores = static_cast<double>(shape.cpu_milli) / devices;
    cpu.of_device.add(gpus, cores, cores);
    cpu.of_used.add(gpus, cores / each, cores);
    const double mebibytes = static_cast<double>(shape.memory_mib) / devices;
    memory.of_device.add(gpus, mebibytes, mebibytes);
    memory.of_used.add(gpus, mebibytes / each, mebibytes);
  }
  for (const SliceDemand& demand : slice_demand(pods, supply)) {
    slices_.still.push_back(slice_worth(demand, false));
    slices_.churning.push_back(slice_worth(demand, true));
  }
  if (all_gpus <= 0) return;
  cpu_ = {cpu.of_device.bins(all_gpus), cpu.of_used.bins(all_gpus)};
  memory_ = {memory.of_device.bins(all_gpus), memory.of_used.bins(all_gpus)};
  for (const Supply::Size& size : supply.sizes) {
    rest_.left_over.push_back(left_over_of(pods, size.memory));
  }
  rest_.rooms = rooms_of(pods, supply, all_gpus);
  rest_.scarcity = scarcity_of(pods, supply, doubt);
  rest_.typical = typical_pods({pods.begin(), pods.end()}, supply);
}

StrandTable DemandTables::mixed(const ByUse<StrandTable::Bins>& bins, std::int64_t width,
                                int churn) {
  StrandTable::Bins mix{};
  for (std::size_t i = 0; i < mix.size(); ++i) {
    const StrandTable::Bin& still = bins.of_device[i];
    const StrandTable::Bin& churning = bins.of_used[i];
    mix[i].fed =
        (still.fed * (Demand::kFullChurn - churn) + churning.fed * churn) / Demand::kFullChurn;
    const std::int64_t a = still.share * (Demand::kFullChurn - churn);
    const std::int64_t b = churning.share * churn;
    if (a + b == 0) continue;
    mix[i].share = (a + b) / Demand::kFullChurn;
    mix[i].need = (a * still.need + b * churning.need) / (a + b);
  }
  return {mix, width};
}

Demand DemandTables::at(int churn) const {
  Demand demand = rest_;
  demand.churn = churn;
  const bool churns = 2 * churn >= Demand::kFullChurn;
  demand.slices = churns ? slices_.churning : slices_.still;
  for (RoomShape& room : demand.rooms) room.fade = fade_of(room.gpus, churn);
  demand.cpu = mixed(cpu_, kCpuWidth, churn);
  demand.memory = mixed(memory_, kMemoryWidth, churn);
  return demand;
}

}  // namespace snug
