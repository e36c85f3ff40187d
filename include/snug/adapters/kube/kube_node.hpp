// What the agent of one node writes at a real API server: the marks on its Node, its heartbeat
// Lease, and the annotation of waiting pods. KubeNode has its own connection; each call ends within
// apiTimeout. One thread at a time may call renew_heartbeat(); any thread may call the others.
// Errors:
//   - kNotFound: the node does not exist; or the pod, or another pod has its name.
//   - kConflict, kInvalid: the API server refused the call.
//   - kUnavailable: the call certainly changed nothing.
//   - kUnknown: a write may or may not have been executed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "snug/adapters/kube/api_endpoint.hpp"
#include "snug/adapters/kube/kube_context.hpp"
#include "snug/agent_service/ports.hpp"

namespace snug::kube {

class KubeNode final : public agent_service::NodePort, public agent_service::WaitingPodPort {
 public:
  /// The Lease is in `options.own_namespace`.
  KubeNode(const ApiEndpoint& endpoint, const KubeOptions& options, const KubeContext& context,
           std::string node);
  ~KubeNode() override;
  KubeNode(const KubeNode&) = delete;
  KubeNode& operator=(const KubeNode&) = delete;

  [[nodiscard]] base::Result<Marks> read_marks() override;
  [[nodiscard]] base::Result<void> write_marks(const Marks& marks) override;
  [[nodiscard]] base::Result<std::optional<std::string>> read_label(std::string_view key) override;
  /// Takes the Lease over if another client holds it or has changed it.
  [[nodiscard]] base::Result<void> renew_heartbeat() override;
  /// Patches `pods/status`: the right to patch pods would include their images.
  [[nodiscard]] base::Result<void> retry(std::string_view name_space, std::string_view name,
                                         std::string_view uid, std::string_view value) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace snug::kube
