#include "snug/service/webhook_keeper.hpp"

#include <chrono>
#include <utility>

namespace snug::service {
namespace {

using admission::RotationStep;
using admission::WebhookIdentities;

/// A certificate is valid from this time before it is made, for machines whose clocks are behind.
constexpr std::chrono::hours kBackdated{1};

std::string_view in_words(RotationStep step) {
  switch (step) {
    case RotationStep::kCreate:
      return "a new certificate is used";
    case RotationStep::kPrepare:
      return "the next certificate is made; it is used when the API server has trusted its CA for "
             "webhookOverlapMs";
    case RotationStep::kSwitch:
      return "the next certificate is used from now on";
    case RotationStep::kDropOld:
      return "the API server no longer needs to trust the old CA";
    case RotationStep::kNone:
      break;
  }
  return "nothing changes";
}

}  // namespace

void WebhookKeeper::tick() {
  if (parts_.clock.now() < next_poll_) return;
  next_poll_ = parts_.clock.now() + std::chrono::milliseconds(limits_.webhook_poll_ms);
  // The amounts must be known before the first call, which needs a certificate.
  read_cards();
  const std::optional<WebhookIdentities> identities = refresh_identities();
  if (identities) {
    serve(identities->serving);
    known_authorities_ = identities->authorities();
  }
  // Without the Secret the API server keeps its trust in the certificate that is served.
  const bool is_trusted = !known_authorities_.empty() && publish(known_authorities_);
  parts_.metrics.webhook_checked(is_trusted && last_secret_problem_.empty(), served_until());
}

std::shared_ptr<const admission::ServerIdentity> WebhookKeeper::serving() const {
  const base::MutexLock lock(mutex_);
  return serving_;
}

std::optional<admission::WallTime> WebhookKeeper::served_until() const {
  const auto identity = serving();
  if (identity == nullptr) return std::nullopt;
  const auto validity = parts_.certificates.inspect(*identity);
  return validity ? std::optional(validity->until) : std::nullopt;
}

void WebhookKeeper::read_cards() {
  const auto cards = parts_.api.read_cards();
  note_problem(last_cards_problem_, "the parameters of the mirrored resources cannot be read",
               cards ? std::string_view{} : cards.error().message);
  if (cards) parts_.admission.set_cards(*cards);
}

std::optional<WebhookIdentities> WebhookKeeper::refresh_identities() {
  const auto read = parts_.api.read_identities();
  if (!read) {
    note_problem(last_secret_problem_, "the Secret snug-webhook cannot be read",
                 read.error().message);
    return std::nullopt;
  }
  const std::optional<StoredIdentities>& stored = *read;
  WebhookIdentities current = stored ? stored->identities : WebhookIdentities{};
  const RotationStep step = due_step(current);
  if (step == RotationStep::kNone) {
    note_problem(last_secret_problem_, {}, {});
    return current;
  }
  auto written = take_step(step, stored ? &*stored : nullptr);
  if (written) {
    note_problem(last_secret_problem_, {}, {});
    warn_if_unusable(current.serving);
    parts_.log.write(LogLevel::kInfo, "webhook: " + std::string(in_words(step)));
    return std::move(written->identities);
  }
  // Another replica may have taken the step; the next poll shows it.
  if (written.error().code != base::ErrorCode::kConflict) {
    note_problem(last_secret_problem_, "the Secret snug-webhook cannot be written",
                 written.error().message);
  }
  if (step == RotationStep::kCreate) return std::nullopt;
  return current;
}

void WebhookKeeper::warn_if_unusable(const admission::ServerIdentity& replaced) {
  if (replaced == admission::ServerIdentity{}) return;
  const auto validity = parts_.certificates.inspect(replaced);
  if (validity) return;
  parts_.log.write(LogLevel::kWarn,
                   "webhook: the certificate in the Secret snug-webhook could not be used and was "
                   "replaced: " +
                       validity.error().message);
}

RotationStep WebhookKeeper::due_step(const WebhookIdentities& identities) const {
  const auto validity_of = [&](const admission::ServerIdentity& identity) {
    const auto validity = parts_.certificates.inspect(identity);
    return validity ? std::optional(*validity) : std::nullopt;
  };
  admission::RotationState state{.serving = validity_of(identities.serving),
                                 .next = validity_of(identities.next),
                                 .has_old_authority = !identities.old_authority.empty(),
                                 .trusted_for = {}};
  if (identities.authorities() == trusted_authorities_) {
    state.trusted_for =
        std::chrono::duration_cast<std::chrono::milliseconds>(parts_.clock.now() - trusted_since_);
  }
  return admission::rotation_step(
      state, parts_.wall_clock.now(),
      {.renew_before = std::chrono::seconds(limits_.webhook_renew_s),
       .overlap = std::chrono::milliseconds(limits_.webhook_overlap_ms)});
}

base::Result<StoredIdentities> WebhookKeeper::take_step(RotationStep step,
                                                        const StoredIdentities* stored) {
  admission::ServerIdentity made;
  if (step == RotationStep::kCreate || step == RotationStep::kPrepare) {
    const admission::WallTime now = parts_.wall_clock.now();
    auto identity = parts_.certificates.make(
        {.from = now - kBackdated,
         .until = now + std::chrono::seconds(limits_.webhook_certificate_s)});
    if (!identity) return std::unexpected(std::move(identity.error()));
    made = *std::move(identity);
  }
  const WebhookIdentities current = stored == nullptr ? WebhookIdentities{} : stored->identities;
  return parts_.api.write_identities(admission::after_step(step, current, std::move(made)), stored);
}

void WebhookKeeper::serve(const admission::ServerIdentity& identity) {
  const base::MutexLock lock(mutex_);
  if (serving_ != nullptr && *serving_ == identity) return;
  serving_ = std::make_shared<const admission::ServerIdentity>(identity);
}

bool WebhookKeeper::publish(const std::string& authorities) {
  const auto were_trusted = parts_.api.publish(authorities);
  note_problem(last_publish_problem_,
               "the CAs in the webhook configurations snug cannot be checked or changed",
               were_trusted ? std::string_view{} : were_trusted.error().message);
  if (!were_trusted) {
    trusted_authorities_.clear();
  } else if (!*were_trusted || trusted_authorities_ != authorities) {
    trusted_authorities_ = authorities;
    trusted_since_ = parts_.clock.now();
  }
  return were_trusted.has_value();
}

void WebhookKeeper::note_problem(std::string& last, std::string_view what,
                                 std::string_view problem) {
  if (last == problem) return;
  last = problem;
  if (problem.empty()) return;
  parts_.log.write(LogLevel::kWarn, "webhook: " + std::string(what) + ": " + std::string(problem));
}

}  // namespace snug::service
