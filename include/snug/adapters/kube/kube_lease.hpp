// One Lease of a real API server. It has its own connection, so that it never waits for binds, and
// a thread that watches the Lease. Each call ends within apiTimeout. read() and write() may be
// called from any thread, start_watch() and stop_watch() from one.
#pragma once

#include <memory>

#include "snug/adapters/kube/api_endpoint.hpp"
#include "snug/adapters/kube/kube_context.hpp"
#include "snug/codec/lease_codec.hpp"
#include "snug/service/ports.hpp"

namespace snug::kube {

class KubeLease final : public service::LeasePort {
 public:
  KubeLease(const ApiEndpoint& endpoint, const KubeOptions& options, const KubeContext& context,
            leader::LeaseName name);
  ~KubeLease() override;
  KubeLease(const KubeLease&) = delete;
  KubeLease& operator=(const KubeLease&) = delete;

  [[nodiscard]] base::Result<std::optional<leader::Lease>> read() override;
  [[nodiscard]] base::Result<leader::Lease> write(const leader::LeaseRecord& record,
                                                  const leader::Lease* over) override;

  /// May be called once. The sink must outlive stop_watch().
  void start_watch(service::LeaseSink& sink);
  void stop_watch();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace snug::kube
