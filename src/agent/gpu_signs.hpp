// The ways in which a container can ask for a GPU or have one: variables, CDI devices, mounts,
// device nodes and annotations. Pure; thread-safe.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/agent/container_view.hpp"
#include "snug/agent/driver_files.hpp"

namespace snug::agent {

/// The value with which NVIDIA's runtime leaves the container as it is.
inline constexpr std::string_view kNoDevices = "void";

/// Returns the path without empty, `.` and `..` parts, and with /run for /var/run.
[[nodiscard]] std::string plain_path(std::string_view path);

/// Whether the plain path is the folder or below it.
[[nodiscard]] bool is_in(std::string_view path, std::string_view folder);

/// The value of an entry NAME=value; nullopt: it is of another variable.
[[nodiscard]] std::optional<std::string_view> value_of(std::string_view entry,
                                                       std::string_view name);
/// The value of the last variable NAME=value with this name; nullopt: there is none.
[[nodiscard]] std::optional<std::string_view> variable(const std::vector<std::string>& env,
                                                       std::string_view name);

/// Whether this value of NVIDIA_VISIBLE_DEVICES may ask for GPUs.
[[nodiscard]] bool asks_for_gpus(std::string_view value);
/// Whether any entry of NVIDIA_VISIBLE_DEVICES may ask for GPUs.
[[nodiscard]] bool may_ask_for_gpus(const std::vector<std::string>& env);

/// Whether the CDI device is a GPU: of a vendor nvidia.com or *.nvidia.com, or of Snug's kind.
[[nodiscard]] bool is_gpu_device(std::string_view qualified_name);
/// The first GPU among the CDI devices, apart from `own`; null: there is none.
[[nodiscard]] const std::string* gpu_device(const std::vector<std::string>& cdi_devices,
                                            std::string_view own = {});

/// The first mount that asks NVIDIA's runtime for GPUs; null: there is none.
[[nodiscard]] const MountView* asking_mount(const std::vector<MountView>& mounts);

/// Whether the node is one of NVIDIA's: by its path, or by its major number.
[[nodiscard]] bool is_gpu_node(const DeviceNodeView& node, const DriverFiles& files);
[[nodiscard]] bool is_same_node(const DeviceNodeView& node, const DriverNode& other);
/// The first of NVIDIA's nodes that is not in `allowed`; null: there is none.
[[nodiscard]] const DeviceNodeView* gpu_node(const std::vector<DeviceNodeView>& nodes,
                                             const DriverFiles& files,
                                             std::span<const DriverNode> allowed = {});

/// The key of the first annotation of CDI that asks for a GPU; null: there is none. NVIDIA's
/// runtime and its NRI plug-in obey nvidia.cdi.k8s.io/*, and container runtimes obey cdi.k8s.io/*.
[[nodiscard]] const std::string* asking_annotation(const SandboxView& sandbox);

/// Whether anything of the container itself shows that it may get a GPU.
[[nodiscard]] bool shows_gpu(const ContainerView& container, const DriverFiles& files);

}  // namespace snug::agent
