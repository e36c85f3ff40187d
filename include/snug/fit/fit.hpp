// Feasibility: the only place that decides whether a pod can have devices of a node, and which.
// Pure functions of one node's state, a request, and what the operator lets its namespace share.
//
// A request of one container is judged GPU by GPU (src/fit/single.cpp), one of several by search
// (src/fit/search.cpp). Both find a placement if and only if there is one; only a request made to
// be hard may come to the search's bound (kMostFitSteps), and then counts as not fitting.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "snug/fit/charge.hpp"
#include "snug/fit/tenant.hpp"
#include "snug/mig/choose.hpp"
#include "snug/model/demand.hpp"
#include "snug/model/node.hpp"
#include "snug/model/placement.hpp"
#include "snug/model/refusal.hpp"
#include "snug/model/request.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

class SeveralMemo;
class StartOrders;

/// Containers of a request that asks Snug for devices: bit i is the one at position i.
using ContainerBits = std::uint32_t;

/// What is worked out once for a request and serves on every node: prices, and for several
/// containers which of them a GPU can serve, and which models they take. Answers do not depend on
/// it. Not thread-safe; `request` outlives it.
class FitMemo {
 public:
  explicit FitMemo(const GpuRequest& request);
  ~FitMemo();
  FitMemo(const FitMemo&) = delete;
  FitMemo& operator=(const FitMemo&) = delete;

  [[nodiscard]] const GpuRequest& request() const { return request_; }
  [[nodiscard]] Prices& prices() { return prices_; }
  [[nodiscard]] SeveralMemo& several();
  /// Of the first container, as a slice; of one that can be none it says nothing.
  [[nodiscard]] const SliceNeed& slice_need() const { return slice_need_; }
  [[nodiscard]] StartOrders& starts();
  /// Which containers take GPUs of this one's model, by their positions in the request, which asks
  /// nothing of the kubelet. A model with a number is compared once; each time counts as steps.
  [[nodiscard]] ContainerBits takers(const GpuInfo& gpu);

  /// What has been done with it so far, in units of some microseconds: calls of fit(), and their
  /// steps of search. Whoever makes many calls bounds them by it, since it is the same everywhere.
  [[nodiscard]] std::int64_t work() const { return calls_ + steps_ / kStepsOfWork; }
  /// Steps of search alone.
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  void count_calls(std::int64_t calls) { calls_ += calls; }
  void count_steps(std::int64_t steps) { steps_ += steps; }

 private:
  static constexpr std::int64_t kStepsOfWork = 20;

  [[nodiscard]] ContainerBits compare(std::string_view model);

  const GpuRequest& request_;
  bool any_model_ = true;                                         // all containers take all models
  std::array<std::optional<ContainerBits>, kMostModels> takers_;  // by the model's number
  std::string unnumbered_;  // the model that takers_[0] is about: the last one without a number
  Prices prices_;
  std::unique_ptr<SeveralMemo> several_;  // null: not asked for yet
  SliceNeed slice_need_;
  std::unique_ptr<StartOrders> starts_;  // null: not asked for yet
  std::int64_t calls_ = 0;
  std::int64_t steps_ = 0;
};

/// The placements of memo.request() on `node` that score terms may choose among, written to
/// `options`, whose memory is reused. Where one GPU is asked for these are all, in ascending order
/// of GPU position, of neighbours in the same state (GpuState::same_as) only the first, and on one
/// GPU in the order of starts_that_block_least() where it is a slice; where more are, those that
/// differ, up to some number. kNone: there is at least one. Any other reason: there is none,
/// `options` is empty, and the reason is true of the node: without the constraint that it names
/// (and those that Level in src/fit/levels.hpp lists after it) there would be one. A pod that asks
/// for nothing has one placement on every node: without takes.
[[nodiscard]] ReasonCode fit(const NodeState& node, const Tenant& tenant, FitMemo& memo,
                             PlacementList& options);

/// What is said of a node to which a call did not get (kMostFitStepsOfCall).
inline constexpr ReasonCode kNotJudged = ReasonCode::kNoRoom;

/// Whether fit() would find any.
[[nodiscard]] bool can_fit(const NodeState& node, const Tenant& tenant, FitMemo& memo);

}  // namespace snug
