// The interfaces through which WebhookKeeper reaches the API server and makes certificates.
// Implementations are thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "snug/admission/certificate_rotation.hpp"
#include "snug/admission/mirrored_resources.hpp"
#include "snug/base/result.hpp"

namespace snug::service {

/// The contents of the Secret snug-webhook, and its resourceVersion.
struct StoredIdentities {
  admission::WebhookIdentities identities;  // unreadable parts are empty
  std::string version;
};

/// The objects of the API server that concern the webhook. Each call of the API server ends within
/// apiTimeout; publish() makes at most four.
class WebhookPort {
 public:
  virtual ~WebhookPort() = default;

  /// Reads the Secret snug-webhook in Snug's own namespace. Nullopt: it does not exist.
  [[nodiscard]] virtual base::Result<std::optional<StoredIdentities>> read_identities() = 0;
  /// Replaces the contents of the Secret `over`, or creates the Secret if `over` is null.
  /// kConflict: another replica has changed or created it.
  [[nodiscard]] virtual base::Result<StoredIdentities> write_identities(
      const admission::WebhookIdentities& identities, const StoredIdentities* over) = 0;

  /// Makes the API server trust exactly these authorities (PEM texts): writes them into both
  /// webhook configurations, if these exist. Returns true if none had to be changed.
  [[nodiscard]] virtual base::Result<bool> publish(std::string_view authorities) = 0;

  /// Reads the MirrorParameters `snug`. Nullopt: they do not exist.
  [[nodiscard]] virtual base::Result<std::optional<admission::CardRange>> read_cards() = 0;
};

class CertificateMaker {
 public:
  virtual ~CertificateMaker() = default;

  /// Makes an authority and a certificate that it signs.
  [[nodiscard]] virtual base::Result<admission::ServerIdentity> make(
      const admission::Validity& validity) = 0;
  /// Returns when the identity is valid. Fails if it can never serve: a text is not PEM, the
  /// certificate has another key, authority or name.
  [[nodiscard]] virtual base::Result<admission::Validity> inspect(
      const admission::ServerIdentity& identity) = 0;
};

}  // namespace snug::service
