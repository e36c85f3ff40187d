#include "snug/fit/fit.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "snug/base/check.hpp"
#include "snug/fit/charge.hpp"

namespace snug {
namespace {

/// The reason that says more about the node: the one that stands first in the table.
ReasonCode nearer(ReasonCode a, ReasonCode b) {
  if (a == ReasonCode::kNone) return b;
  if (b == ReasonCode::kNone) return a;
  return std::min(a, b);
}

/// Of a GPU that is there.
ReasonCode fit_share(const GpuState& gpu, const Charge& cost) {
  if (cost.memory > gpu.memory || cost.compute > kWholeGpu) return ReasonCode::kTooLarge;
  if (gpu.sharing == GpuMode::kNone) return ReasonCode::kWrongMode;
  if (gpu.closure != GpuClosure::kOpen) return ReasonCode::kUnhealthy;
  if (!gpu.empty() && gpu.mode != gpu.sharing) return ReasonCode::kNoRoom;
  if (cost.memory > gpu.free_memory() || cost.compute > gpu.free_compute()) {
    return ReasonCode::kNoRoom;
  }
  return ReasonCode::kNone;
}

ReasonCode fit_whole(const GpuState& gpu) {
  if (gpu.closure == GpuClosure::kVanished) return ReasonCode::kUnhealthy;
  if (!gpu.takes_whole) return ReasonCode::kWrongMode;
  if (gpu.closure != GpuClosure::kOpen) return ReasonCode::kUnhealthy;
  return gpu.empty() ? ReasonCode::kNone : ReasonCode::kNoRoom;
}

ReasonCode share_options(const NodeState& node, Prices& prices, PlacementList& options) {
  ReasonCode result = ReasonCode::kNone;
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    const GpuState& gpu = node.gpus[i];
    if (i > 0 && gpu.same_as(node.gpus[i - 1])) continue;  // equal in every score, and ties go low
    if (gpu.closure == GpuClosure::kVanished) {
      result = nearer(result, ReasonCode::kUnhealthy);
      continue;
    }
    const Prices::Price& price = prices.of(0, gpu.memory);
    const ReasonCode reason = fit_share(gpu, price.cost);
    if (reason == ReasonCode::kNone) {
      options.add({.container = 0,
                   .gpu = static_cast<std::uint16_t>(i),
                   .mode = gpu.sharing,
                   .room = price.room,
                   .memory = price.cost.memory,
                   .compute = price.cost.compute});
      options.close();
    } else {
      result = nearer(result, reason);
    }
  }
  return options.empty() ? result : ReasonCode::kNone;
}

/// Why `count` whole GPUs are not there: what would have to change for the most of them.
ReasonCode whole_reason(const NodeState& node, std::int64_t count) {
  std::int64_t present = 0;
  std::int64_t right_mode = 0;
  std::int64_t healthy = 0;
  for (const GpuState& gpu : node.gpus) {
    const ReasonCode reason = fit_whole(gpu);
    const bool mode_ok = reason != ReasonCode::kWrongMode;
    present += gpu.closure != GpuClosure::kVanished ? 1 : 0;
    right_mode += mode_ok && gpu.closure != GpuClosure::kVanished ? 1 : 0;
    healthy += mode_ok && reason != ReasonCode::kUnhealthy ? 1 : 0;
  }
  if (present < count) return ReasonCode::kTooLarge;
  if (right_mode < count) return ReasonCode::kWrongMode;
  return healthy < count ? ReasonCode::kUnhealthy : ReasonCode::kNoRoom;
}

ReasonCode whole_options(const NodeState& node, const ContainerRequest& asked,
                         PlacementList& options) {
  std::int64_t taken = 0;
  for (std::size_t i = 0; i < node.gpus.size() && taken < asked.count; ++i) {
    const GpuState& gpu = node.gpus[i];
    if (fit_whole(gpu) != ReasonCode::kNone) continue;
    options.add({.container = 0,
                 .gpu = static_cast<std::uint16_t>(i),
                 .mode = GpuMode::kWhole,
                 .room = gpu.room,
                 .memory = gpu.memory,
                 .compute = kWholeGpu});
    ++taken;
  }
  if (taken < asked.count) {
    options.clear();
    return whole_reason(node, asked.count);
  }
  options.close();
  return ReasonCode::kNone;
}

/// What speaks against the whole node before any GPU is looked at.
ReasonCode gate(const NodeState& node, const GpuRequest& request) {
  return request.kubelet_assigned() ? node.kubelet_gate : node.annotated_gate;
}

std::int64_t units_of(const std::map<std::string, std::int64_t, std::less<>>& units,
                      std::string_view resource) {
  const auto found = units.find(resource);
  return found == units.end() ? 0 : found->second;
}

ReasonCode fit_units(const NodeState& node, std::string_view resource, std::int64_t asked) {
  const std::int64_t usable = units_of(node.inventory->kubelet_units, resource);
  const std::int64_t all = std::max(usable, units_of(node.inventory->kubelet_capacity, resource));
  if (all == 0) return ReasonCode::kWrongMode;  // the device plug-in offers GPUs in another form
  if (asked > all) return ReasonCode::kTooLarge;
  if (asked > usable) return ReasonCode::kUnhealthy;
  return asked > usable - units_of(node.kubelet_used, resource) ? ReasonCode::kNoRoom
                                                                : ReasonCode::kNone;
}

/// All resources must be there at once, so that the reason which lasts longest is the node's: the
/// last of them in the table.
ReasonCode fit_kubelet(const NodeState& node, const GpuRequest& request) {
  ReasonCode result = ReasonCode::kNone;
  for (const ContainerRequest& first : request.containers) {
    const std::string& resource = std::get<KubeletAsk>(first.ask).resource;
    std::int64_t asked = 0;
    for (const ContainerRequest& other : request.containers) {
      if (std::get<KubeletAsk>(other.ask).resource == resource) asked += other.count;
    }
    result = std::max(result, fit_units(node, resource, asked));
  }
  return result;
}

}  // namespace

ReasonCode fit(const NodeState& node, const GpuRequest& request, Prices& prices,
               PlacementList& options) {
  options.clear();
  if (const ReasonCode closed = gate(node, request); closed != ReasonCode::kNone) return closed;
  if (request.kubelet_assigned()) {
    const ReasonCode result = fit_kubelet(node, request);
    if (result == ReasonCode::kNone) options.close();
    return result;
  }
  SNUG_CHECK(request.containers.size() == 1);
  const ContainerRequest& asked = request.containers.front();
  if (std::holds_alternative<SliceAsk>(asked.ask)) return ReasonCode::kWrongMode;
  return std::holds_alternative<WholeAsk>(asked.ask) ? whole_options(node, asked, options)
                                                     : share_options(node, prices, options);
}

}  // namespace snug
