// Feasibility: the only place that decides whether a pod can have devices of a node, and which.
// Pure functions of one node's state, a request, and what the operator lets its namespace share.
//
// The rules stand in one table (src/fit/constraints.cpp). A request of one container is judged GPU
// by GPU (src/fit/one_container.cpp), a request of several by search
// (src/fit/several_containers.cpp). Both find a placement if and only if there is one; only a
// request made to be hard can come to the limit of the search (kMaxFitSteps), and then counts as
// not fitting.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

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

/// Containers of a request that asks Snug for devices: bit i is the one at position i.
using ContainerBits = std::uint32_t;

/// What is computed once for a request and used on every node: prices, which models the containers
/// accept, and for several containers which of them a GPU can serve. Answers do not depend on it.
/// `request` must outlive it. Not thread-safe.
class FitMemo {
 public:
  explicit FitMemo(const model::GpuRequest& request);
  ~FitMemo();
  FitMemo(const FitMemo&) = delete;
  FitMemo& operator=(const FitMemo&) = delete;

  [[nodiscard]] const model::GpuRequest& request() const { return request_; }
  [[nodiscard]] Prices& prices() { return prices_; }
  [[nodiscard]] MultiContainerCache& multi_container();
  /// What a slice needs to serve the first container. Meaningful only if a slice can serve it.
  [[nodiscard]] const mig::SliceRequirement& slice_need() const { return slice_need_; }
  [[nodiscard]] StartOrders& starts();
  /// The containers that accept the GPU's model, by their positions in the request, which asks Snug
  /// for devices. A model with a number is compared once. Each comparison counts as steps.
  [[nodiscard]] ContainerBits containers_taking(const model::GpuInfo& gpu) {
    return any_model_ ? ~ContainerBits{0} : containers_naming(gpu);
  }

  /// The work done with it so far, in units of some microseconds: calls of fit() and their search
  /// steps. A caller that makes many calls limits them by this, because it does not depend on the
  /// machine.
  [[nodiscard]] std::int64_t work() const { return calls_ + steps_ / kStepsOfWork; }
  /// Search steps alone.
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  void count_calls(std::int64_t calls) { calls_ += calls; }
  void count_steps(std::int64_t steps) { steps_ += steps; }

 private:
  static constexpr std::int64_t kStepsOfWork = 20;

  [[nodiscard]] ContainerBits containers_naming(const model::GpuInfo& gpu);
  [[nodiscard]] ContainerBits compare(std::string_view model);

  const model::GpuRequest& request_;
  bool any_model_ = true;                                               // all containers accept all
  std::array<std::optional<ContainerBits>, model::kMaxModels> takers_;  // by the model's number
  std::string unnumbered_;  // the model that takers_[0] is about: the last one without a number
  Prices prices_;
  std::unique_ptr<MultiContainerCache> multi_container_;  // null: not asked for yet
  mig::SliceRequirement slice_need_;
  std::unique_ptr<StartOrders> starts_;  // null: not asked for yet
  std::int64_t calls_ = 0;
  std::int64_t steps_ = 0;
};

/// Writes the placements of memo.request() on `node` that score terms may choose among to
/// `options`, whose memory is reused. If one GPU is asked for, these are all placements, in
/// ascending order of GPU position (of adjacent GPUs in the same state
/// (GpuState::is_interchangeable_with) only the first), and for slices of one GPU in the order of
/// least_blocking_starts(). If more are asked for, they are placements that differ, up to a limit.
/// kNone: there is at least one. Any other reason: there is none, `options` is empty, and without
/// the constraint that the reason names (and those after it in src/fit/constraints.cpp) there would
/// be one. A pod that asks for nothing has one placement on every node: without takes.
[[nodiscard]] model::ReasonCode fit(const model::NodeState& node, const Tenant& tenant,
                                    FitMemo& memo, model::PlacementList& options);

/// The reason of a node that a call did not judge, because it came to kMaxFitStepsPerCall.
inline constexpr model::ReasonCode kNotJudged = model::ReasonCode::kNoRoom;

/// Whether fit() would find a placement.
[[nodiscard]] bool can_fit(const model::NodeState& node, const Tenant& tenant, FitMemo& memo);

}  // namespace snug::fit
