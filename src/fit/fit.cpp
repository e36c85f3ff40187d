#include "snug/fit/fit.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "fit/one_container.hpp"
#include "fit/several_containers.hpp"
#include "fit/several_memo.hpp"
#include "fit/slices.hpp"
#include "fit/why_not.hpp"
#include "snug/fit/other_enforcer.hpp"
#include "snug/mig/card_catalog.hpp"

namespace snug::fit {
namespace {

/// The reason to refuse the node without judging its GPUs; kNone: there is no such reason. If it is
/// kOtherKind, the node's GPUs may have a reason that lasts longer.
model::ReasonCode node_refusal(const model::NodeState& node, const model::GpuRequest& request,
                               const Tenant& tenant) {
  const bool units = request.is_kubelet_assigned();
  const model::ReasonCode refusal = units ? node.kubelet_refusal : node.annotated_refusal;
  if (refusal != model::ReasonCode::kNone && refusal != model::ReasonCode::kOtherKind)
    return refusal;
  if (!units && !unexpressed(*node.inventory, request).empty())
    return model::ReasonCode::kWrongPool;
  if (node.inventory->is_enforced() || !tenant.requires_enforcement()) return refusal;
  // A MIG card enforces its slices itself. So a node with such cards is not refused here; its GPUs
  // are judged one by one later.
  const bool slices = std::ranges::any_of(node.inventory->gpus, serves_slices);
  const bool refused = std::ranges::any_of(
      request.containers, [&](const model::ContainerRequest& container_request) {
        return units ? node.inventory->replicas > 1
                     : model::is_share(container_request.device) && !slices;
      });
  return refused ? model::ReasonCode::kNotEnforced : refusal;
}

model::ReasonCode fit_units(const model::NodeState& node, std::string_view resource,
                            std::int64_t requested_units) {
  const std::int64_t allocatable_units =
      model::units_of(node.inventory->kubelet_allocatable, resource);
  const std::int64_t capacity_units =
      std::max(allocatable_units, model::units_of(node.inventory->kubelet_capacity, resource));
  if (capacity_units == 0) {  // the device plug-in offers no such resource
    return resource.starts_with(mig::kMigResourcePrefix) ? model::ReasonCode::kNoProfile
                                                         : model::ReasonCode::kWrongMode;
  }
  if (requested_units > capacity_units) return model::ReasonCode::kTooLarge;
  if (requested_units > allocatable_units) return model::ReasonCode::kUnhealthy;
  return requested_units > allocatable_units - model::units_of(node.kubelet_used, resource)
             ? model::ReasonCode::kNoRoom
             : model::ReasonCode::kNone;
}

/// Whether the kubelet could put the pod on the same GPU as a pod that the tenant is isolated from.
/// With replicas it can put several pods on any GPU of the node.
bool may_meet_isolated_pod(const model::NodeState& node, const Tenant& tenant) {
  return node.inventory->replicas > 1 && tenant.rules != nullptr &&
         tenant.rules->isolates_any_namespace() &&
         std::ranges::any_of(node.holdings, [&](const model::HoldingPtr& holding) {
           return !holding->reservation.containers.empty() &&
                  tenant.is_isolated_from(holding->name_space);
         });
}

/// Judges a kubelet-assigned pod. All resources that it requests must be available at once. If
/// several are not, the node gets the reason that comes last in the table of reasons, because it
/// lasts longest.
model::ReasonCode fit_kubelet(const model::NodeState& node, const model::GpuRequest& request,
                              const Tenant& tenant) {
  model::ReasonCode refusal = model::ReasonCode::kNone;
  std::int64_t compute = 0;
  for (const model::ContainerRequest& container_request : request.containers) {
    const std::string& resource =
        std::get<model::KubeletRequest>(container_request.device).resource;
    std::int64_t requested_units = 0;
    for (const model::ContainerRequest& other_container : request.containers) {
      if (std::get<model::KubeletRequest>(other_container.device).resource == resource)
        requested_units += other_container.count;
    }
    refusal = std::max(refusal, fit_units(node, resource, requested_units));
    compute += container_request.count * unit_compute(*node.inventory, resource).value;
  }
  if (refusal < model::ReasonCode::kCapReached && compute > tenant.cap_remaining) {
    return model::ReasonCode::kCapReached;
  }
  if (refusal == model::ReasonCode::kNone && may_meet_isolated_pod(node, tenant))
    return model::ReasonCode::kOtherNamespace;
  return refusal;
}

/// Judges the node's GPUs and units. The node has no node_refusal() but kOtherKind.
model::ReasonCode fit_devices(const model::NodeState& node, const Tenant& tenant, FitMemo& memo,
                              model::PlacementList& placements) {
  const model::GpuRequest& request = memo.request();
  if (request.is_kubelet_assigned()) {
    const model::ReasonCode result = fit_kubelet(node, request, tenant);
    if (result == model::ReasonCode::kNone) placements.close();
    return result;
  }
  const model::ReasonCode reason =
      request.containers.size() > 1 ? fit_several_containers(node, tenant, memo, placements).reason
                                    : fit_one_container(node, tenant, memo, placements);
  return closest_reason(node, memo, reason);
}

}  // namespace

FitMemo::FitMemo(const model::GpuRequest& request) : request_(request), prices_(request) {
  if (request.empty()) return;
  slice_need_ =
      snug::mig::slice_requirement(request.containers.front()).value_or(mig::SliceRequirement{});
  any_model_ =
      std::ranges::all_of(request.containers, [](const model::ContainerRequest& container_request) {
        return container_request.models.empty();
      });
}
FitMemo::~FitMemo() = default;

/// The result of containers_taking() for a request that does not accept every model.
ContainerBits FitMemo::containers_naming(const model::GpuInfo& gpu) {
  if (gpu.model_id == 0 && gpu.model != unnumbered_) {
    unnumbered_ = gpu.model;
    takers_[0].reset();
  }
  std::optional<ContainerBits>& takers = takers_.at(gpu.model_id);
  if (!takers) takers = compare(gpu.model);
  return *takers;
}

/// Returns the containers that accept the model. Comparing the model with kBytesOfStep bytes of the
/// containers' model filters takes as long as one search step, and is counted as one.
ContainerBits FitMemo::compare(std::string_view model) {
  constexpr std::size_t kBytesOfStep = 128;
  const model::ModelMatcher text(model);
  ContainerBits takers = 0;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < request_.containers.size(); ++i) {
    const model::ModelFilter& filter = request_.containers[i].models;
    bytes += filter.pattern_bytes();
    if (filter.allows(text)) takers |= ContainerBits{1} << i;
  }
  count_steps(static_cast<std::int64_t>(1 + bytes / kBytesOfStep));
  return takers;
}

const model::MigTable* FitMemo::table_of_card(const model::GpuInfo& gpu, base::MebiBytes memory) {
  if (cards_.empty()) cards_.resize(model::kMaxModels);
  KnownCard& known = cards_.at(gpu.model_id);
  if (gpu.model_id == 0 || known.memory != memory) {
    // One search step takes as long as reading 16 bytes of a model's name.
    constexpr std::size_t kBytesOfStep = 16;
    count_steps(static_cast<std::int64_t>(1 + gpu.model.size() / kBytesOfStep));
    const mig::MigCard* const card = mig::find_mig_card(gpu.model, memory);
    known = {memory, card == nullptr ? nullptr : card->table.get()};
  }
  return known.table;
}

StartOrders& FitMemo::starts() {
  if (starts_ == nullptr) starts_ = std::make_unique<StartOrders>();
  return *starts_;
}

MultiContainerCache& FitMemo::multi_container() {
  if (multi_container_ == nullptr)
    multi_container_ = std::make_unique<MultiContainerCache>(request_);
  return *multi_container_;
}

model::ReasonCode fit(const model::NodeState& node, const Tenant& tenant, FitMemo& memo,
                      model::PlacementList& placements) {
  placements.clear();
  memo.count_calls(1);
  const model::GpuRequest& request = memo.request();
  if (request.empty()) {
    placements.close();
    return model::ReasonCode::kNone;
  }
  const model::ReasonCode refusal = node_refusal(node, request, tenant);
  if (refusal != model::ReasonCode::kNone && refusal != model::ReasonCode::kOtherKind)
    return refusal;
  const model::ReasonCode reason = fit_devices(node, tenant, memo, placements);
  if (refusal == model::ReasonCode::kNone) return reason;
  placements.clear();
  // Up to kNoRoom, other pods are in the way on the GPUs too.
  return reason > model::ReasonCode::kNoRoom ? reason : refusal;
}

bool can_fit(const model::NodeState& node, const Tenant& tenant, FitMemo& memo) {
  memo.count_calls(1);
  const model::GpuRequest& request = memo.request();
  if (request.empty()) return true;
  if (node_refusal(node, request, tenant) != model::ReasonCode::kNone) return false;
  if (request.is_kubelet_assigned())
    return fit_kubelet(node, request, tenant) == model::ReasonCode::kNone;
  return request.containers.size() > 1 ? can_fit_several_containers(node, tenant, memo)
                                       : can_fit_one_container(node, tenant, memo);
}

}  // namespace snug::fit
