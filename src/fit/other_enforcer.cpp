#include "snug/fit/other_enforcer.hpp"

#include <algorithm>

namespace snug::fit {
namespace {

bool has_mode(const model::NodeInventory& node, model::GpuMode mode) {
  return std::ranges::any_of(node.gpus, [&](const model::GpuInfo& gpu) {
    return std::ranges::find(gpu.allowed_modes, mode) != gpu.allowed_modes.end();
  });
}

/// Whether the GPUs of the container may get different modes on a node with both sharing modes.
bool may_mix_modes(const model::ContainerRequest& container) {
  return container.count > 1 && model::is_share(container.device) &&
         container.isolation == model::Isolation::kAny;
}

std::string_view unexpressed_by_fractions(const model::NodeInventory& node,
                                          const model::GpuRequest& request) {
  static_assert(kLongestFractionName == 33, "the text below");
  if (std::ranges::any_of(request.containers, is_long_for_fractions))
    return "takes names of at most 33 characters for containers with GPUs";
  if (std::ranges::any_of(request.containers, may_mix_modes) &&
      has_mode(node, model::GpuMode::kMps) && has_mode(node, model::GpuMode::kTimeSlicing))
    return "has one mode for all GPUs of a container: add gpu-isolation: time-slicing or mps";
  return {};
}

}  // namespace

std::string_view unexpressed(const model::NodeInventory& node, const model::GpuRequest& request) {
  if (!node.other_enforcer) return {};
  switch (*node.other_enforcer) {
    case model::OtherEnforcer::kNvFractions:
      return unexpressed_by_fractions(node, request);
    case model::OtherEnforcer::kKoordlet:
      if (request.containers.size() > 1)
        return "gives all containers of a pod the same GPUs, so only one may ask for some";
  }
  return {};
}

}  // namespace snug::fit
