// HostFiles is the HostFilesPort: it finds the files of the GPU driver on the host, and keeps the
// CDI specifications of Snug. Thread-safe: it has no state besides a counter.
//
// Symbolic links of the driver's files are followed inside the driver root alone, so that a link
// never leads to another file than in the root's own view.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "snug/agent_service/ports.hpp"

namespace snug::host {

/// Where the agent's container has the files of the host.
struct HostPaths {
  std::string host_root = "/";  // where the host's root folder is mounted in the agent's container
  std::string driver_root = "/";  // on the host; /run/nvidia/driver with the GPU Operator's driver
  std::string dev_root = "/";     // on the host; has the folder dev with the device nodes
  std::string proc_root = "/";    // in the agent's container; has the folder proc
  std::string cdi_folder = "/var/run/cdi";  // in the agent's container
};

class HostFiles final : public agent_service::HostFilesPort {
 public:
  explicit HostFiles(HostPaths paths) : paths_(std::move(paths)) {}

  /// Empty if `driver_version` is. Nodes and capabilities that do not exist are absent.
  [[nodiscard]] base::Result<agent::DriverFiles> driver_files(
      std::string_view driver_version) override;
  [[nodiscard]] base::Result<std::string> boot_id() override;
  [[nodiscard]] bool exists(std::string_view host_path) override;
  [[nodiscard]] std::string path_here(std::string_view host_path) const override;
  [[nodiscard]] base::Result<void> write_cdi_spec(std::string_view name,
                                                  std::string_view json) override;
  [[nodiscard]] base::Result<void> remove_cdi_spec(std::string_view name) override;
  [[nodiscard]] base::Result<std::vector<std::string>> cdi_specs(std::string_view prefix) override;

 private:
  const HostPaths paths_;
  std::atomic<std::uint64_t> written_ = 0;  // for distinct names of temporary files
};

}  // namespace snug::host
