#include "snug/admission/certificate_rotation.hpp"

#include <utility>

namespace snug::admission {

RotationStep rotation_step(const RotationState& state, WallTime now, const RotationTimes& times) {
  const bool has_next = state.next && state.next->contains(now);
  // No replica can serve, so there is nothing to wait for.
  if (!state.serving || !state.serving->contains(now)) {
    return has_next ? RotationStep::kSwitch : RotationStep::kCreate;
  }
  const bool overlap_is_over = state.trusted_for && *state.trusted_for >= times.overlap;
  if (has_next) return overlap_is_over ? RotationStep::kSwitch : RotationStep::kNone;
  if (state.has_old_authority) {
    return overlap_is_over ? RotationStep::kDropOld : RotationStep::kNone;
  }
  return state.serving->until - now <= times.renew_before ? RotationStep::kPrepare
                                                          : RotationStep::kNone;
}

WebhookIdentities after_step(RotationStep step, WebhookIdentities identities, ServerIdentity made) {
  switch (step) {
    case RotationStep::kNone:
      break;
    case RotationStep::kCreate:
      identities = {.serving = std::move(made), .next = {}, .old_authority = {}};
      break;
    case RotationStep::kPrepare:
      identities.next = std::move(made);
      break;
    case RotationStep::kSwitch:
      identities.old_authority = std::move(identities.serving.authority);
      identities.serving = std::exchange(identities.next, {});
      break;
    case RotationStep::kDropOld:
      identities.old_authority.clear();
      break;
  }
  return identities;
}

}  // namespace snug::admission
