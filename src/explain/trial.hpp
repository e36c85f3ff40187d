// Tries a request on the nodes of a snapshot, as they are or changed, by the rules of filter and
// bind and with CPU and memory. Counts its work. Not thread-safe; for one request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "snug/explain/explain.hpp"
#include "snug/fit/fit.hpp"
#include "snug/fit/suitable_gpu.hpp"
#include "snug/fit/tenant.hpp"
#include "snug/model/placement.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/plan/incoming_pod.hpp"
#include "snug/plan/plan.hpp"

namespace snug::explain {

using Slot = std::uint32_t;  // a node's position in Snapshot::nodes

/// A copy of `incoming` that asks for `request`.
[[nodiscard]] plan::IncomingPod with_request(const plan::IncomingPod& incoming,
                                             const model::GpuRequest& request);
/// A copy of `incoming` under other sharing rules.
[[nodiscard]] plan::IncomingPod with_rules(const plan::IncomingPod& incoming,
                                           const model::SharingRules& sharing);

/// What the snapshot shows of a node beside its state. The snapshot must outlive the result.
[[nodiscard]] plan::NodeContext context_of(const model::Snapshot& snapshot, Slot slot);

class Trial {
 public:
  /// The arguments must outlive the trial.
  Trial(const model::Snapshot& snapshot, const plan::IncomingPod& incoming);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  [[nodiscard]] const plan::IncomingPod& incoming() const { return incoming_; }
  [[nodiscard]] const model::Snapshot& snapshot() const { return snapshot_; }
  [[nodiscard]] fit::FitMemo& memo() { return memo_; }

  /// Why the node's GPUs do not take the request; kNone: they do.
  [[nodiscard]] model::ReasonCode reason(Slot slot);
  /// reason(), and if it is kNone, the score class of the best placement.
  [[nodiscard]] plan::Verdict verdict(Slot slot);
  /// Whether the node has enough CPU, memory and pod slots.
  [[nodiscard]] bool host_fits(Slot slot) const;
  /// Whether the node as it is takes the request. Faster than reason().
  [[nodiscard]] bool takes(Slot slot);
  /// Whether the node takes the request in another state, with other intents (null: none) and
  /// another usage of namespaces.
  [[nodiscard]] bool takes_in(Slot slot, const model::NodeState& state,
                              const model::Intents* intents,
                              const model::NamespaceUsage& namespace_usage);

  /// The trial of one container as if the pod had no other: this one, if the pod has no other.
  [[nodiscard]] Trial& of_container(std::size_t position);

  /// The pods that are about to be bound to the node and count against this one.
  [[nodiscard]] model::Intents counted_intents(Slot slot) const;

  /// Whether the node's GPUs as they are have room for the request. CPU, memory, intents and
  /// nominated pods do not matter.
  [[nodiscard]] bool gpus_have_room(const model::NodeState& node) {
    return fit::can_fit(node, tenant_, memo_);
  }
  /// Whether the GPU at this position of NodeState::gpus could serve the first container if it had
  /// room.
  [[nodiscard]] bool is_suitable(const model::NodeState& node, std::size_t gpu) {
    return fit::is_suitable(node, gpu, tenant_, memo_);
  }

  /// The work so far: calls of fit(), and computed node states by their numbers of holdings. The
  /// trials of single containers, which only describe a refusal, do not count.
  [[nodiscard]] std::int64_t work() const { return memo_.work() + states_; }
  /// Counts the computation of a node state with so many holdings.
  void count_state(std::size_t holdings) {
    states_ += 1 + static_cast<std::int64_t>(holdings) / kHoldingsOfCall;
  }

 private:
  struct SingleContainer;
  /// Adding so many holdings to a node state takes about as long as a call of fit().
  static constexpr std::int64_t kHoldingsOfCall = 4;

  [[nodiscard]] model::ReasonCode reason_in(Slot slot, const model::NodeState& state,
                                            const model::Intents* intents,
                                            const fit::Tenant& tenant,
                                            const model::NamespaceUsage& namespace_usage);

  const model::Snapshot& snapshot_;
  plan::IncomingPod incoming_;
  fit::FitMemo memo_;
  fit::Tenant tenant_;
  model::PlacementList options_;
  std::int64_t states_ = 0;
  std::vector<std::unique_ptr<SingleContainer>> single_containers_;  // empty: not used yet
};

}  // namespace snug::explain
