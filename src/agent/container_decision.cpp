#include "snug/agent/container_decision.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "agent/container_role.hpp"
#include "agent/driver_capabilities.hpp"
#include "agent/gpu_signs.hpp"
#include "agent/reserved_devices.hpp"
#include "snug/agent/container_terms.hpp"

namespace snug::agent {
namespace {

// The PATH with which containerd starts a container whose image sets none.
constexpr std::string_view kDefaultPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

bool has_folder(std::string_view paths, std::string_view folder) {
  while (true) {
    const std::size_t colon = paths.find(':');
    if (paths.substr(0, colon) == folder) return true;
    if (colon == std::string_view::npos) return false;
    paths.remove_prefix(colon + 1);
  }
}

/// Appends the folder to the list of folders in the variable, so that the container's own files
/// come first.
void extend_folders(Adjustment& adjustment, const ContainerView& container, std::string_view name,
                    std::string_view folder) {
  const std::string_view before = name == "PATH" ? kDefaultPath : std::string_view();
  std::string value(variable(container.env, name).value_or(before));
  if (has_folder(value, folder)) return;
  if (!value.empty()) value += ':';
  value += folder;
  adjustment.env.emplace_back(name, std::move(value));
}

void add_driver_mounts(CdiSpec& spec, const ContainerView& container, const DriverFiles& files) {
  const Capabilities wanted =
      wanted_capabilities(variable(container.env, "NVIDIA_DRIVER_CAPABILITIES"));
  for (const DriverFile& library : files.libraries) {
    if ((library_capabilities(library.name) & wanted) == 0) continue;
    spec.mounts.push_back({library.host_path, std::string(kLibraryFolder) + "/" + library.name});
  }
  for (const DriverFile& program : files.programs) {
    spec.mounts.push_back({program.host_path, std::string(kProgramFolder) + "/" + program.name});
  }
}

std::expected<void, ContainerRefusal> limit_shares(ContainerDecision& decision,
                                                   const ContainerInput& input,
                                                   const model::ReservedContainer& reserved,
                                                   const NodeInput& node) {
  auto additions = additions_of(input, reserved, node);
  if (!additions) return std::unexpected(additions.error());
  const auto problem =
      daemon_problem(reserved.devices(), node.devices, mps_client(input, reserved, node));
  if (!problem.empty()) return refuse(input, problem, true);
  std::ranges::move(additions->env, std::back_inserter(decision.adjustment.env));
  std::ranges::move(additions->mounts, std::back_inserter(decision.adjustment.mounts));
  return {};
}

std::expected<void, ContainerRefusal> give_devices(ContainerDecision& decision,
                                                   const ContainerInput& input,
                                                   const model::ReservedContainer& reserved,
                                                   const NodeInput& node) {
  auto nodes = reserved_nodes(reserved.devices(), node);
  if (!nodes) return refuse(input, nodes.error().sentence, nodes.error().retry);
  CdiSpec spec{.device = cdi_device_name(input.sandbox.uid, input.container.name),
               .nodes = *std::move(nodes)};
  add_driver_mounts(spec, input.container, node.files);
  extend_folders(decision.adjustment, input.container, "PATH", kProgramFolder);
  extend_folders(decision.adjustment, input.container, "LD_LIBRARY_PATH", kLibraryFolder);
  decision.spec = std::move(spec);
  return {};
}

/// Gives the container the CDI device with the variables once more: see own_device().
void repeat_variables(ContainerDecision& decision, const ContainerInput& input,
                      const RoleOfContainer& role) {
  std::string own = own_device(input, role);
  if (own.empty()) return;
  if (!decision.spec)
    decision.spec.emplace().device = cdi_device_name(input.sandbox.uid, input.container.name);
  decision.spec->env = decision.adjustment.env;
  decision.adjustment.cdi_devices.push_back(std::move(own));
}

}  // namespace

std::expected<ContainerDecision, ContainerRefusal> decide_container(const ContainerInput& input,
                                                                    const NodeInput& node) {
  const auto role = role_of(input, node);
  if (!role) return std::unexpected(role.error());
  const auto checked = check_requests(input, *role, node);
  if (!checked) return std::unexpected(checked.error());
  ContainerDecision decision{.role = role->role};
  if (role->role == ContainerRole::kExempt || keeps_variable(*role, input.container))
    return decision;
  decision.adjustment.env.emplace_back(kVisibleDevices, kNoDevices);
  if (role->reserved != nullptr) {
    const auto given = give_devices(decision, input, *role->reserved, node);
    if (!given) return std::unexpected(given.error());
    const auto limited = limit_shares(decision, input, *role->reserved, node);
    if (!limited) return std::unexpected(limited.error());
  }
  repeat_variables(decision, input, *role);
  return decision;
}

std::expected<std::vector<MemoryLimit>, ContainerRefusal> limits_at_start(
    const ContainerInput& input, const NodeInput& node) {
  const auto role = role_of(input, node);
  if (!role) return std::unexpected(role.error());
  if (role->reserved == nullptr) return std::vector<MemoryLimit>{};
  return memory_limits(role->reserved->devices(), node.devices);
}

}  // namespace snug::agent
