// The agent's side of the folder by which it talks to snug-mps (snug/mps/mps_files.hpp).
// Thread-safe.
#pragma once

#include <string>

#include "snug/agent_service/ports.hpp"
#include "snug/base/mutex.hpp"

namespace snug::host {

class MpsFolder final : public agent_service::MpsPort {
 public:
  /// `root`: as this program sees it. It may not exist yet.
  explicit MpsFolder(std::string root) : root_(std::move(root)) {}

  /// kInvalid: a name is no uuid of a GPU, and nothing was changed.
  [[nodiscard]] base::Result<void> want_daemons(const mps::WantedDaemons& wanted) override;
  /// A state that snug-mps has not written for mps_state_stale_ms is kFailed: clients that find no
  /// daemon would use the GPU without limits. Files that are no states are left out. Without the
  /// folder the result is empty.
  [[nodiscard]] base::Result<std::map<std::string, mps::DaemonState, std::less<>>> daemon_states()
      override;

 private:
  const std::string root_;
  base::Mutex mutex_;  // one change of the folder at a time
};

}  // namespace snug::host
