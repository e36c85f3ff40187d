#include "fit/constraints.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "fit/gpu_modes.hpp"
#include "fit/slices.hpp"
#include "snug/fit/suitable_gpu.hpp"

namespace snug::fit {
namespace {

/// A memory size that no GPU exceeds. It is assumed for a vanished GPU, whose size is unknown.
constexpr base::MebiBytes kAnySize{base::kLargestQuantity};

base::MebiBytes capacity_of(const GpuView& gpu_view) {
  return gpu_view.vanished() ? kAnySize : gpu_view.gpu.memory;
}

/// TooLarge: the GPU must be large enough for the container if no pod held it. Its mode does not
/// matter.
void restrict_to_size(GpuOffer& offered, const GpuView& gpu_view) {
  offered.capacity = capacity_of(gpu_view);
  offered.free = {.memory = offered.capacity, .compute = base::kWholeGpu};
  offered.allowed = ~ContainerBits{0};
  offered.shared_as.fill(model::GpuMode::kTimeSlicing);
  offered.whole = true;
  offered.any_profile = true;
  if (serves_slices(*gpu_view.gpu.info)) offered.mig = MigFree::empty_card(*gpu_view.gpu.info);
}

/// ModelExcluded: the container must accept the GPU's model.
void restrict_to_model(GpuOffer& offered, const GpuView& gpu_view) {
  if (!gpu_view.vanished()) offered.allowed = gpu_view.takers;
}

/// Returns mode_for(isolation) for each isolation. The calls are written out instead of a loop,
/// because this is in the inner loop of filter.
template <typename ModeFor>
std::array<model::GpuMode, 4> by_isolation(const ModeFor& mode_for) {
  using enum model::Isolation;
  return {mode_for(kAny), mode_for(kTimeSlicing), mode_for(kMps), mode_for(kMig)};
}

/// WrongMode: the operator must allow the requested mode, a GPU that is already shared must be in
/// this mode, the node must enforce shares if the tenant requires it, and on a node with an agent a
/// container gets shares of several GPUs only in another mode than MPS.
void restrict_to_modes(GpuOffer& offered, const GpuView& gpu_view) {
  if (gpu_view.vanished()) return;
  const model::GpuState& gpu = gpu_view.gpu;
  offered.whole = gpu.allows_whole;
  offered.one_mps_device = gpu_view.node_view.one_mps_device;
  offered.any_profile = false;
  if (offered.mig.table) {
    offered.mig.keep_what_node_offers(*gpu_view.node_view.node.inventory, *gpu.info);
    offered.shared_as = by_isolation([](model::Isolation isolation) {
      return may_be_slice(isolation) ? model::GpuMode::kMig : model::GpuMode::kNone;
    });
  } else if (gpu_view.node_view.unenforced) {
    offered.shared_as.fill(model::GpuMode::kNone);
  } else {
    offered.shared_as =
        by_isolation([&](model::Isolation isolation) { return serving_mode(gpu, isolation); });
  }
}

/// Unhealthy: the GPU must be open, and a slice must not use failed memory slices.
void restrict_to_healthy(GpuOffer& offered, const GpuView& gpu_view) {
  if (gpu_view.gpu.closure != model::GpuClosure::kOpen) offered.allowed = 0;
  if (offered.mig.table) offered.mig.remove_failed(*gpu_view.gpu.info);
}

/// CapReached: the unused part of the namespace's cap must be enough.
void restrict_to_cap(GpuOffer& offered, const GpuView& gpu_view) {
  offered.cap_left = gpu_view.cap_left;
}

/// NoRoom: the requested part of the GPU must be free.
void restrict_to_free(GpuOffer& offered, const GpuView& gpu_view) {
  const model::GpuState& gpu = gpu_view.gpu;
  offered.free = {.memory = gpu.free_memory(), .compute = gpu.free_compute()};
  if (offered.mig.table) {
    offered.mig.remove_taken(gpu);
  } else if (!gpu.empty()) {
    offered.whole = false;
    if (!model::is_sharing_mode(gpu.mode)) offered.shared_as.fill(model::GpuMode::kNone);
  }
}

/// OtherNamespace: the tenant must not be isolated from any pod that holds the GPU.
void restrict_to_neighbours(GpuOffer& offered, const GpuView& gpu_view) {
  if (gpu_view.isolated) offered.shared_as.fill(model::GpuMode::kNone);
}

bool has_cap(const NodeView& node_view) { return node_view.tenant.cap_remaining != kNoCap; }
bool isolates_any(const NodeView& node_view) { return !node_view.isolated.empty(); }

constexpr auto kConstraints = std::to_array<Constraint>({
    {model::ReasonCode::kTooLarge, nullptr, restrict_to_size},
    {model::ReasonCode::kModelExcluded, nullptr, restrict_to_model},
    {model::ReasonCode::kWrongMode, nullptr, restrict_to_modes},
    {model::ReasonCode::kUnhealthy, nullptr, restrict_to_healthy},
    {model::ReasonCode::kCapReached, has_cap, restrict_to_cap},
    {model::ReasonCode::kNoRoom, nullptr, restrict_to_free},
    {model::ReasonCode::kOtherNamespace, isolates_any, restrict_to_neighbours},
});
static_assert(std::ranges::is_sorted(kConstraints, std::ranges::greater{}, &Constraint::reason),
              "the rows must be in the reverse order of their reasons in the table of reasons");

/// Whether `offered` is enough for the container. `cost` is its charge.
bool satisfies(const GpuOffer& offered, const ContainerNeed& need, const Charge& cost) {
  if ((offered.allowed & 1U) == 0) return false;
  const bool whole = std::holds_alternative<model::WholeGpuRequest>(need.container_request.device);
  if (!(whole ? offered.whole
              : offered.shares_for(need.container_request) != model::GpuMode::kNone)) {
    return false;
  }
  const bool names_profile =
      std::holds_alternative<model::SliceRequest>(need.container_request.device);
  if (offered.mig.table && !whole) {
    const auto profile = offered.mig.profile_for(need.slice);
    if (!profile) return names_profile && offered.any_profile;
    return offered.mig.open_anywhere(*profile) &&
           slice_charge(*offered.mig.table, *profile).compute.value <= offered.cap_left;
  }
  if (names_profile && !offered.any_profile) return false;
  return offered.has_free(cost) && cost.compute.value <= offered.cap_left;
}

/// Returns the result of constraints_met(). The loop over the rows is unrolled, so that the
/// compiler sees which functions are called.
template <std::size_t... Row>
std::size_t met_in_order(const GpuView& gpu_view, const ContainerNeed& need,
                         std::index_sequence<Row...> /*rows*/) {
  const Charge& cost = need.prices.price_of(0, capacity_of(gpu_view)).cost;
  GpuOffer offered;
  std::size_t met = 0;
  const auto meets = [&](const Constraint& constraint) {
    constraint.restrict_to(offered, gpu_view);
    return satisfies(offered, need, cost);
  };
  (void)((meets(kConstraints[Row]) && ++met != 0) && ...);
  return met;
}

/// Returns the result of meets_all(). The loop is unrolled as in met_in_order().
template <std::size_t... Row>
bool meets_all_rows(const GpuView& gpu_view, const ContainerNeed& need,
                    std::index_sequence<Row...> /*rows*/) {
  GpuOffer offered;
  (kConstraints[Row].restrict_to(offered, gpu_view), ...);
  return satisfies(offered, need, need.prices.price_of(0, capacity_of(gpu_view)).cost);
}

}  // namespace

std::span<const Constraint> constraints() { return kConstraints; }

bool include_cap(std::size_t constraint_count) {
  const auto cap =
      std::ranges::find(kConstraints, model::ReasonCode::kCapReached, &Constraint::reason);
  return cap < kConstraints.begin() + constraint_count;
}

GpuOffer allocatable(const GpuView& gpu_view, std::size_t constraint_count) {
  GpuOffer offered;
  for (std::size_t i = 0; i < constraint_count; ++i) kConstraints[i].restrict_to(offered, gpu_view);
  return offered;
}

std::size_t last_applicable(const NodeView& node_view) {
  std::size_t last_constraint = kConstraints.size() - 1;
  while (kConstraints[last_constraint].applies != nullptr &&
         !kConstraints[last_constraint].applies(node_view))
    --last_constraint;
  return last_constraint;
}

/// All calls are inlined, because this is the inner loop of filter. The compiler then removes
/// assignments that a later constraint overwrites.
[[gnu::flatten]] bool meets_all(const GpuView& gpu_view, const ContainerNeed& need) {
  return meets_all_rows(gpu_view, need, std::make_index_sequence<kConstraints.size()>());
}

std::size_t constraints_met(const GpuView& gpu_view, const ContainerNeed& need) {
  return met_in_order(gpu_view, need, std::make_index_sequence<kConstraints.size()>());
}

bool is_suitable(const model::NodeState& node, std::size_t gpu, const Tenant& tenant,
                 FitMemo& memo) {
  const NodeView node_view{.node = node, .tenant = tenant, .isolated = {}};
  GpuView gpu_view(node_view, gpu);
  gpu_view.takers = memo.containers_taking(*gpu_view.gpu.info);
  const ContainerNeed need{memo.request().containers.front(), memo.slice_need(), memo.prices()};
  const auto room =
      std::ranges::find(kConstraints, model::ReasonCode::kNoRoom, &Constraint::reason);
  return std::cmp_greater_equal(constraints_met(gpu_view, need), room - kConstraints.begin());
}

}  // namespace snug::fit
