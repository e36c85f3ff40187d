#include "snug/explain/event_sentences.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "explain/node_sentences.hpp"
#include "snug/base/text.hpp"

namespace snug::explain {
namespace {

/// Devices that are named one by one; the others are counted.
constexpr std::size_t kNamedDevices = 8;

std::string device_name(const model::ReservedDevice& device, const model::NodeState* node) {
  const auto position = node == nullptr ? std::nullopt : node->find_gpu(device);
  return position ? gpu_name(*node, *position) : "GPU " + std::to_string(device.index);
}

/// The number of other pods on the GPU of the device.
std::size_t sharing_pods(const model::Holding& pod, const model::ReservedDevice& device,
                         const model::NodeState& node) {
  const auto position = node.find_gpu(device);
  const auto holds_it = [&](const model::ReservedDevice& other) {
    return position && node.find_gpu(other) == position;
  };
  return static_cast<std::size_t>(
      std::ranges::count_if(node.holdings, [&](const model::HoldingPtr& holding) {
        return holding->uid != pod.uid &&
               std::ranges::any_of(holding->reservation.containers, [&](const auto& container) {
                 return std::ranges::any_of(container.devices(), holds_it);
               });
      }));
}

std::string sharing_text(std::size_t pods) {
  if (pods == 0) return ", no other pod on it";
  return ", shared with " + std::to_string(pods) + (pods == 1 ? " pod" : " pods");
}

/// What the device is: `20480 MiB, 25 %, shared with 2 pods`, `the whole GPU, 81920 MiB`.
std::string device_amounts(const model::Holding& pod, const model::ReservedDevice& device,
                           const model::NodeState* node) {
  const std::string memory = std::to_string(device.memory.value) + " MiB";
  if (device.slice) {
    return "slice " + device.slice->profile + " at " + std::to_string(device.slice->start) + ", " +
           memory;
  }
  if (device.mode == model::GpuMode::kWhole) return "the whole GPU, " + memory;
  return memory + ", " + base::percent_of_gpu(device.compute) +
         (node == nullptr ? "" : sharing_text(sharing_pods(pod, device, *node)));
}

/// The devices of one container, each with its name.
std::string container_devices(const model::Holding& pod, const model::ReservedContainer& container,
                              const model::NodeState* node, std::size_t& named) {
  if (const auto* units = std::get_if<model::KubeletUnits>(&container.assigned)) {
    return std::to_string(units->count) + " " + units->resource +
           ", whose devices the kubelet chooses";
  }
  std::string text;
  std::size_t unnamed = 0;
  for (const model::ReservedDevice& device : container.devices()) {
    if (named >= kNamedDevices) {
      ++unnamed;
      continue;
    }
    ++named;
    text.append(text.empty() ? "" : "; ")
        .append(device_name(device, node))
        .append(": ")
        .append(device_amounts(pod, device, node));
  }
  if (unnamed > 0) {
    text.append(text.empty() ? "" : "; and ").append(std::to_string(unnamed)).append(" more GPUs");
  }
  return text;
}

/// The sentence of the node without the reason's constant text, if the refusal says this already:
/// what stands in parentheses after it.
std::string_view without_reason(const NodeReason& node, model::ReasonCode said) {
  std::string_view sentence = node.sentence;
  const std::string reason_text = model::message(node.code) + " (";
  if (node.code != said || !sentence.starts_with(reason_text) || !sentence.ends_with(')'))
    return sentence;
  sentence.remove_prefix(reason_text.size());
  sentence.remove_suffix(1);
  return sentence;
}

}  // namespace

std::string assignment_sentence(const model::Holding& pod, const model::NodeState* node) {
  const std::vector<model::ReservedContainer>& containers = pod.reservation.containers;
  if (containers.empty()) return {};
  const std::string on_node = " of node " + pod.reservation.node;
  if (containers.size() == 1 && containers.front().devices().size() == 1) {
    const model::ReservedDevice& device = containers.front().devices().front();
    return device_name(device, node) + on_node + ": " + device_amounts(pod, device, node);
  }
  std::size_t named = 0;
  std::string text;
  for (const model::ReservedContainer& container : containers) {
    const std::string devices = container_devices(pod, container, node, named);
    text.append(text.empty() ? "" : "; ");
    if (containers.size() > 1) text.append("container ").append(container.name).append(": ");
    text += devices;
  }
  return "on node " + pod.reservation.node + ": " + text;
}

std::string refusal_sentence(const model::Refusal& refusal, const Explanation& explanation) {
  std::string text = model::message(refusal);
  if (explanation.feasible > 0) return text;
  const auto same_reason = std::ranges::find(explanation.reasons, refusal.code, &ReasonCount::code);
  if (same_reason != explanation.reasons.end() && explanation.nodes > 0) {
    text.append(" (")
        .append(std::to_string(same_reason->nodes))
        .append(" of ")
        .append(std::to_string(explanation.nodes))
        .append(explanation.nodes == 1 ? " node)" : " nodes)");
  }
  if (explanation.nearest) {
    text.append(". Nearest: ").append(without_reason(*explanation.nearest, refusal.code));
  }
  if (!explanation.advice.empty())
    text.append(". What would help: ").append(explanation.advice.front().text());
  return text;
}

}  // namespace snug::explain
