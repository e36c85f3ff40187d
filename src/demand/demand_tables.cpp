#include "snug/demand/demand_tables.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

#include "demand/cutting_stock.hpp"
#include "demand/slice_value.hpp"
#include "snug/base/limits.hpp"
#include "snug/demand/fitted.hpp"
#include "snug/demand/typical_pods.hpp"

namespace snug::demand {
namespace {

std::int64_t to_fixed_point(double part) {
  return std::llround(part * static_cast<double>(model::kFixedPointOne));
}

/// A histogram of the CPU or memory that pods need for each whole GPU, weighted by the GPUs that
/// they request. bins() returns it as StrandingTable::Bins.
class Histogram {
 public:
  explicit Histogram(std::int64_t width) : width_(width) {}

  /// Adds pods that together request `gpus` GPUs. They need the amount `need` for each whole GPU,
  /// and request the amount `alone` with each GPU or share. If `need` is 0, nothing is added.
  void add(double gpus, double need, double alone) {
    if (need <= 0) return;
    NeedBin& need_bin = need_bins_[bin_of(need)];
    need_bin.gpus += gpus;
    need_bin.needs += gpus * need;
    need_bins_[bin_of(alone)].served_per_unit += 1000 * gpus / std::max(need, smallest_need());
  }

  [[nodiscard]] model::StrandingTable::Bins bins(double all_gpus) const {
    model::StrandingTable::Bins bins{};
    for (std::size_t i = 0; i < need_bins_.size(); ++i) {
      bins[i].served_per_unit = to_fixed_point(model::StrandingTable::kServedScale *
                                               need_bins_[i].served_per_unit / all_gpus);
      if (need_bins_[i].gpus <= 0) continue;
      constexpr double kMostNeed = 1e9;  // more than any node has; keeps sums within 64 bits
      bins[i].share = to_fixed_point(need_bins_[i].gpus / all_gpus);
      bins[i].mean_need = std::llround(
          std::clamp(need_bins_[i].needs / need_bins_[i].gpus, smallest_need(), kMostNeed));
    }
    return bins;
  }

 private:
  struct NeedBin {
    double gpus = 0;
    double needs = 0;
    double served_per_unit = 0;
  };
  /// Returns the lower bound of needs. A smaller need counts as this amount, which prevents a
  /// division by 0.
  [[nodiscard]] double smallest_need() const {
    return std::max(1.0, static_cast<double>(width_) / 25);
  }
  [[nodiscard]] std::size_t bin_of(double need) const {
    return std::min(model::StrandingTable::kBins - 1,
                    static_cast<std::size_t>(need / static_cast<double>(width_)));
  }
  std::array<NeedBin, model::StrandingTable::kBins> need_bins_{};
  std::int64_t width_;
};

/// Returns the demand for each size of shares, largest demand in milli-GPU first. If there are more
/// than kMaxPricedShareSizes sizes, the last ones are left out.
std::vector<ShareDemand> priced_shares(const ShapeCounts& pods, base::MebiBytes memory) {
  std::map<std::int64_t, double> by_size;
  for (const auto& [shape, count] : pods) {
    const std::int64_t size = shape.milli_per_gpu(memory);
    if (size > 0 && size < base::kWholeGpu.value) {
      by_size[size] += count * static_cast<double>(shape.gpus);
    }
  }
  std::vector<ShareDemand> shares;
  shares.reserve(by_size.size());
  for (const auto& [size, count] : by_size) shares.push_back({size, count});
  std::ranges::sort(shares, {}, [](const ShareDemand& share) {
    return std::pair(-static_cast<double>(share.size) * share.pods, share.size);
  });
  if (shares.size() > base::kMaxPricedShareSizes) shares.resize(base::kMaxPricedShareSizes);
  return shares;
}

model::LeftOverTable make_left_over_table(const ShapeCounts& pods, base::MebiBytes memory) {
  constexpr double kMillionths = 1e6;
  const std::vector<ShareDemand> shares = priced_shares(pods, memory);
  const std::vector<double> prices = cutting_stock_prices(shares);
  const std::vector<double> values = knapsack_values(shares, prices);
  model::LeftOverTable table{.memory = memory};
  for (std::size_t i = 0; i < model::LeftOverTable::kSizes; ++i) {
    table.value[i] = static_cast<std::int32_t>(std::lround(kMillionths * values[i]));
  }
  table.price = table.value;  // a size that is not in `shares` has the price value[size]
  for (std::size_t i = 0; i < shares.size(); ++i) {
    table.price[static_cast<std::size_t>(shares[i].size)] =
        static_cast<std::int32_t>(std::lround(kMillionths * prices[i]));
  }
  return table;
}

/// Computes MultiGpuShape::discount by the formula at kBlockDiscount in demand/fitted.hpp.
std::array<std::int64_t, model::MultiGpuShape::kDiscountSteps> discount_for(std::int64_t gpus,
                                                                            int churn) {
  const double discount_per_pod = kBlockDiscount * churn / model::Demand::kFullChurn *
                                  static_cast<double>(std::min(gpus, kLargeBlock)) /
                                  static_cast<double>(kLargeBlock);
  std::array<std::int64_t, model::MultiGpuShape::kDiscountSteps> discount{};
  for (std::size_t eighths = 0; eighths < discount.size(); ++eighths) {
    discount[eighths] =
        to_fixed_point(std::pow(discount_per_pod, static_cast<double>(eighths) / 8));
  }
  return discount;
}

/// The GPUs that `pods` pods of the shape request together.
double gpus_of(const PodShape& shape, double pods, const Supply& supply) {
  return pods * static_cast<double>(shape.total_milli(supply.most_common_memory())) /
         base::kWholeGpu.value;
}

/// The shapes of pods with several whole GPUs, largest demand first. `discount` is not set, because
/// it depends on churn.
std::vector<model::MultiGpuShape> multi_gpu_shapes_of(const ShapeCounts& pods, const Supply& supply,
                                                      double all_gpus) {
  std::vector<model::MultiGpuShape> shapes;
  for (const auto& [shape, count] : pods) {
    // Pods with shares of several GPUs are left out, because shares need no idle GPUs.
    const bool is_whole_gpu =
        shape.milli_per_gpu(supply.most_common_memory()) >= base::kWholeGpu.value;
    if (shape.gpus < 2 || !is_whole_gpu) continue;
    shapes.push_back({.gpus = shape.gpus,
                      .cpu_milli = shape.host_cpu_milli,
                      .memory_mib = shape.host_memory_mib,
                      .models = models_of(shape, supply),
                      .share = to_fixed_point(gpus_of(shape, count, supply) / all_gpus)});
  }
  std::int64_t multi_gpu_share = 0;
  for (const model::MultiGpuShape& shape : shapes) multi_gpu_share += shape.share;
  const std::int64_t common = to_fixed_point(kCommonMultiGpuShare);
  for (model::MultiGpuShape& shape : shapes) {
    if (multi_gpu_share < common) shape.share = shape.share * multi_gpu_share / common;
  }
  std::ranges::sort(shapes, {}, [](const model::MultiGpuShape& shape) {
    return std::tuple(-shape.share, shape.cpu_milli, shape.memory_mib, shape.gpus, shape.models);
  });
  if (shapes.size() > base::kMaxMultiGpuShapes) shapes.resize(base::kMaxMultiGpuShapes);
  return shapes;
}

/// Computes Demand::scarcity of each model: (requested GPUs of the model / all requested GPUs),
/// divided by the model's part of all GPUs.
std::array<std::int64_t, model::kMaxModels> model_scarcity_of(const ShapeCounts& pods,
                                                              const Supply& supply,
                                                              double prior_weight) {
  std::array<std::int64_t, model::kMaxModels> scarcity{};
  if (supply.models == nullptr || supply.models->size() < 2) return scarcity;
  const std::size_t models = supply.models->size();
  double requested_gpus = prior_weight * kPriorNamingGpus;
  std::vector<double> named_gpus(models, requested_gpus / static_cast<double>(models - 1));
  for (const auto& [shape, count] : pods) {
    const double gpus = gpus_of(shape, count, supply);
    requested_gpus += gpus;
    const model::ModelSet accepted_models = models_of(shape, supply);
    if (accepted_models == model::kAnyModel) continue;
    const int accepted_count = std::popcount(accepted_models);
    for (std::size_t i = 1; i < models; ++i) {
      if ((accepted_models >> i & 1) != 0) named_gpus[i] += gpus / accepted_count;
    }
  }
  for (std::size_t i = 1; i < models; ++i) {
    if (supply.gpus_by_model[i] == 0) continue;
    const double supply_share =
        static_cast<double>(supply.gpus_by_model[i]) / static_cast<double>(supply.gpus);
    if (requested_gpus > 0)
      scarcity[i] = to_fixed_point(named_gpus[i] / requested_gpus / supply_share);
  }
  return scarcity;
}

}  // namespace

DemandTables::DemandTables(const ShapeCounts& pods, const Supply& supply, double prior_weight) {
  double all_gpus = 0;
  ByBasis<Histogram> cpu{Histogram(kCpuBinMilli), Histogram(kCpuBinMilli)};
  ByBasis<Histogram> memory{Histogram(kMemoryBinMib), Histogram(kMemoryBinMib)};
  for (const auto& [shape, count] : pods) {
    const double gpu_fraction =
        static_cast<double>(shape.milli_per_gpu(supply.most_common_memory())) /
        base::kWholeGpu.value;
    const double devices = static_cast<double>(shape.gpus);
    const double gpus = count * gpu_fraction * devices;
    if (gpus <= 0) continue;
    all_gpus += gpus;
    const double cpu_milli = static_cast<double>(shape.host_cpu_milli) / devices;
    cpu.per_device.add(gpus, cpu_milli, cpu_milli);
    cpu.per_gpu_used.add(gpus, cpu_milli / gpu_fraction, cpu_milli);
    const double memory_mib = static_cast<double>(shape.host_memory_mib) / devices;
    memory.per_device.add(gpus, memory_mib, memory_mib);
    memory.per_gpu_used.add(gpus, memory_mib / gpu_fraction, memory_mib);
  }
  for (const SliceDemand& demand : slice_demand(pods, supply)) {
    slice_values_.filling.push_back(make_slice_value_table(demand, Regime::kFilling));
    slice_values_.churning.push_back(make_slice_value_table(demand, Regime::kChurning));
  }
  if (all_gpus <= 0) return;
  cpu_ = {cpu.per_device.bins(all_gpus), cpu.per_gpu_used.bins(all_gpus)};
  memory_ = {memory.per_device.bins(all_gpus), memory.per_gpu_used.bins(all_gpus)};
  for (const Supply::GpuSize& size : supply.gpu_sizes) {
    fixed_tables_.left_over.push_back(make_left_over_table(pods, size.memory));
  }
  fixed_tables_.multi_gpu_shapes = multi_gpu_shapes_of(pods, supply, all_gpus);
  fixed_tables_.scarcity = model_scarcity_of(pods, supply, prior_weight);
  fixed_tables_.typical_pods = typical_pods({pods.begin(), pods.end()}, supply);
}

model::StrandingTable DemandTables::interpolated(const Needs& needs, std::int64_t width,
                                                 int churn) {
  model::StrandingTable::Bins bins{};
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const model::StrandingTable::Bin& filling = needs.per_device[i];
    const model::StrandingTable::Bin& churning = needs.per_gpu_used[i];
    bins[i].served_per_unit = (filling.served_per_unit * (model::Demand::kFullChurn - churn) +
                               churning.served_per_unit * churn) /
                              model::Demand::kFullChurn;
    const std::int64_t a = filling.share * (model::Demand::kFullChurn - churn);
    const std::int64_t b = churning.share * churn;
    if (a + b == 0) continue;
    bins[i].share = (a + b) / model::Demand::kFullChurn;
    bins[i].mean_need = (a * filling.mean_need + b * churning.mean_need) / (a + b);
  }
  return {bins, width};
}

model::Demand DemandTables::at_churn(int churn) const {
  model::Demand demand = fixed_tables_;
  demand.churn = churn;
  demand.cpu = interpolated(cpu_, kCpuBinMilli, churn);
  demand.memory = interpolated(memory_, kMemoryBinMib, churn);
  demand.slice_values =
      2 * churn >= model::Demand::kFullChurn ? slice_values_.churning : slice_values_.filling;
  for (model::MultiGpuShape& shape : demand.multi_gpu_shapes) {
    shape.discount = discount_for(shape.gpus, churn);
  }
  return demand;
}

}  // namespace snug::demand
