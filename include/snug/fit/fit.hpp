// Feasibility: the only place that decides whether a pod can have devices of a node, and which.
// Pure functions of one node's state, a request, and what the operator lets its namespace share.
//
// The rules are in one table (src/fit/constraints.cpp). For a request of one container, each GPU is
// judged on its own (src/fit/one_container.cpp). For a request of several containers, a search
// assigns GPUs to them (src/fit/several_containers.cpp). A placement is found if and only if one
// exists, unless the request is so hard that the search reaches its limit (kMaxFitSteps). It counts
// as not fitting then.
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

/// A set of the containers of a request: bit i is the one at position i.
using ContainerBits = std::uint32_t;

/// A cache for one request, used on every node: what the containers cost, which models they accept,
/// and, for several containers, which of them a GPU can serve. Answers do not depend on it.
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
  /// What a slice must have to serve the first container. Empty if no slice can serve it.
  [[nodiscard]] const mig::SliceRequirement& slice_need() const { return slice_need_; }
  [[nodiscard]] StartOrders& starts();
  /// The containers that accept the GPU's model. The request must ask Snug for devices. A model
  /// with a number (GpuInfo::model_id) is compared once. A comparison counts as steps.
  [[nodiscard]] ContainerBits containers_taking(const model::GpuInfo& gpu) {
    return any_model_ ? ~ContainerBits{0} : containers_naming(gpu);
  }

  /// The work done with this memo so far: the calls of fit() and can_fit(), and their search steps.
  /// A unit takes a few microseconds. Callers limit their work by this number and not by time,
  /// because it is the same on every machine.
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
  bool any_model_ = true;  // all containers accept every model
  std::array<std::optional<ContainerBits>, model::kMaxModels> takers_;  // by the model's number
  std::string unnumbered_;  // the model of takers_[0]: the last one without a number
  Prices prices_;
  std::unique_ptr<MultiContainerCache> multi_container_;  // null until it is first used
  mig::SliceRequirement slice_need_;
  std::unique_ptr<StartOrders> starts_;  // null until it is first used
  std::int64_t calls_ = 0;
  std::int64_t steps_ = 0;
};

/// Writes to `options`, whose memory is reused, the placements of memo.request() on `node` among
/// which score terms may choose.
/// For one GPU these are all placements, in ascending order of GPU position. Of adjacent GPUs in
/// the same state (GpuState::is_interchangeable_with) only the first has a placement. Slices of one
/// GPU are in the order of least_blocking_starts(). For several GPUs these are some placements, all
/// different, up to a limit. A pod that requests nothing has one placement on every node, without
/// allocations.
/// Returns kNone if there is a placement. Otherwise `options` is empty, and the constraint of the
/// returned reason is the first one under which there is no placement (src/fit/constraints.cpp).
[[nodiscard]] model::ReasonCode fit(const model::NodeState& node, const Tenant& tenant,
                                    FitMemo& memo, model::PlacementList& options);

/// The reason of a node that a call did not judge, because it had reached kMaxFitStepsPerCall.
inline constexpr model::ReasonCode kNotJudged = model::ReasonCode::kNoRoom;

/// Whether fit() would find a placement. Faster, because it computes no reason and no placements.
[[nodiscard]] bool can_fit(const model::NodeState& node, const Tenant& tenant, FitMemo& memo);

}  // namespace snug::fit
