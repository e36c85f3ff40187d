#include "fit/single.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "fit/levels.hpp"
#include "fit/slices.hpp"
#include "fit/subsets.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {
namespace {

/// Why the GPU cannot serve the share now, whatever namespace asks. The GPU is there, is large
/// enough, and of a model that the container takes. The cap, which bounds the sum over all GPUs, is
/// looked at later.
ReasonCode judge_share(const GpuState& gpu, const ContainerRequest& asked, const Charge& cost) {
  const GpuMode mode = serving_mode(gpu, asked.isolation);
  if (mode == GpuMode::kNone) return ReasonCode::kWrongMode;
  if (gpu.closure != GpuClosure::kOpen) return ReasonCode::kUnhealthy;
  if (!gpu.empty() && gpu.mode != mode) return ReasonCode::kNoRoom;
  if (cost.memory > gpu.free_memory() || cost.compute > gpu.free_compute()) {
    return ReasonCode::kNoRoom;
  }
  return ReasonCode::kNone;
}

ReasonCode judge_whole(const GpuState& gpu) {
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

/// A GPU's slices for the request.
struct SliceOffer {
  MigRoom room;
  std::uint16_t profile = 0;
  std::vector<std::uint16_t> starts;  // at which it can be had, that which blocks the least first
};

class Single {
 public:
  Single(const NodeState& node, const Tenant& tenant, FitMemo& memo)
      : node_(node),
        asked_(memo.request().containers.front()),
        tenant_(tenant),
        memo_(memo),
        prices_(memo.prices()),
        need_(memo.slice_need()),
        whole_(std::holds_alternative<WholeAsk>(asked_.ask)),
        named_(std::holds_alternative<SliceAsk>(asked_.ask)),
        unenforced_(!node.inventory->enforced && tenant.wants_enforcement()) {
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
      if (reason == ReasonCode::kNone) offer_each(i, options);
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
    const bool sliced = takes_slices(*gpu.info);
    if (too_large(gpu, sliced)) return ReasonCode::kTooLarge;
    if ((memo_.takers(*gpu.info) & 1) == 0) return ReasonCode::kModelExcluded;
    if (whole_) return judge_whole(gpu);
    if (!sliced && named_) return ReasonCode::kWrongMode;
    ReasonCode reason =
        sliced ? judge_slice(gpu) : judge_share(gpu, asked_, prices_.of(0, gpu.memory).cost);
    if (!sliced && unenforced_) reason = std::max(reason, ReasonCode::kWrongMode);
    const bool apart = !apart_.empty() && apart_[position];
    return reason == ReasonCode::kNone && apart ? ReasonCode::kOtherNamespace : reason;
  }

  /// Whether the request is larger than this GPU, even when that is empty.
  bool too_large(const GpuState& gpu, bool sliced) {
    if (whole_ || named_) return false;
    if (sliced) return !smallest_profile(*gpu.info->mig_table, need_);
    const Charge& cost = prices_.of(0, gpu.memory).cost;
    return cost.memory > gpu.memory || cost.compute > kWholeGpu;
  }

  ReasonCode judge_slice(const GpuState& gpu) {
    const MigRoom offered = mig_room_by(*node_.inventory, gpu, Level::kMode);
    const auto profile = smallest_profile(*gpu.info->mig_table, need_, offered.profiles);
    if (!profile || !may_be_slice(asked_.isolation) || !offered.open_anywhere(*profile)) {
      return ReasonCode::kWrongMode;
    }
    const MigRoom sound = mig_room_by(*node_.inventory, gpu, Level::kHealth);
    if (gpu.closure != GpuClosure::kOpen || !sound.open_anywhere(*profile)) {
      return ReasonCode::kUnhealthy;
    }
    const MigRoom room = mig_room(*node_.inventory, gpu);
    return room.open_anywhere(*profile) ? ReasonCode::kNone : ReasonCode::kNoRoom;
  }

  /// Of a GPU on which the request can be a slice.
  SliceOffer slices_on(const GpuState& gpu) {
    SliceOffer offer{.room = mig_room(*node_.inventory, gpu)};
    const MigRoom& room = offer.room;
    offer.profile = smallest_profile(*room.table, need_, room.profiles).value_or(0);
    for (const std::uint16_t start : memo_.starts().of(room.table, offer.profile)) {
      if (room.open(room.use, {offer.profile, start})) offer.starts.push_back(start);
    }
    return offer;
  }

  static DeviceTake take_at(const SliceOffer& offer, std::size_t position, std::uint16_t start) {
    DeviceTake take =
        slice_take(*offer.room.table, offer.room.idle(), MigPlacement{offer.profile, start});
    take.gpu = static_cast<std::uint16_t>(position);
    return take;
  }

  /// Every placement on one GPU: one, but where it is a slice one for each start.
  void offer_each(std::size_t position, PlacementList& options) {
    const GpuState& gpu = node_.gpus[position];
    if (whole_ || !takes_slices(*gpu.info)) {
      options.add(take_of(gpu, position, asked_, prices_));
      options.close();
      return;
    }
    const SliceOffer offer = slices_on(gpu);
    for (const std::uint16_t start : offer.starts) {
      options.add(take_at(offer, position, start));
      options.close();
    }
  }

  std::int64_t compute_on(std::size_t position) {
    const GpuState& gpu = node_.gpus[position];
    if (whole_ || !takes_slices(*gpu.info)) return prices_.of(0, gpu.memory).cost.compute.value;
    const MigRoom room = mig_room_by(*node_.inventory, gpu, Level::kMode);
    const auto profile = smallest_profile(*room.table, need_, room.profiles);
    return profile ? slice_compute(*room.table, room.table->profiles[*profile]).value : 0;
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
    for (const std::size_t position : gpus) {
      const GpuState& gpu = node_.gpus[position];
      if (whole_ || !takes_slices(*gpu.info)) {
        options.add(take_of(gpu, position, asked_, prices_));
      } else {
        const SliceOffer slices = slices_on(gpu);
        options.add(take_at(slices, position, slices.starts.front()));
      }
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
  FitMemo& memo_;
  Prices& prices_;
  const SliceNeed& need_;
  bool whole_;
  bool named_;       // a slice by its profile
  bool unenforced_;  // the operator wants shares enforced, and nobody does here
  std::vector<bool> apart_;
};

}  // namespace

ReasonCode fit_single(const NodeState& node, const Tenant& tenant, FitMemo& memo,
                      PlacementList& options) {
  Single single(node, tenant, memo);
  const bool one = memo.request().containers.front().count == 1;
  return one ? single.one(options) : single.several(options);
}

}  // namespace snug
