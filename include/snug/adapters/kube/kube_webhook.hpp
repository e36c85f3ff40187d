// The WebhookPort of a real API server. It has its own connection, so that its calls never wait for
// binds; each call ends within apiTimeout. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "snug/adapters/kube/api_endpoint.hpp"
#include "snug/adapters/kube/kube_context.hpp"
#include "snug/service/webhook_ports.hpp"

namespace snug::kube {

class KubeWebhook final : public service::WebhookPort {
 public:
  /// `name_space`: the namespace of the Secret.
  KubeWebhook(const ApiEndpoint& endpoint, const KubeOptions& options, const KubeContext& context,
              std::string name_space);
  ~KubeWebhook() override;
  KubeWebhook(const KubeWebhook&) = delete;
  KubeWebhook& operator=(const KubeWebhook&) = delete;

  [[nodiscard]] base::Result<std::optional<service::StoredIdentities>> read_identities() override;
  [[nodiscard]] base::Result<service::StoredIdentities> write_identities(
      const admission::WebhookIdentities& identities,
      const service::StoredIdentities* over) override;
  [[nodiscard]] base::Result<bool> publish(std::string_view authorities) override;
  [[nodiscard]] base::Result<std::optional<admission::CardRange>> read_cards() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace snug::kube
