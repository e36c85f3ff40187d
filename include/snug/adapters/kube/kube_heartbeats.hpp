// Lists and watches the heartbeats of the nodes' agents at a real API server: the Leases in one
// namespace with the label snug.dev/agent=true. The watch runs in a thread of its own and starts
// anew after each failure, as those of KubeSource do. A failure is logged when it differs from the
// one before it. Only one thread may call start_watch() and stop_watch().
#pragma once

#include <memory>
#include <string>

#include "snug/adapters/kube/api_endpoint.hpp"
#include "snug/adapters/kube/kube_context.hpp"
#include "snug/service/ports.hpp"

namespace snug::kube {

class KubeHeartbeats {
 public:
  KubeHeartbeats(const ApiEndpoint& endpoint, const KubeOptions& options,
                 const KubeContext& context, std::string name_space);
  ~KubeHeartbeats();
  KubeHeartbeats(const KubeHeartbeats&) = delete;
  KubeHeartbeats& operator=(const KubeHeartbeats&) = delete;

  /// Starts to report the heartbeats to `sink`. Call this at most once. `sink` must live until
  /// stop_watch() has returned.
  void start_watch(service::HeartbeatSink& sink);
  void stop_watch();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace snug::kube
