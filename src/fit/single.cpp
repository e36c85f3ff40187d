#include "fit/single.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "fit/levels.hpp"
#include "fit/subsets.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {
namespace {

/// What does not depend on the namespace, of a GPU that is there; the cap is looked at later, since
/// it bounds the sum over all GPUs.
ReasonCode judge_share(const GpuState& gpu, const ContainerRequest& asked, const Charge& cost) {
  if (cost.memory > gpu.memory || cost.compute > kWholeGpu) return ReasonCode::kTooLarge;
  if (!asked.models.allows(gpu.info->model)) return ReasonCode::kModelExcluded;
  const GpuMode mode = serving_mode(gpu, asked.isolation);
  if (mode == GpuMode::kNone) return ReasonCode::kWrongMode;
  if (gpu.closure != GpuClosure::kOpen) return ReasonCode::kUnhealthy;
  if (!gpu.empty() && gpu.mode != mode) return ReasonCode::kNoRoom;
  if (cost.memory > gpu.free_memory() || cost.compute > gpu.free_compute()) {
    return ReasonCode::kNoRoom;
  }
  return ReasonCode::kNone;
}

ReasonCode judge_whole(const GpuState& gpu, const ContainerRequest& asked) {
  if (!asked.models.allows(gpu.info->model)) return ReasonCode::kModelExcluded;
  if (!gpu.takes_whole) return ReasonCode::kWrongMode;
  if (gpu.closure != GpuClosure::kOpen) return ReasonCode::kUnhealthy;
  return gpu.empty() ? ReasonCode::kNone : ReasonCode::kNoRoom;
}

DeviceTake take_of(const GpuState& gpu, std::size_t position, const ContainerRequest& asked,
                   Prices& prices) {
  const bool whole = std::holds_alternative<WholeAsk>(asked.ask);
  const Prices::Price& price = prices.of(0, gpu.memory);
  return {.container = 0,
          .gpu = static_cast<std::uint16_t>(position),
          .mode = whole ? GpuMode::kWhole : serving_mode(gpu, asked.isolation),
          .room = whole ? gpu.room : price.room,
          .milli = whole ? gpu.left : gpu.left - left_beside(gpu, price.cost),
          .memory = price.cost.memory,
          .compute = price.cost.compute};
}

class Single {
 public:
  Single(const NodeState& node, const ContainerRequest& asked, const Tenant& tenant, Prices& prices)
      : node_(node),
        asked_(asked),
        tenant_(tenant),
        prices_(prices),
        whole_(std::holds_alternative<WholeAsk>(asked.ask)) {
    if (!whole_) apart_ = kept_apart(node, tenant);
  }

  /// One GPU is asked for: the common case, and the one that every node of a cluster goes through.
  ReasonCode one(PlacementList& options) {
    ReasonCode result = ReasonCode::kTooLarge;
    const bool alike = node_.inventory->links.empty() && apart_.empty();
    for (std::size_t i = 0; i < node_.gpus.size(); ++i) {
      // Equal in every score, and ties go low.
      if (alike && i > 0 && node_.gpus[i].same_as(node_.gpus[i - 1])) continue;
      ReasonCode reason = judge(i);
      if (reason < ReasonCode::kCapReached && compute_on(i) > tenant_.cap_left) {
        reason = ReasonCode::kCapReached;
      }
      if (reason == ReasonCode::kNone) {
        options.add(take_of(node_.gpus[i], i, asked_, prices_));
        options.close();
      }
      result = std::min(result, reason);
    }
    return result;
  }

  ReasonCode several(PlacementList& options) {
    const auto count = static_cast<std::size_t>(asked_.count);
    if (node_.gpus.size() < count) return ReasonCode::kTooLarge;
    std::vector<ReasonCode> reasons(node_.gpus.size());
    for (std::size_t i = 0; i < node_.gpus.size(); ++i) reasons[i] = judge(i);
    std::vector<ReasonCode> sorted = reasons;
    std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(count - 1));
    if (sorted[count - 1] > ReasonCode::kCapReached) return sorted[count - 1];
    for (const ReasonCode reason :
         {ReasonCode::kCapReached, ReasonCode::kNoRoom, ReasonCode::kOtherNamespace}) {
      const std::vector<std::size_t> gpus = better_than(reason, reasons);
      if (gpus.size() < count || !within_cap(cheapest(gpus))) return reason;
    }
    const std::vector<std::size_t> fitting = better_than(ReasonCode::kOtherNamespace, reasons);
    for (const std::vector<std::size_t>& gpus : subsets(node_, fitting, count)) {
      if (within_cap(gpus)) offer(gpus, options);
    }
    // None of the sets that were tried may be within the cap.
    if (options.empty()) offer(cheapest(fitting), options);
    return ReasonCode::kNone;
  }

 private:
  ReasonCode judge(std::size_t position) {
    const GpuState& gpu = node_.gpus[position];
    if (gpu.closure == GpuClosure::kVanished) return ReasonCode::kUnhealthy;
    if (whole_) return judge_whole(gpu, asked_);
    const ReasonCode reason = judge_share(gpu, asked_, prices_.of(0, gpu.memory).cost);
    const bool apart = !apart_.empty() && apart_[position];
    return reason == ReasonCode::kNone && apart ? ReasonCode::kOtherNamespace : reason;
  }

  std::int64_t compute_on(std::size_t position) {
    return prices_.of(0, node_.gpus[position].memory).cost.compute.value;
  }

  /// The GPUs against which at most less speaks than this.
  static std::vector<std::size_t> better_than(ReasonCode reason,
                                              const std::vector<ReasonCode>& reasons) {
    std::vector<std::size_t> gpus;
    for (std::size_t i = 0; i < reasons.size(); ++i) {
      if (reasons[i] < reason) gpus.push_back(i);
    }
    return gpus;
  }

  /// Of at least as many GPUs as are asked for, as many that cost the least, in ascending order.
  std::vector<std::size_t> cheapest(std::vector<std::size_t> gpus) {
    if (tenant_.cap_left != kNoCap) {
      std::ranges::sort(gpus, {}, [&](std::size_t gpu) { return std::pair(compute_on(gpu), gpu); });
    }
    gpus.resize(static_cast<std::size_t>(asked_.count));
    std::ranges::sort(gpus);
    return gpus;
  }

  void offer(const std::vector<std::size_t>& gpus, PlacementList& options) {
    for (const std::size_t gpu : gpus) {
      options.add(take_of(node_.gpus[gpu], gpu, asked_, prices_));
    }
    options.close();
  }

  bool within_cap(const std::vector<std::size_t>& gpus) {
    if (tenant_.cap_left == kNoCap) return true;
    std::int64_t sum = 0;
    for (const std::size_t gpu : gpus) sum += compute_on(gpu);
    return sum <= tenant_.cap_left;
  }

  const NodeState& node_;
  const ContainerRequest& asked_;
  const Tenant& tenant_;
  Prices& prices_;
  bool whole_;
  std::vector<bool> apart_;
};

}  // namespace

ReasonCode fit_single(const NodeState& node, const ContainerRequest& asked, const Tenant& tenant,
                      Prices& prices, PlacementList& options) {
  if (std::holds_alternative<SliceAsk>(asked.ask)) return ReasonCode::kWrongMode;
  Single single(node, asked, tenant, prices);
  return asked.count == 1 ? single.one(options) : single.several(options);
}

}  // namespace snug
