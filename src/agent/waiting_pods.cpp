#include "snug/agent/waiting_pods.hpp"

#include <algorithm>
#include <string>

namespace snug::agent {
namespace {

/// Reasons of the kubelet: the runtime failed to create, or to start, the container.
constexpr std::string_view kNotCreated = "CreateContainerError";
constexpr std::string_view kNotStarted = "RunContainerError";

/// The kubelet's message has the runtime's words before those of the plug-in.
bool refused_by_agent(const PodContainerView& container) {
  if (container.waiting_reason != kNotCreated && container.waiting_reason != kNotStarted)
    return false;
  const std::string_view message = container.waiting_message;
  return message.starts_with(kRefusalPrefix) ||
         message.find(' ' + std::string(kRefusalPrefix)) != std::string_view::npos;
}

}  // namespace

bool lacks_plugin(const PodContainerView& container, std::string_view plugin) {
  return container.waiting_reason == kNotCreated &&
         container.waiting_message.find('"' + std::string(plugin) + '"') != std::string::npos;
}

bool waits_for_agent(const PodView& pod) {
  return !pod.terminating &&
         std::ranges::any_of(pod.containers, [](const PodContainerView& container) {
           return refused_by_agent(container) || lacks_plugin(container, kAgentPlugin);
         });
}

}  // namespace snug::agent
