#include "snug/fit/fit.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "fit/one_container.hpp"
#include "fit/several_containers.hpp"
#include "fit/several_memo.hpp"
#include "fit/slices.hpp"
#include "fit/why_not.hpp"
#include "snug/mig/catalog.hpp"

namespace snug {
namespace {

/// What speaks against the whole node before any GPU is looked at.
ReasonCode gate(const NodeState& node, const GpuRequest& request, const Tenant& tenant) {
  const bool units = request.kubelet_assigned();
  const ReasonCode closed = units ? node.kubelet_gate : node.annotated_gate;
  if (closed != ReasonCode::kNone) return closed;
  if (node.inventory->enforced || !tenant.wants_enforcement()) return ReasonCode::kNone;
  // The card itself keeps slices apart: where there may be any, it is looked at GPU by GPU.
  const bool slices = std::ranges::any_of(node.inventory->gpus, takes_slices);
  const bool refused = std::ranges::any_of(request.containers, [&](const ContainerRequest& asked) {
    return units ? node.inventory->replicas > 1 : is_share(asked.ask) && !slices;
  });
  return refused ? ReasonCode::kNotEnforced : ReasonCode::kNone;
}

std::int64_t units_of(const std::map<std::string, std::int64_t, std::less<>>& units,
                      std::string_view resource) {
  const auto found = units.find(resource);
  return found == units.end() ? 0 : found->second;
}

ReasonCode fit_units(const NodeState& node, std::string_view resource, std::int64_t asked) {
  const std::int64_t usable = units_of(node.inventory->kubelet_units, resource);
  const std::int64_t all = std::max(usable, units_of(node.inventory->kubelet_capacity, resource));
  if (all == 0) {  // the device plug-in offers GPUs in another form
    return resource.starts_with(kMigResource) ? ReasonCode::kNoProfile : ReasonCode::kWrongMode;
  }
  if (asked > all) return ReasonCode::kTooLarge;
  if (asked > usable) return ReasonCode::kUnhealthy;
  return asked > usable - units_of(node.kubelet_used, resource) ? ReasonCode::kNoRoom
                                                                : ReasonCode::kNone;
}

/// The kubelet may pick any GPU of the node, where several pods can be on one.
bool meets_others(const NodeState& node, const Tenant& tenant) {
  return node.inventory->replicas > 1 && tenant.rules != nullptr && tenant.rules->any_apart() &&
         std::ranges::any_of(node.holdings, [&](const HoldingPtr& holding) {
           return !holding->reservation.containers.empty() &&
                  tenant.apart_from(holding->name_space);
         });
}

/// All resources must be there at once, so that the reason which lasts longest is the node's: the
/// last of them in the table.
ReasonCode fit_kubelet(const NodeState& node, const GpuRequest& request, const Tenant& tenant) {
  ReasonCode result = ReasonCode::kNone;
  std::int64_t compute = 0;
  for (const ContainerRequest& first : request.containers) {
    const std::string& resource = std::get<KubeletAsk>(first.ask).resource;
    std::int64_t asked = 0;
    for (const ContainerRequest& other : request.containers) {
      if (std::get<KubeletAsk>(other.ask).resource == resource) asked += other.count;
    }
    result = std::max(result, fit_units(node, resource, asked));
    compute += first.count * unit_compute(*node.inventory, resource).value;
  }
  if (result < ReasonCode::kCapReached && compute > tenant.cap_left) {
    return ReasonCode::kCapReached;
  }
  if (result == ReasonCode::kNone && meets_others(node, tenant)) return ReasonCode::kOtherNamespace;
  return result;
}

}  // namespace

FitMemo::FitMemo(const GpuRequest& request) : request_(request), prices_(request) {
  if (request.empty()) return;
  slice_need_ = snug::slice_need(request.containers.front()).value_or(SliceNeed{});
  any_model_ = std::ranges::all_of(
      request.containers, [](const ContainerRequest& asked) { return asked.models.empty(); });
}
FitMemo::~FitMemo() = default;

ContainerBits FitMemo::takers(const GpuInfo& gpu) {
  if (any_model_) return ~ContainerBits{0};
  if (gpu.model_number == 0 && gpu.model != unnumbered_) {
    unnumbered_ = gpu.model;
    takers_[0].reset();
  }
  std::optional<ContainerBits>& takers = takers_.at(gpu.model_number);
  if (!takers) takers = compare(gpu.model);
  return *takers;
}

/// A step takes as long as comparing a model with so many bytes of patterns.
ContainerBits FitMemo::compare(std::string_view model) {
  constexpr std::size_t kBytesOfStep = 128;
  const ModelText text(model);
  ContainerBits takers = 0;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < request_.containers.size(); ++i) {
    const ModelFilter& filter = request_.containers[i].models;
    bytes += filter.bytes();
    if (filter.allows(text)) takers |= ContainerBits{1} << i;
  }
  count_steps(static_cast<std::int64_t>(1 + bytes / kBytesOfStep));
  return takers;
}

StartOrders& FitMemo::starts() {
  if (starts_ == nullptr) starts_ = std::make_unique<StartOrders>();
  return *starts_;
}

SeveralMemo& FitMemo::several() {
  if (several_ == nullptr) several_ = std::make_unique<SeveralMemo>(request_);
  return *several_;
}

ReasonCode fit(const NodeState& node, const Tenant& tenant, FitMemo& memo, PlacementList& options) {
  options.clear();
  memo.count_calls(1);
  const GpuRequest& request = memo.request();
  if (request.empty()) {
    options.close();
    return ReasonCode::kNone;
  }
  if (const ReasonCode closed = gate(node, request, tenant); closed != ReasonCode::kNone) {
    return closed;
  }
  if (request.kubelet_assigned()) {
    const ReasonCode result = fit_kubelet(node, request, tenant);
    if (result == ReasonCode::kNone) options.close();
    return result;
  }
  const ReasonCode reason = request.containers.size() > 1
                                ? fit_several_containers(node, tenant, memo, options).reason
                                : fit_one_container(node, tenant, memo, options);
  return closest_reason(node, memo, reason);
}

bool can_fit(const NodeState& node, const Tenant& tenant, FitMemo& memo) {
  const GpuRequest& request = memo.request();
  if (request.containers.size() > 1 && !request.kubelet_assigned()) {
    memo.count_calls(1);
    return gate(node, request, tenant) == ReasonCode::kNone &&
           can_fit_several_containers(node, tenant, memo);
  }
  PlacementList options;
  return fit(node, tenant, memo, options) == ReasonCode::kNone;
}

}  // namespace snug
