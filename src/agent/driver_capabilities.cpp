#include "agent/driver_capabilities.hpp"

#include <algorithm>
#include <array>

namespace snug::agent {
namespace {

struct NamedCapability {
  std::string_view name;
  Capabilities capabilities;
};

constexpr Capabilities kAllCapabilities =
    kCompute | kUtility | kVideo | kGraphics | kDisplay | kNgx;

constexpr std::array kCapabilityNames = {
    NamedCapability{"compute", kCompute},     NamedCapability{"utility", kUtility},
    NamedCapability{"video", kVideo},         NamedCapability{"graphics", kGraphics},
    NamedCapability{"display", kDisplay},     NamedCapability{"ngx", kNgx},
    NamedCapability{"all", kAllCapabilities},
};

// Libraries that containers need only with other capabilities than compute and utility. NVIDIA's
// table is in libnvidia-container, src/nvc_info.c.
constexpr std::array kLibraryCapabilities = {
    NamedCapability{"libvdpau_nvidia", kVideo},
    NamedCapability{"libnvidia-encode", kVideo},
    NamedCapability{"libnvidia-opticalflow", kVideo},
    NamedCapability{"libnvcuvid", kVideo},
    NamedCapability{"libnvidia-ngx", kNgx},
    NamedCapability{"libGLX_nvidia", kGraphics | kDisplay},
    NamedCapability{"libEGL_nvidia", kGraphics | kDisplay},
    NamedCapability{"libGLESv1_CM_nvidia", kGraphics | kDisplay},
    NamedCapability{"libGLESv2_nvidia", kGraphics | kDisplay},
    NamedCapability{"libnvidia-eglcore", kGraphics | kDisplay},
    NamedCapability{"libnvidia-glcore", kGraphics | kDisplay},
    NamedCapability{"libnvidia-glsi", kGraphics | kDisplay},
    NamedCapability{"libnvidia-tls", kGraphics | kDisplay},
    NamedCapability{"libnvidia-fbc", kGraphics | kDisplay},
    NamedCapability{"libnvidia-ifr", kGraphics | kDisplay},
    NamedCapability{"libnvidia-glvkspirv", kGraphics | kDisplay},
    NamedCapability{"libnvidia-cbl", kGraphics | kDisplay},
    NamedCapability{"libnvidia-rtcore", kGraphics | kDisplay},
    NamedCapability{"libnvoptix", kGraphics | kDisplay},
    NamedCapability{"libnvidia-vksc-core", kGraphics},
    NamedCapability{"libnvidia-wayland-client", kDisplay},
    NamedCapability{"libglxserver_nvidia", kDisplay},
    NamedCapability{"libnvidia-gtk2", kDisplay},
    NamedCapability{"libnvidia-gtk3", kDisplay},
};

template <typename Table>
Capabilities find_row(const Table& table, std::string_view name, Capabilities otherwise) {
  const auto* const found = std::ranges::find(table, name, &NamedCapability::name);
  return found == table.end() ? otherwise : found->capabilities;
}

}  // namespace

Capabilities wanted_capabilities(std::optional<std::string_view> value) {
  Capabilities wanted = kCompute | kUtility;
  std::string_view list = value.value_or("");
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    std::string_view name = list.substr(0, comma);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    wanted |= find_row(kCapabilityNames, name, 0);
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return wanted;
}

Capabilities library_capabilities(std::string_view file_name) {
  return find_row(kLibraryCapabilities, file_name.substr(0, file_name.find(".so")), kCompute);
}

}  // namespace snug::agent
