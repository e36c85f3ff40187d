// The NodePort of a real API server: the marks on one Node, and the heartbeat Lease of the agent
// there. KubeNode has its own connection; each call ends within apiTimeout. Any thread may call
// read_marks() and write_marks(); one thread at a time may call renew_heartbeat(). Errors:
//   - kNotFound: the node does not exist.
//   - kConflict, kInvalid: the API server refused the call.
//   - kUnavailable: the call certainly changed nothing.
//   - kUnknown: a write may or may not have been executed.
#pragma once

#include <memory>
#include <string>

#include "snug/adapters/kube/api_endpoint.hpp"
#include "snug/adapters/kube/kube_context.hpp"
#include "snug/agent_service/ports.hpp"

namespace snug::kube {

class KubeNode final : public agent_service::NodePort {
 public:
  /// The Lease is in `options.own_namespace`.
  KubeNode(const ApiEndpoint& endpoint, const KubeOptions& options, const KubeContext& context,
           std::string node);
  ~KubeNode() override;
  KubeNode(const KubeNode&) = delete;
  KubeNode& operator=(const KubeNode&) = delete;

  [[nodiscard]] base::Result<Marks> read_marks() override;
  [[nodiscard]] base::Result<void> write_marks(const Marks& marks) override;
  /// Takes the Lease over if another client holds it or has changed it.
  [[nodiscard]] base::Result<void> renew_heartbeat() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace snug::kube
