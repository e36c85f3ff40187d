// The ApiPort of a real API server. It keeps connections alive between calls and opens at most
// limits.api_connections of them. A call, including the wait for a free connection, ends within
// api_timeout; only the look-up of a host name in the C library may take longer. After a 401,
// KubeApi reads the credentials again and repeats the call if they have changed. Thread-safe. No
// call may be in progress when a KubeApi is destroyed; events that are still queued are then lost.
// The first connection makes the process ignore SIGPIPE, unless the signal already has a handler.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

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

  [[nodiscard]] base::Result<void> bind(const model::Binding& binding) override;
  [[nodiscard]] base::Result<std::optional<model::PodFacts>> get_pod(
      std::string_view name_space, std::string_view name) override;
  [[nodiscard]] base::Result<void> wake_pending_pods(base::Generation room) override;
  [[nodiscard]] base::Result<void> set_mirrored_capacity(
      std::string_view node, const std::optional<model::MirroredAmounts>& capacity) override;
  [[nodiscard]] base::Result<void> write_mirror_parameters(
      const std::optional<admission::CardRange>& cards) override;
  bool notify(const model::Notice& notice) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace snug::kube
