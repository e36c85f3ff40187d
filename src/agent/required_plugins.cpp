#include "snug/agent/required_plugins.hpp"

#include <algorithm>
#include <array>

#include "snug/model/required_plugins.hpp"

namespace snug::agent {
namespace {

constexpr std::string_view kMarkPrefix = "snug.dev/seen-by.";
constexpr std::string_view kNameCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-";

std::string joined(std::string_view prefix, std::string_view name) {
  return std::string(prefix).append(name);
}

/// Whether one of the names in `list`, in JSON or YAML, is `name`.
bool names(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t start = std::min(list.find_first_of(kNameCharacters), list.size());
    list.remove_prefix(start);
    const std::size_t length = std::min(list.find_first_not_of(kNameCharacters), list.size());
    if (length != 0 && list.substr(0, length) == name) return true;
    list.remove_prefix(length);
  }
  return false;
}

}  // namespace

bool requires_plugin(const SandboxView& sandbox, const ContainerView& container,
                     std::string_view plugin) {
  auto required =
      sandbox.annotations.find(joined(model::kRequiredPluginsOfContainer, container.name));
  if (required == sandbox.annotations.end())
    required = sandbox.annotations.find(std::string(model::kRequiredPluginsOfPod));
  return required != sandbox.annotations.end() && names(required->second, plugin);
}

void mark_if_required(const SandboxView& sandbox, const ContainerView& container,
                      std::string_view plugin, Adjustment& adjustment) {
  if (!requires_plugin(sandbox, container, plugin)) return;
  adjustment.annotations.emplace_back(joined(kMarkPrefix, plugin), container.id);
}

std::optional<std::string> gate_refusal(const SandboxView& sandbox,
                                        const ContainerView& container) {
  for (const std::string_view plugin : std::array{kAgentPlugin, kProbePlugin}) {
    if (!requires_plugin(sandbox, container, plugin)) continue;
    const auto mark = container.annotations.find(joined(kMarkPrefix, plugin));
    if (mark != container.annotations.end() && mark->second == container.id) continue;
    return "snug-gate: required plugin \"" + std::string(plugin) + "\" not present";
  }
  return std::nullopt;
}

}  // namespace snug::agent
