#include "fit/one_container.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "fit/constraints.hpp"
#include "fit/gpu_modes.hpp"
#include "fit/slices.hpp"
#include "fit/subsets.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::fit {
namespace {

/// The slices of one GPU that can serve the request.
struct SliceOffer {
  MigFree free;
  std::uint16_t profile = 0;
  std::vector<std::uint16_t> starts;  // the available starts, the least blocking one first
};

class OneContainer {
 public:
  OneContainer(const model::NodeState& node, const Tenant& tenant, FitMemo& memo)
      : node_(node),
        container_request_(memo.request().containers.front()),
        memo_(memo),
        need_{container_request_, memo.slice_need(), memo.prices()},
        whole_(std::holds_alternative<model::WholeGpuRequest>(container_request_.device)),
        node_view_{node, tenant, whole_ ? std::vector<bool>{} : isolated_gpus(node, tenant)},
        equal_states_score_equally_(node.inventory->nvlinks.empty() &&
                                    node_view_.isolated.empty()) {}

  bool possible() {
    if (gpu_count() > 1) return enough_gpus(serving_gpus());
    for (std::size_t i = 0; i < node_.gpus.size(); ++i) {
      if (!equals_previous(i) && serves(i)) return true;
    }
    return false;
  }

  /// Finds the placements of a request for one GPU. This is the common case, and filter runs it for
  /// every node of the cluster.
  model::ReasonCode on_one_gpu(model::PlacementList& placements) {
    for (std::size_t i = 0; i < node_.gpus.size(); ++i) {
      if (!equals_previous(i) && serves(i)) offer_on_gpu(i, placements);
    }
    return placements.empty() ? refusal_on_one_gpu() : model::ReasonCode::kNone;
  }

  model::ReasonCode on_several_gpus(model::PlacementList& placements) {
    const std::vector<std::size_t> gpus = serving_gpus();
    if (!enough_gpus(gpus)) return refusal_on_several_gpus();
    for (const std::vector<std::size_t>& gpu_set : subsets(node_, memo_, gpus, gpu_count())) {
      if (within_cap(gpu_set)) offer_on_gpus(gpu_set, placements);
    }
    // All sets that were tried can exceed the cap, even though the cheapest set is within it.
    if (placements.empty()) offer_on_gpus(cheapest(gpus), placements);
    return model::ReasonCode::kNone;
  }

 private:
  [[nodiscard]] std::size_t gpu_count() const {
    return static_cast<std::size_t>(container_request_.count);
  }
  [[nodiscard]] std::int64_t cap_left() const { return node_view_.tenant.cap_remaining; }
  [[nodiscard]] bool is_slice_of(const model::GpuState& gpu) const {
    return !whole_ && serves_slices(*gpu.info);
  }

  /// Whether a placement on this GPU has the same scores as one on the GPU before it. If so, this
  /// GPU is skipped.
  [[nodiscard]] bool equals_previous(std::size_t position) const {
    return equal_states_score_equally_ && position > 0 &&
           memo_.are_interchangeable(node_.gpus[position], node_.gpus[position - 1]);
  }

  /// The GPU as the constraints see it. The cap limits the sum over all GPUs of the request, so it
  /// applies to a single GPU only if the request is for one GPU.
  GpuView view_of(std::size_t position) {
    GpuView gpu_view(node_view_, position);
    if (container_request_.count == 1) gpu_view.cap_left = cap_left();
    if (!gpu_view.vanished()) gpu_view.takers = memo_.containers_taking(*gpu_view.gpu.info);
    return gpu_view;
  }

  bool serves(std::size_t position) { return meets_all(view_of(position), need_); }
  std::size_t constraints_met(std::size_t position) {
    return fit::constraints_met(view_of(position), need_);
  }

  /// The GPUs that serve the container, in ascending order.
  std::vector<std::size_t> serving_gpus() {
    std::vector<std::size_t> gpus;
    for (std::size_t i = 0; i < node_.gpus.size(); ++i) {
      if (serves(i)) gpus.push_back(i);
    }
    return gpus;
  }

  /// Whether `gpus` has at least gpu_count() GPUs, and the cheapest gpu_count() of them are within
  /// the cap.
  bool enough_gpus(const std::vector<std::size_t>& gpus) {
    return gpus.size() >= gpu_count() && (cap_left() == kNoCap || within_cap(cheapest(gpus)));
  }

  /// The reason of the first constraint that no GPU meets together with all constraints before it.
  /// Requires that no GPU meets all constraints.
  model::ReasonCode refusal_on_one_gpu() {
    const std::size_t last_constraint = last_applicable(node_view_);
    std::size_t most_met = 0;
    for (std::size_t i = 0; i < node_.gpus.size() && most_met < last_constraint; ++i) {
      if (!equals_previous(i)) most_met = std::max(most_met, constraints_met(i));
    }
    return constraints()[most_met].reason;
  }

  /// The reason of the first constraint that leaves too few GPUs. Once the cap is among the applied
  /// constraints, there are also too few GPUs if the cheapest gpu_count() of them together exceed
  /// the cap. Requires that enough_gpus(serving_gpus()) is false.
  model::ReasonCode refusal_on_several_gpus() {
    std::vector<std::size_t> met_by_gpu(node_.gpus.size());
    for (std::size_t i = 0; i < met_by_gpu.size(); ++i) met_by_gpu[i] = constraints_met(i);
    for (std::size_t first = 1; first < constraints().size(); ++first) {
      const std::vector<std::size_t> gpus = that_meet(first, met_by_gpu);
      if (gpus.size() < gpu_count() || (include_cap(first) && !enough_gpus(gpus))) {
        return constraints()[first - 1].reason;
      }
    }
    return constraints().back().reason;
  }

  /// The GPUs that meet the first `constraints` constraints. `met_by_gpu` is the number of
  /// constraints that each GPU meets.
  static std::vector<std::size_t> that_meet(std::size_t constraints,
                                            const std::vector<std::size_t>& met_by_gpu) {
    std::vector<std::size_t> gpus;
    for (std::size_t i = 0; i < met_by_gpu.size(); ++i) {
      if (met_by_gpu[i] >= constraints) gpus.push_back(i);
    }
    return gpus;
  }

  /// The slices of the GPU that can serve the request. Requires that is_slice_of(gpu) is true.
  SliceOffer slices_on(const model::GpuState& gpu) {
    SliceOffer slice_offer{.free = mig_free(*node_.inventory, gpu)};
    slice_offer.profile = slice_offer.free.profile_for(need_.slice).value_or(0);
    slice_offer.starts = slice_offer.free.open_starts(
        slice_offer.profile, memo_.starts().of(slice_offer.free.table, slice_offer.profile));
    return slice_offer;
  }

  static model::DeviceAllocation allocate_slice(const SliceOffer& slice_offer, std::size_t position,
                                                std::uint16_t start) {
    model::DeviceAllocation allocation =
        slice_take(*slice_offer.free.table, slice_offer.free.idle(),
                   model::MigPlacement{slice_offer.profile, start});
    allocation.gpu = static_cast<std::uint16_t>(position);
    return allocation;
  }

  model::DeviceAllocation allocate_gpu(std::size_t position) {
    const model::GpuState& gpu = node_.gpus[position];
    const Prices::Price& price = need_.prices.price_of(0, gpu.memory);
    return {.container = 0,
            .gpu = static_cast<std::uint16_t>(position),
            .mode = whole_ ? model::GpuMode::kWhole
                           : serving_mode(gpu, container_request_, node_view_.one_mps_device),
            .milli_sum = whole_ ? gpu.free_milli_sum : price.milli_sum,
            .milli = whole_ ? gpu.free_milli : gpu.free_milli - free_milli_after(gpu, price.cost),
            .memory = price.cost.memory,
            .compute = price.cost.compute};
  }

  /// Offers every placement on one GPU: for a slice, one placement at each available start;
  /// otherwise a single placement.
  void offer_on_gpu(std::size_t position, model::PlacementList& placements) {
    const model::GpuState& gpu = node_.gpus[position];
    if (!is_slice_of(gpu)) {
      placements.add(allocate_gpu(position));
      placements.close();
      return;
    }
    const SliceOffer slice_offer = slices_on(gpu);
    for (const std::uint16_t start : slice_offer.starts) {
      placements.add(allocate_slice(slice_offer, position, start));
      placements.close();
    }
  }

  void offer_on_gpus(const std::vector<std::size_t>& gpus, model::PlacementList& placements) {
    for (const std::size_t position : gpus) {
      const model::GpuState& gpu = node_.gpus[position];
      if (!is_slice_of(gpu)) {
        placements.add(allocate_gpu(position));
      } else {
        const SliceOffer slice_offer = slices_on(gpu);
        placements.add(allocate_slice(slice_offer, position, slice_offer.starts.front()));
      }
    }
    placements.close();
  }

  std::int64_t compute_on(std::size_t position) {
    const model::GpuState& gpu = node_.gpus[position];
    if (!is_slice_of(gpu)) return need_.prices.price_of(0, gpu.memory).cost.compute.value;
    const MigFree free_slices = mig_free(*node_.inventory, gpu);
    const auto profile = free_slices.profile_for(need_.slice);
    return profile ? slice_charge(*free_slices.table, *profile).compute.value : 0;
  }

  /// The cheapest gpu_count() of these GPUs, in ascending order; without a cap, the first
  /// gpu_count() of them. Requires at least gpu_count() GPUs.
  std::vector<std::size_t> cheapest(std::vector<std::size_t> gpus) {
    if (cap_left() != kNoCap) {
      std::ranges::sort(gpus, {}, [&](std::size_t gpu) { return std::pair(compute_on(gpu), gpu); });
    }
    gpus.resize(gpu_count());
    std::ranges::sort(gpus);
    return gpus;
  }

  bool within_cap(const std::vector<std::size_t>& gpus) {
    if (cap_left() == kNoCap) return true;
    std::int64_t total_compute = 0;
    for (const std::size_t gpu : gpus) total_compute += compute_on(gpu);
    return total_compute <= cap_left();
  }

  const model::NodeState& node_;
  const model::ContainerRequest& container_request_;
  FitMemo& memo_;
  ContainerNeed need_;
  bool whole_;
  NodeView node_view_;
  bool equal_states_score_equally_;  // the node has no NVLinks, and no GPU is isolated
};

}  // namespace

bool can_fit_one_container(const model::NodeState& node, const Tenant& tenant, FitMemo& memo) {
  return OneContainer(node, tenant, memo).possible();
}

model::ReasonCode fit_one_container(const model::NodeState& node, const Tenant& tenant,
                                    FitMemo& memo, model::PlacementList& placements) {
  OneContainer container(node, tenant, memo);
  const bool one = memo.request().containers.front().count == 1;
  return one ? container.on_one_gpu(placements) : container.on_several_gpus(placements);
}

}  // namespace snug::fit
