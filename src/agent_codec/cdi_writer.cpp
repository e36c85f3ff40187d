#include "snug/agent_codec/cdi_writer.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "snug/base/agent_limits.hpp"

namespace snug::agent_codec {
namespace {

using Json = nlohmann::ordered_json;

// With type and numbers, the runtime needs no access to the host's node. The read-only mounts are
// private, so that nothing is mounted into the container later.
constexpr const char* kMountOptions[] = {"ro", "nosuid", "nodev", "rbind", "rprivate"};

Json edits_of(const agent::CdiSpec& spec) {
  Json edits = Json::object();
  for (const auto& [name, value] : spec.env) {
    std::string variable = name;
    variable += '=';
    variable += value;
    edits["env"].push_back(std::move(variable));
  }
  for (const agent::DriverNode& node : spec.nodes) {
    edits["deviceNodes"].push_back({{"path", node.path},
                                    {"hostPath", node.host_path},
                                    {"type", "c"},
                                    {"major", node.major},
                                    {"minor", node.minor},
                                    {"permissions", "rw"}});
  }
  for (const agent::CdiMount& mount : spec.mounts) {
    edits["mounts"].push_back({{"hostPath", mount.host_path},
                               {"containerPath", mount.container_path},
                               {"options", kMountOptions}});
  }
  return edits;
}

}  // namespace

base::Result<std::string> write_cdi_spec(const agent::CdiSpec& spec) {
  const Json json = {
      {"cdiVersion", "0.6.0"},
      {"kind", agent::kCdiKind},
      {"devices", Json::array({Json{{"name", spec.device}, {"containerEdits", edits_of(spec)}}})}};
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (static_cast<std::int64_t>(text.size()) > base::agent_limits::max_cdi_spec_bytes) {
    return base::fail(base::ErrorCode::kTooLarge,
                      "the CDI specification " + spec.device + " has " +
                          std::to_string(text.size()) + " bytes; allowed are " +
                          std::to_string(base::agent_limits::max_cdi_spec_bytes));
  }
  return text;
}

}  // namespace snug::agent_codec
