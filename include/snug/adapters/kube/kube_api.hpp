// Calls to a real API server: bind, get, touch, warn. At most limits.api_connections connections
// are open; they are kept alive between calls. A call, including the wait for a free connection,
// ends within api_timeout; only the look-up of a host name, which the C library does, may take
// longer. After a 401 the credentials are read again, and the call is repeated if they changed.
// Thread-safe. No call may be in progress when it is destroyed; queued events are lost then. The
// first connection makes the process ignore SIGPIPE, unless the signal has a handler.
#pragma once

#include <memory>

#include "snug/adapters/kube/api_endpoint.hpp"
#include "snug/adapters/kube/kube_context.hpp"
#include "snug/service/ports.hpp"

namespace snug::kube {

class KubeApi final : public service::ApiPort {
 public:
  KubeApi(const ApiEndpoint& endpoint, const KubeOptions& options, const KubeContext& context);
  ~KubeApi() override;
  KubeApi(const KubeApi&) = delete;
  KubeApi& operator=(const KubeApi&) = delete;

  [[nodiscard]] base::Result<void> bind(const service::Binding& binding) override;
  [[nodiscard]] base::Result<std::optional<model::PodFacts>> get_pod(
      std::string_view name_space, std::string_view name) override;
  [[nodiscard]] base::Result<void> wake_pending_pods(base::Generation room) override;
  void warn(const service::Notice& notice) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace snug::kube
