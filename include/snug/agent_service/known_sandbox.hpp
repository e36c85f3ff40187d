// What is known about the pod of a sandbox: its specification, from the watch, and its reservation,
// from the annotations that the container runtime has. Pure; thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "snug/agent/container_decision.hpp"
#include "snug/agent_service/pod_book.hpp"
#include "snug/agent_service/running_containers.hpp"
#include "snug/base/limits.hpp"

namespace snug::agent_service {

struct KnownSandbox {
  PodBook::PodRef pod;  // null: the watch does not know it
  std::optional<agent::ReadReservation> reservation;

  /// All must outlive the result.
  [[nodiscard]] agent::ContainerInput input(const agent::SandboxView& sandbox,
                                            const agent::ContainerView& container) const {
    return {sandbox, container, pod.get(), reservation ? &*reservation : nullptr};
  }
  /// The reservation; null if there is none, or it is for another pod than the sandbox's or for
  /// another node.
  [[nodiscard]] const model::Reservation* own_reservation(const agent::SandboxView& sandbox,
                                                          std::string_view node) const;
};

[[nodiscard]] KnownSandbox known_sandbox(const PodBook& pods, const agent::SandboxView& sandbox,
                                         const base::Limits& limits);

/// Calls f() with the inputs of all containers, in their order; they are valid during the call.
template <typename F>
void with_inputs(const RunningContainers::Refs& containers, const PodBook& pods,
                 const base::Limits& limits, F f) {
  std::map<const agent::SandboxView*, KnownSandbox> by_sandbox;
  std::vector<agent::ContainerInput> inputs;
  for (const RunningContainers::Ref& each : containers) {
    const agent::SandboxView* sandbox = each->sandbox.get();
    auto found = by_sandbox.find(sandbox);
    if (found == by_sandbox.end())
      found = by_sandbox.emplace(sandbox, known_sandbox(pods, *sandbox, limits)).first;
    inputs.push_back(found->second.input(*sandbox, each->container));
  }
  f(inputs);
}

}  // namespace snug::agent_service
