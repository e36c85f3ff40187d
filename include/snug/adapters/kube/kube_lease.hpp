// Reads, writes and watches one Lease of a real API server. KubeLease has its own connection, so
// that its calls never wait for binds; each call ends within apiTimeout. The watch runs in a thread
// of its own. Any thread may call read() and write(); only one thread may call start_watch() and
// stop_watch().
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
            leader::LeaseName lease_name);
  ~KubeLease() override;
  KubeLease(const KubeLease&) = delete;
  KubeLease& operator=(const KubeLease&) = delete;

  [[nodiscard]] base::Result<std::optional<leader::Lease>> read() override;
  [[nodiscard]] base::Result<leader::Lease> write(const leader::LeaseRecord& record,
                                                  const leader::Lease* over) override;

  /// Starts to report changes of the Lease to `lease_sink`. Call this at most once. `lease_sink`
  /// must live until stop_watch() has returned.
  void start_watch(service::LeaseSink& lease_sink);
  void stop_watch();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace snug::kube
