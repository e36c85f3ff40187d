// DaemonFolders is the DaemonFolderPort: the side of snug-mps of the folder by which it talks to
// snug-agent (snug/mps/mps_files.hpp), and the folders of the daemons in it. What clients could put
// into a pipe folder is never followed. Not thread-safe.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "snug/mps_service/ports.hpp"

namespace snug::host {

/// Where the daemons have their folders and their program.
struct DaemonPlaces {
  std::string root;
  /// If it is not 0, a tmpfs of this size is mounted at <root>/shm, unless something is mounted
  /// there, and the daemons see it as /dev/shm.
  std::int64_t shared_memory_mib = 0;
  std::string driver_root = "/";
  std::string control_program;  // below driver_root; empty: searched there
};

class DaemonFolders final : public mps_service::DaemonFolderPort {
 public:
  explicit DaemonFolders(DaemonPlaces places) : places_(std::move(places)) {}

  [[nodiscard]] base::Result<bool> prepare() override;
  [[nodiscard]] base::Result<mps_service::WantedFiles> wanted() override;
  [[nodiscard]] std::set<std::string, std::less<>> known() override;
  [[nodiscard]] base::Result<void> write_state(std::string_view uuid,
                                               const mps::DaemonState& state) override;
  void remove_state(std::string_view uuid) override;
  [[nodiscard]] base::Result<void> prepare_daemon(std::string_view uuid) override;
  void remove_pipes(std::string_view uuid, bool keeps_namespaces) override;
  [[nodiscard]] base::Result<std::string> write_configuration(std::string_view uuid,
                                                              std::string_view text) override;
  void trim_logs(std::string_view uuid) override;
  [[nodiscard]] base::Result<mps_service::Program> control_program() override;
  [[nodiscard]] std::string pipe_folder(std::string_view uuid) const override;
  [[nodiscard]] std::string log_folder(std::string_view uuid) const override;

 private:
  [[nodiscard]] std::string shared_memory() const;

  const DaemonPlaces places_;
};

}  // namespace snug::host
