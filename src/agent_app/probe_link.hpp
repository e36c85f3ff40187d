// The connection between the agent and the container `probe` of its pod, by an abstract Unix
// socket, which the containers of a pod share as they share their network. The probe ends when the
// agent closes the connection or dies; the kubelet then starts it again, and the runtime shows anew
// whether it refuses it (agent/enforcement_proof.hpp).
#pragma once

#include <string>
#include <thread>

#include "snug/base/mutex.hpp"
#include "snug/base/result.hpp"

namespace snug::agent_app {

/// The agent's end. Thread-safe.
class ProbeLink {
 public:
  /// `pod`: the uid of the agent's pod.
  explicit ProbeLink(const std::string& pod);
  ~ProbeLink();
  ProbeLink(const ProbeLink&) = delete;
  ProbeLink& operator=(const ProbeLink&) = delete;

  [[nodiscard]] base::Result<void> start();
  /// Ends the probe, if it runs.
  void restart_probe();

 private:
  void accept_probes();

  const std::string name_;
  int listener_ = -1;
  base::Mutex mutex_;
  int connection_ SNUG_GUARDED_BY(mutex_) = -1;
  std::thread thread_;
};

/// The probe's end: connects to the agent of the same pod and returns when the connection ends, or
/// on SIGTERM.
void wait_as_probe(const std::string& pod);

}  // namespace snug::agent_app
