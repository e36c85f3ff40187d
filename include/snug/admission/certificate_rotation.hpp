// When the webhook's certificate is made and replaced. Each certificate has an authority of its
// own, whose key is not kept. The API server trusts a new authority before its certificate is
// served, and trusts the old authority for some time after its certificate was last served. So it
// trusts the certificate of every replica at any time. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace snug::admission {

using WallTime = std::chrono::sys_seconds;

/// The time in which a certificate is valid.
struct Validity {
  WallTime from;
  WallTime until;

  [[nodiscard]] bool contains(WallTime time) const { return from <= time && time < until; }
  friend bool operator==(const Validity&, const Validity&) = default;
};

/// A server's certificate, its key, and the certificate of the authority that signed it. PEM texts.
struct ServerIdentity {
  std::string authority;
  std::string certificate;
  std::string key;

  friend bool operator==(const ServerIdentity&, const ServerIdentity&) = default;
};

/// What all replicas share.
struct WebhookIdentities {
  ServerIdentity serving;
  ServerIdentity next;        // empty texts: none is prepared
  std::string old_authority;  // of the certificate that was used before; empty: none

  /// The certificates of all authorities that the API server must trust.
  [[nodiscard]] std::string authorities() const {
    return serving.authority + next.authority + old_authority;
  }
  friend bool operator==(const WebhookIdentities&, const WebhookIdentities&) = default;
};

struct RotationState {
  std::optional<Validity> serving;  // nullopt: there is no certificate that can be used
  std::optional<Validity> next;
  bool has_old_authority = false;
  /// How long the API server has trusted all authorities. Nullopt: it does not yet.
  std::optional<std::chrono::milliseconds> trusted_for;
};

struct RotationTimes {
  std::chrono::seconds renew_before;  // the end of the validity
  std::chrono::milliseconds overlap;  // the time between two steps
};

enum class RotationStep : std::uint8_t {
  kNone,
  kCreate,   // make the first certificate, or replace an unusable one
  kPrepare,  // make the next certificate; its authority is trusted from now on
  kSwitch,   // use the next certificate; the old authority stays trusted
  kDropOld,  // do not trust the old authority any more
};

[[nodiscard]] RotationStep rotation_step(const RotationState& state, WallTime now,
                                         const RotationTimes& times);

/// Returns what the replicas share after `step`. `made`: the new certificate, for kCreate and
/// kPrepare.
[[nodiscard]] WebhookIdentities after_step(RotationStep step, WebhookIdentities identities,
                                           ServerIdentity made);

}  // namespace snug::admission
