// Calls to a real API server: bind, get, touch, warn. At most limits.api_connections connections
// are open, kept alive between calls. A call, the wait for a free connection included, ends within
// api_timeout whatever the other side does (the look-up of a host name alone is the C library's and
// has its own limits). A 401 reads the credentials again, and repeats the call if they changed.
// Thread-safe; no call may be under way when it is destroyed. Events still queued then are lost.
// Ignores SIGPIPE for the process unless it is handled already.
#pragma once

#include <memory>

#include "snug/adapters/kube/endpoint.hpp"
#include "snug/adapters/kube/kube_context.hpp"
#include "snug/service/ports.hpp"

namespace snug {

class KubeApi final : public ApiPort {
 public:
  KubeApi(const ApiEndpoint& endpoint, const KubeOptions& options, const KubeContext& context);
  ~KubeApi() override;
  KubeApi(const KubeApi&) = delete;
  KubeApi& operator=(const KubeApi&) = delete;

  [[nodiscard]] Result<void> bind(const Binding& binding) override;
  [[nodiscard]] Result<std::optional<PodFacts>> get_pod(std::string_view name_space,
                                                        std::string_view name) override;
  [[nodiscard]] Result<void> touch_room(Generation room) override;
  void warn(const Notice& notice) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace snug
