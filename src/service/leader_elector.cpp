#include "snug/service/leader_elector.hpp"

#include <utility>

namespace snug::service {
namespace {

/// The JitterFactor that client-go uses for the retries of a standby.
constexpr double kMaxJitter = 1.2;

}  // namespace

LeaderElector::LeaderElector(ElectorParts parts, ElectorOptions options)
    : parts_(parts),
      options_(std::move(options)),
      host_(leader::host_in_identity(options_.election.identity)),
      election_(options_.election, parts_.clock.now()),
      jitter_random_(options_.seed) {
  parts_.fence.close();
  parts_.readiness.stand_by("", "");
}

void LeaderElector::resign() { resigning_ = true; }

void LeaderElector::wait_resigned(std::chrono::milliseconds max_wait) {
  const base::MutexLock lock(mutex_);
  resigned_changed_.wait_for(mutex_, max_wait,
                             [this]() SNUG_REQUIRES(mutex_) { return resigned_; });
}

void LeaderElector::tick() {
  read_scheduler_lease();
  const base::TimePoint now = parts_.clock.now();
  if (election_.leading()) {
    lead(now);
  } else {
    stand_by(now);
  }
  if (election_.leading()) decide_if_wanted();
  if (resigning_ && !election_.leading()) {
    const base::MutexLock lock(mutex_);
    resigned_ = true;
    resigned_changed_.notify_all();
  }
}

void LeaderElector::read_scheduler_lease() {
  if (parts_.scheduler_lease == nullptr) return;
  const base::TimePoint now = parts_.clock.now();
  const bool lease_changed = scheduler_hint_.take_lease_change(scheduler_lease_);
  if (!lease_changed && now < next_scheduler_read_) return;
  next_scheduler_read_ = now + options_.retry;
  auto scheduler_lease = parts_.scheduler_lease->read();
  if (!scheduler_lease) return note_failure(scheduler_failure_, scheduler_lease.error());
  clear_failure(scheduler_failure_);
  scheduler_known_ = true;
  scheduler_lease_ = *std::move(scheduler_lease);
}

bool LeaderElector::is_wanted() const {
  if (resigning_) return false;
  if (parts_.scheduler_lease == nullptr) return true;
  if (!scheduler_known_) return false;
  return active_scheduler().empty() || leader::host_in_identity(active_scheduler()) == host_;
}

std::string LeaderElector::active_scheduler() const {
  return scheduler_lease_ ? scheduler_lease_->record.holder : "";
}

void LeaderElector::lead(base::TimePoint now) {
  if (now >= election_.may_write_until()) {
    election_.resign();
    return lost_lead(LogLevel::kWarn, "could not be renewed in time");
  }
  if (!is_wanted()) {
    stop_deciding();
    if (parts_.fence.has_nothing_in_flight()) return release();
  }
  if (lease_hint_.take_lease_change(election_.lease())) read_lease();
  if (election_.leading() && now >= next_renewal_) renew();
  if (election_.leading()) return;
  lost_lead(LogLevel::kWarn, election_.lease() ? "was written by another client" : "was deleted");
}

/// Readiness must change before the fence opens. A bind reads the term before it checks readiness,
/// so a bind that reads the new term is refused until the lists that start here are applied.
void LeaderElector::decide_if_wanted() {
  if (decides_ || !is_wanted()) return;
  decides_ = true;
  parts_.readiness.start_leading();
  parts_.fence.open_until(election_.may_write_until());
  parts_.source.relist();
}

void LeaderElector::stop_deciding() {
  if (!std::exchange(decides_, false)) return;
  parts_.readiness.stand_by("", "");
  parts_.fence.close();
}

void LeaderElector::renew() {
  next_renewal_ = parts_.clock.now() + options_.retry;
  const base::Result<void> renewal = write_claim();
  if (renewal) return;
  const base::ErrorCode error_code = renewal.error().code;
  if (error_code != base::ErrorCode::kConflict && error_code != base::ErrorCode::kNotFound) return;
  // Another client has deleted or written the Lease, perhaps only its labels.
  read_lease();
  if (!election_.leading()) return;
  // If this fails, write_claim() has recorded the error, and the next renewal tries again.
  [[maybe_unused]] const base::Result<void> second_renewal = write_claim();
}

void LeaderElector::release() {
  const auto write_release = [this] {
    const std::optional<leader::Lease>& current_lease = election_.lease();
    return parts_.lease.write(election_.release(), current_lease ? &*current_lease : nullptr);
  };
  auto released_lease = write_release();
  if (!released_lease && released_lease.error().code == base::ErrorCode::kConflict) {
    // Another client has written the Lease, perhaps only its labels.
    read_lease();
    if (election_.leading()) released_lease = write_release();
  }
  election_.resign();
  if (released_lease) election_.observe(*released_lease, parts_.clock.now());
  next_lease_read_ = parts_.clock.now() + options_.retry;
  const std::string release_reason =
      resigning_ ? "this Snug is stopping" : "the active scheduler is " + active_scheduler();
  lost_lead(LogLevel::kInfo,
            (released_lease ? "was released (" : "could not be released and will expire (") +
                release_reason + ")");
}

void LeaderElector::stand_by(base::TimePoint now) {
  check_for_conflict(now);
  if (resigning_) return;
  const bool read_is_due = now >= next_lease_read_;
  if (lease_hint_.take_lease_change(election_.lease()) || read_is_due) read_lease();
  if (read_is_due) {
    std::uniform_real_distribution<double> jitter(1.0, 1.0 + kMaxJitter);
    next_lease_read_ = now + std::chrono::duration_cast<std::chrono::milliseconds>(
                                 options_.retry * jitter(jitter_random_));
  }
  parts_.readiness.stand_by(election_.other_holder(now), no_leader_reason(now));
  const bool lease_is_free = election_.is_free(parts_.clock.now());
  if (is_wanted() && (lease_is_free || election_.is_absent())) try_to_acquire();
}

std::string LeaderElector::no_leader_reason(base::TimePoint now) const {
  if (scheduler_known_ && !is_wanted()) {
    return "the active scheduler is " + active_scheduler() + ", which is not on this host (" +
           host_ + ")";
  }
  const base::TimePoint lease_free_at = election_.free_at();
  if (lease_free_at == base::TimePoint::max() || lease_free_at <= now) return {};
  const auto wait_seconds = std::chrono::ceil<std::chrono::seconds>(lease_free_at - now);
  return "bindings of an earlier leader, if there was one, may still be under way for " +
         std::to_string(wait_seconds.count()) + " s";
}

/// Reads the Lease before it writes it, since the last read may be old.
void LeaderElector::try_to_acquire() {
  const base::TimePoint now = parts_.clock.now();
  if (now < next_claim_) return;
  next_claim_ = now + options_.retry;
  read_lease();
  if (election_.is_absent()) return create_lease();
  if (!election_.is_free(parts_.clock.now())) return;
  if (!write_claim()) return;
  next_renewal_ = parts_.clock.now() + options_.retry;
  end_conflict();
  parts_.log.write(LogLevel::kInfo, "this Snug (" + options_.election.identity +
                                        ") has acquired the Lease " + options_.lease_name +
                                        ": it lists the cluster before it decides");
}

void LeaderElector::create_lease() {
  const auto created_lease = parts_.lease.write(election_.placeholder(), nullptr);
  if (!created_lease) return note_failure(lease_failure_, created_lease.error());
  clear_failure(lease_failure_);
  election_.observe(*created_lease, parts_.clock.now());
}

void LeaderElector::read_lease() {
  const auto own_lease = parts_.lease.read();
  if (!own_lease) return note_failure(lease_failure_, own_lease.error());
  clear_failure(lease_failure_);
  election_.observe(*own_lease, parts_.clock.now());
}

base::Result<void> LeaderElector::write_claim() {
  const base::TimePoint asked = parts_.clock.now();
  const std::optional<leader::Lease>& current_lease = election_.lease();
  auto written =
      parts_.lease.write(election_.claim_record(), current_lease ? &*current_lease : nullptr);
  if (!written) {
    note_failure(lease_failure_, written.error());
    return std::unexpected(written.error());
  }
  clear_failure(lease_failure_);
  election_.confirm_claim(*std::move(written), asked);
  if (decides_) parts_.fence.open_until(election_.may_write_until());
  return {};
}

void LeaderElector::lost_lead(LogLevel level, std::string_view why) {
  stop_deciding();
  parts_.readiness.stand_by(election_.other_holder(parts_.clock.now()), "");
  parts_.log.write(level, "this Snug (" + options_.election.identity +
                              ") is now a standby: the Lease " + options_.lease_name + " " +
                              std::string(why));
}

/// Reports a conflict only after a long series of calls: a single call, or a short series, does not
/// prove that there is a second installation.
void LeaderElector::check_for_conflict(base::TimePoint now) {
  const std::string other = election_.other_holder(now);
  const bool called = parts_.readiness.take_refused_call();
  if (other.empty() || !is_wanted()) {
    reported_conflict_.clear();
    return end_conflict();
  }
  const auto lease_duration = options_.election.lease_duration;
  if (refused_calls_since_ && now - last_refused_call_ > lease_duration) end_conflict();
  if (called) {
    if (!refused_calls_since_) refused_calls_since_ = now;
    last_refused_call_ = now;
  }
  if (refused_calls_since_ && last_refused_call_ - *refused_calls_since_ >= 2 * lease_duration)
    report_conflict(other);
}

void LeaderElector::report_conflict(const std::string& lease_holder) {
  parts_.readiness.set_conflict(true);
  if (reported_conflict_ == lease_holder) return;
  reported_conflict_ = lease_holder;
  model::Notice notice = options_.about;
  notice.reason = "AnotherSnugDecides";
  notice.note = "Snug " + lease_holder + " holds the Lease " + options_.lease_name +
                " of this cluster, so this Snug (" + options_.election.identity +
                ") refuses to decide, although a scheduler calls it: two installations serve one "
                "cluster (remove one of them), or schedulerLease does not name the Lease of that "
                "scheduler";
  parts_.log.write(LogLevel::kError, notice.note);
  parts_.api.notify(notice);
}

void LeaderElector::end_conflict() {
  refused_calls_since_ = std::nullopt;
  parts_.readiness.set_conflict(false);
}

void LeaderElector::note_failure(std::string& logged_failure, const base::Error& error) {
  if (error.message == logged_failure) return;
  logged_failure = error.message;
  publish_failures();
  parts_.log.write(LogLevel::kWarn, "a Lease cannot be read or written: " + error.message);
}

void LeaderElector::clear_failure(std::string& logged_failure) {
  if (logged_failure.empty()) return;
  logged_failure.clear();
  publish_failures();
}

void LeaderElector::publish_failures() {
  const std::string& scheduler_error = scheduler_failure_;
  const std::string& own_lease_error = lease_failure_;
  parts_.readiness.set_lease_problem(own_lease_error.empty() || scheduler_error.empty()
                                         ? own_lease_error + scheduler_error
                                         : own_lease_error + "; " + scheduler_error);
}

}  // namespace snug::service
