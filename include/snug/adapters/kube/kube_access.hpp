// The AccessPort of a real API server. It has its own connections, so that its calls never wait for
// binds, and that binds never wait for them. Thread-safe.
#pragma once

#include <memory>

#include "snug/adapters/kube/api_endpoint.hpp"
#include "snug/adapters/kube/kube_context.hpp"
#include "snug/service/access_port.hpp"

namespace snug::kube {

class KubeAccess final : public service::AccessPort {
 public:
  KubeAccess(const ApiEndpoint& endpoint, const KubeOptions& options, const KubeContext& context);
  ~KubeAccess() override;
  KubeAccess(const KubeAccess&) = delete;
  KubeAccess& operator=(const KubeAccess&) = delete;

  [[nodiscard]] base::Result<std::optional<model::TokenUser>> user_of(
      std::string_view token) override;
  [[nodiscard]] base::Result<bool> may_request(const model::TokenUser& user, std::string_view verb,
                                               std::string_view path) override;
  [[nodiscard]] base::Result<bool> may_list_pods(const model::TokenUser& user,
                                                 std::string_view name_space) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace snug::kube
