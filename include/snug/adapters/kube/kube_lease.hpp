// One Lease of a real API server: read and written over a connection of its own, so that it never
// waits behind binds, and watched in a thread. Each call ends within apiTimeout. read() and write()
// may be called by any thread, start_watch() and stop_watch() by one.
#pragma once

#include <memory>

#include "snug/adapters/kube/endpoint.hpp"
#include "snug/adapters/kube/kube_context.hpp"
#include "snug/codec/lease_codec.hpp"
#include "snug/service/ports.hpp"

namespace snug {

class KubeLease final : public LeasePort {
 public:
  KubeLease(const ApiEndpoint& endpoint, const KubeOptions& options, const KubeContext& context,
            LeaseName name);
  ~KubeLease() override;
  KubeLease(const KubeLease&) = delete;
  KubeLease& operator=(const KubeLease&) = delete;

  [[nodiscard]] Result<std::optional<Lease>> read() override;
  [[nodiscard]] Result<Lease> write(const LeaseRecord& record, const Lease* over) override;

  /// Once only; the sink outlives stop_watch().
  void start_watch(LeaseSink& sink);
  void stop_watch();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace snug
