// One Lease of a real API server. It has its own connection, so that it never waits for binds, and
// a thread that watches the Lease. Each call ends within apiTimeout. read() and write() may be
// called from any thread, start_watch() and stop_watch() from one.
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

  /// May be called once. The sink must outlive stop_watch().
  void start_watch(LeaseSink& sink);
  void stop_watch();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace snug
