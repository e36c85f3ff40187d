#include "snug/leader/election.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace snug::leader {
namespace {

using std::chrono::milliseconds;

/// The duration in the record of a released Lease. To release a Lease, client-go writes a record
/// without a holder and with this duration.
constexpr std::chrono::seconds kReleasedDuration{1};

}  // namespace

ElectionSettings election_settings(std::string identity, milliseconds api_timeout,
                                   const base::Limits& limits) {
  return {.identity = std::move(identity),
          .lease_duration = milliseconds(limits.lease_duration_ms),
          .renew_deadline = milliseconds(limits.renew_deadline_ms),
          .write_window = execution_window(api_timeout, limits),
          .orphan_window = unanswered_window(api_timeout, limits)};
}

Election::Election(ElectionSettings settings, base::TimePoint started)
    : settings_(std::move(settings)), started_(started) {}

void Election::observe(const std::optional<Lease>& lease, base::TimePoint now) {
  const bool same = lease_observed_ && lease.has_value() == lease_.has_value() &&
                    (!lease || lease->record == lease_->record);
  if (!same) observed_at_ = now;
  lease_observed_ = true;
  lease_ = lease;
  if (lease && lease->record.holder == settings_.identity) return;
  leading_ = false;
  holder_may_be_predecessor_ = false;
}

base::TimePoint Election::free_at() const {
  if (!lease_) return base::TimePoint::max();
  const std::string& holder = lease_->record.holder;
  const bool ours = holder == settings_.identity;
  if (ours && holder_may_be_predecessor_) return started_ + settings_.orphan_window;
  const std::chrono::seconds stated(lease_->record.duration_s);
  if (holder.empty() && stated == kReleasedDuration) return observed_at_;
  const base::TimePoint after = observed_at_ + settings_.write_window;
  const bool other = !holder.empty() && !ours;
  return after + (other ? std::max(settings_.lease_duration, milliseconds(stated))
                        : settings_.lease_duration);
}

std::string Election::other_holder(base::TimePoint now) const {
  if (!lease_ || lease_->record.holder == settings_.identity || is_free(now)) return {};
  return lease_->record.holder;
}

LeaseRecord Election::placeholder() const {
  LeaseRecord record;
  // The duration must exceed kReleasedDuration, which marks a Lease without a holder as released.
  record.duration_s = std::max(std::chrono::ceil<std::chrono::seconds>(settings_.lease_duration),
                               2 * kReleasedDuration)
                          .count();
  return record;
}

LeaseRecord Election::claim_record() {
  holder_may_be_predecessor_ = true;
  LeaseRecord record = placeholder();
  record.holder = settings_.identity;
  if (!lease_) return record;
  const bool ours = lease_->record.holder == settings_.identity;
  if (ours) record.acquire_time = lease_->record.acquire_time;
  // The API server accepts only 32-bit numbers of transitions.
  record.transitions = std::min<std::int64_t>(lease_->record.transitions + (ours ? 0 : 1),
                                              std::numeric_limits<std::int32_t>::max());
  return record;
}

void Election::confirm_claim(Lease written, base::TimePoint claim_sent_at) {
  leading_ = true;
  renewal_sent_at_ = claim_sent_at;
  lease_observed_ = true;
  observed_at_ = claim_sent_at;
  lease_ = std::move(written);
}

LeaseRecord Election::release() const {
  LeaseRecord record;
  record.duration_s = kReleasedDuration.count();
  record.transitions = lease_ ? lease_->record.transitions : 0;
  return record;
}

void Election::resign() { leading_ = false; }

}  // namespace snug::leader
