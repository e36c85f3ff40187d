// Feasibility: decides whether a request fits on a node, and on which devices. No other code
// decides this. Pure functions of the node's state, the request, and the sharing rules of its
// namespace.
//
// The rules are the table of constraints in src/fit/constraints.cpp. A request of one container is
// checked on each GPU separately (src/fit/one_container.cpp). A request of several containers needs
// a search (src/fit/several_containers.cpp). Both find a placement if one exists, unless the search
// reaches its limit (kMaxFitSteps); the request then counts as not fitting. Only a request that is
// designed to be hard reaches this limit.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "snug/fit/charge.hpp"
#include "snug/fit/tenant.hpp"
#include "snug/mig/profile_choice.hpp"
#include "snug/model/demand.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/model/placement.hpp"
#include "snug/model/reasons.hpp"
#include "snug/model/request.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::fit {

class MultiContainerCache;
class StartOrders;

/// A set of containers of an annotated pod's request: bit i is the container at position i.
using ContainerBits = std::uint32_t;

/// Caches what is computed once for a request and used on every node: charges, the GPU models that
/// each container accepts, and for several containers the sets that one GPU can serve. Except for
/// compare_loads(), it affects the speed of fit(), never its result. `request` must outlive it. Not
/// thread-safe.
class FitMemo {
 public:
  explicit FitMemo(const model::GpuRequest& request);
  ~FitMemo();
  FitMemo(const FitMemo&) = delete;
  FitMemo& operator=(const FitMemo&) = delete;

  [[nodiscard]] const model::GpuRequest& request() const { return request_; }
  [[nodiscard]] Prices& prices() { return prices_; }
  [[nodiscard]] MultiContainerCache& multi_container();
  /// What a slice must have to serve the first container. Meaningful only if a slice can serve this
  /// container.
  [[nodiscard]] const mig::SliceRequirement& slice_need() const { return slice_need_; }
  [[nodiscard]] StartOrders& starts();
  /// The containers of an annotated pod's request that accept the GPU's model. Each model that has
  /// a number (GpuInfo::model_id) is compared only once. Comparisons count as search steps.
  [[nodiscard]] ContainerBits containers_taking(const model::GpuInfo& gpu) {
    return any_model_ ? ~ContainerBits{0} : containers_naming(gpu);
  }

  /// Whether fit() offers GPUs that differ only in their load as different GPUs, because scores
  /// depend on the load. Initially false. Whether the request fits does not depend on it.
  void compare_loads(bool compares_loads) { compares_loads_ = compares_loads; }
  /// Whether fit() may offer only one of these two GPUs of one node.
  [[nodiscard]] bool are_interchangeable(const model::GpuState& a, const model::GpuState& b) const {
    return a.is_interchangeable_with(b) && (!compares_loads_ || a.info->load == b.info->load);
  }

  /// The MIG table of a card, by the GPU's model and memory; null: the card has none. Remembers the
  /// last memory size of each model that has a number. Look-ups count as search steps.
  [[nodiscard]] const model::MigTable* table_of_card(const model::GpuInfo& gpu,
                                                     base::MebiBytes memory);

  /// The work done so far, in units of some microseconds: the calls of fit() plus their search
  /// steps divided by kStepsOfWork. Callers limit work instead of time, so that results do not
  /// depend on the machine.
  [[nodiscard]] std::int64_t work() const { return calls_ + steps_ / kStepsOfWork; }
  /// The search steps so far, without the calls.
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  void count_calls(std::int64_t calls) { calls_ += calls; }
  void count_steps(std::int64_t steps) { steps_ += steps; }

 private:
  static constexpr std::int64_t kStepsOfWork = 20;

  [[nodiscard]] ContainerBits containers_naming(const model::GpuInfo& gpu);
  [[nodiscard]] ContainerBits compare(std::string_view model);

  const model::GpuRequest& request_;
  bool any_model_ = true;  // every container accepts every model
  std::array<std::optional<ContainerBits>, model::kMaxModels> takers_;  // by GpuInfo::model_id
  std::string unnumbered_;  // the last model without a number, to which takers_[0] applies
  Prices prices_;
  std::unique_ptr<MultiContainerCache> multi_container_;  // null: not used yet
  mig::SliceRequirement slice_need_;
  std::unique_ptr<StartOrders> starts_;  // null: not used yet
  struct KnownCard {
    base::MebiBytes memory{-1};  // -1: not looked up yet
    const model::MigTable* table = nullptr;
  };
  std::vector<KnownCard> cards_;  // by GpuInfo::model_id; empty: not used yet
  bool compares_loads_ = false;
  std::int64_t calls_ = 0;
  std::int64_t steps_ = 0;
};

/// Finds placements of memo.request() on `node`. Clears `placements` and adds the placements to it:
///   - For one GPU, all placements in ascending order of GPU position. Of adjacent GPUs in the same
///     state (FitMemo::are_interchangeable) only the first is offered. Starts of a slice on one
///     GPU are in the order of mig::least_blocking_starts().
///   - For several GPUs, different placements up to a limit.
///   - For a kubelet-assigned or an empty request, one placement without allocations.
/// Returns kNone if there is a placement, else the reason why there is none. If the reason is that
/// of a constraint in src/fit/constraints.cpp, a placement would exist without this constraint and
/// the constraints after it, and without pods of the other kind.
[[nodiscard]] model::ReasonCode fit(const model::NodeState& node, const Tenant& tenant,
                                    FitMemo& memo, model::PlacementList& placements);

/// The reason that a node gets if a call did not judge it because the call reached
/// kMaxFitStepsPerCall.
inline constexpr model::ReasonCode kNotJudged = model::ReasonCode::kNoRoom;

/// Whether fit() would find a placement. It is faster, because it computes no reason and no
/// placements.
[[nodiscard]] bool can_fit(const model::NodeState& node, const Tenant& tenant, FitMemo& memo);

}  // namespace snug::fit
