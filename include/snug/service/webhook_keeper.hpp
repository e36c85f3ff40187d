// Keeps what the admission webhook needs: its certificate, which all replicas share by a Secret;
// the API server's trust in it; and the parameters of the mirrored resources. Every replica does
// this, whether it leads or not. If a step of the rotation is due, the first replica that notices
// it writes the Secret; the others read it.
//
// One thread calls tick(); the other functions are thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "snug/admission/certificate_rotation.hpp"
#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/mutex.hpp"
#include "snug/service/admission_service.hpp"
#include "snug/service/ports.hpp"
#include "snug/service/webhook_ports.hpp"

namespace snug::service {

struct WebhookKeeperParts {
  WebhookPort& api;
  CertificateMaker& certificates;
  AdmissionService& admission;
  Metrics& metrics;
  Log& log;
  const base::Clock& clock;
  const base::WallClock& wall_clock;
};

class WebhookKeeper {
 public:
  WebhookKeeper(WebhookKeeperParts parts, const base::Limits& limits)
      : parts_(parts), limits_(limits) {}

  /// Polls the API server and takes the step that is due. Does nothing within webhook_poll_ms of
  /// the last poll.
  void tick();

  /// The identity to serve with. Null: there is none yet.
  [[nodiscard]] std::shared_ptr<const admission::ServerIdentity> serving() const;

 private:
  void read_cards();
  /// Reads the Secret, and takes the step that is due. Nullopt: it could not be read or written.
  [[nodiscard]] std::optional<admission::WebhookIdentities> refresh_identities();
  [[nodiscard]] admission::RotationStep due_step(
      const admission::WebhookIdentities& identities) const;
  [[nodiscard]] base::Result<StoredIdentities> take_step(admission::RotationStep step,
                                                         const StoredIdentities* stored);
  /// Logs why the identity could not be used, if so.
  void warn_if_unusable(const admission::ServerIdentity& replaced);
  void serve(const admission::ServerIdentity& identity);
  [[nodiscard]] std::optional<admission::WallTime> served_until() const;
  /// Returns whether the API server trusts the authorities.
  bool publish(const std::string& authorities);
  /// Logs `problem` unless it equals `last`, and stores it there. An empty text: it is over.
  void note_problem(std::string& last, std::string_view what, std::string_view problem);

  const WebhookKeeperParts parts_;
  const base::Limits limits_;
  base::TimePoint next_poll_ = base::TimePoint::min();
  std::string known_authorities_;    // in the Secret when it was last read
  std::string trusted_authorities_;  // that the API server was last seen to trust
  base::TimePoint trusted_since_;
  std::string last_cards_problem_;
  std::string last_secret_problem_;
  std::string last_publish_problem_;
  mutable base::Mutex mutex_;
  std::shared_ptr<const admission::ServerIdentity> serving_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::service
