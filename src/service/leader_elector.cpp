#include "snug/service/leader_elector.hpp"

#include <utility>

namespace snug {
namespace {

/// client-go's jitter between two tries of a standby.
constexpr double kMostJitter = 1.2;

}  // namespace

LeaderElector::LeaderElector(ElectorParts parts, ElectorOptions options)
    : parts_(parts),
      options_(std::move(options)),
      host_(host_of(options_.election.identity)),
      election_(options_.election, parts_.clock.now()),
      random_(options_.seed) {
  parts_.fence.close();
  parts_.readiness.stand_by("", "");
}

void LeaderElector::resign() { resigning_ = true; }

void LeaderElector::wait_resigned(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  resigned_changed_.wait_for(lock, time, [this] { return resigned_; });
}

void LeaderElector::tick() {
  look_at_scheduler();
  const TimePoint now = parts_.clock.now();
  if (election_.leading()) {
    lead(now);
  } else {
    stand_by(now);
  }
  if (election_.leading()) decide_if_wanted();
  if (resigning_ && !election_.leading()) {
    const std::lock_guard lock(mutex_);
    resigned_ = true;
    resigned_changed_.notify_all();
  }
}

void LeaderElector::look_at_scheduler() {
  if (parts_.scheduler_lease == nullptr) return;
  const TimePoint now = parts_.clock.now();
  const bool news = scheduler_hint_.take_news(scheduler_);
  if (!news && now < next_look_at_scheduler_) return;
  next_look_at_scheduler_ = now + options_.retry;
  auto read = parts_.scheduler_lease->read();
  if (!read) return say_failure(scheduler_trouble_, read.error());
  clear_failure(scheduler_trouble_);
  scheduler_known_ = true;
  scheduler_ = *std::move(read);
}

bool LeaderElector::wanted() const {
  if (resigning_) return false;
  if (parts_.scheduler_lease == nullptr) return true;
  if (!scheduler_known_) return false;
  return scheduler().empty() || host_of(scheduler()) == host_;
}

std::string LeaderElector::scheduler() const { return scheduler_ ? scheduler_->record.holder : ""; }

void LeaderElector::lead(TimePoint now) {
  if (now >= election_.write_until()) {
    election_.resign();
    return lost_lead(LogLevel::kWarn, "could not renew it in time");
  }
  if (!wanted()) {
    stop_deciding();
    if (parts_.fence.is_quiet()) return give_away();
  }
  if (lease_hint_.take_news(election_.lease())) read_lease();
  if (election_.leading() && now >= next_renewal_) renew();
  if (election_.leading()) return;
  lost_lead(LogLevel::kWarn, election_.lease() ? "somebody else wrote it" : "somebody deleted it");
}

/// In this order: a bind that takes the fence's term after it opened finds Snug not ready until the
/// lists that begin here are applied.
void LeaderElector::decide_if_wanted() {
  if (decides_ || !wanted()) return;
  decides_ = true;
  parts_.readiness.lead();
  parts_.fence.open_until(election_.write_until());
  parts_.source.relist();
}

void LeaderElector::stop_deciding() {
  if (!std::exchange(decides_, false)) return;
  parts_.readiness.stand_by("", "");
  parts_.fence.close();
}

void LeaderElector::renew() {
  next_renewal_ = parts_.clock.now() + options_.retry;
  const Result<void> renewed = write_claim();
  if (renewed) return;
  const ErrorCode code = renewed.error().code;
  if (code != ErrorCode::kConflict && code != ErrorCode::kNotFound) return;
  // Somebody wrote it, perhaps only its labels.
  read_lease();
  if (!election_.leading()) return;
  // What failed is told, and tried again when the next renewal is due.
  [[maybe_unused]] const Result<void> again = write_claim();
}

void LeaderElector::give_away() {
  const auto write_release = [this] {
    const std::optional<Lease>& over = election_.lease();
    return parts_.lease.write(election_.release(), over ? &*over : nullptr);
  };
  auto written = write_release();
  if (!written && written.error().code == ErrorCode::kConflict) {
    // Somebody wrote it, perhaps only its labels.
    read_lease();
    if (election_.leading()) written = write_release();
  }
  election_.resign();
  if (written) election_.observe(*written, parts_.clock.now());
  next_read_ = parts_.clock.now() + options_.retry;
  const std::string why = resigning_ ? "this Snug ends" : "the active scheduler is " + scheduler();
  lost_lead(LogLevel::kInfo, (written ? "released it, since " : "lets it run out, since ") + why);
}

void LeaderElector::stand_by(TimePoint now) {
  look_for_conflict(now);
  if (resigning_) return;
  const bool due = now >= next_read_;
  if (lease_hint_.take_news(election_.lease()) || due) read_lease();
  if (due) {
    std::uniform_real_distribution<double> jitter(1.0, 1.0 + kMostJitter);
    next_read_ = now + std::chrono::duration_cast<std::chrono::milliseconds>(options_.retry *
                                                                             jitter(random_));
  }
  parts_.readiness.stand_by(election_.other_holder(now), why_nobody_leads(now));
  const bool free = election_.is_free(parts_.clock.now());
  if (wanted() && (free || election_.is_absent())) try_to_get();
}

std::string LeaderElector::why_nobody_leads(TimePoint now) const {
  if (scheduler_known_ && !wanted()) {
    return "the active scheduler is " + scheduler() + ", which is not on this host (" + host_ + ")";
  }
  const TimePoint free_at = election_.free_at();
  if (free_at == TimePoint::max() || free_at <= now) return {};
  const auto wait = std::chrono::ceil<std::chrono::seconds>(free_at - now);
  return "bindings of an earlier leader, if there was one, may be under way for " +
         std::to_string(wait.count()) + " s yet";
}

/// What was seen last may be old by now: it is read again first.
void LeaderElector::try_to_get() {
  const TimePoint now = parts_.clock.now();
  if (now < next_claim_) return;
  next_claim_ = now + options_.retry;
  read_lease();
  if (election_.is_absent()) return create_lease();
  if (!election_.is_free(parts_.clock.now())) return;
  if (!write_claim()) return;
  next_renewal_ = parts_.clock.now() + options_.retry;
  end_conflict();
  parts_.log.write(LogLevel::kInfo, "this Snug (" + options_.election.identity +
                                        ") has the Lease " + options_.lease_name +
                                        ": it lists the cluster and then decides");
}

void LeaderElector::create_lease() {
  const auto created = parts_.lease.write(election_.placeholder(), nullptr);
  if (!created) return say_failure(lease_trouble_, created.error());
  clear_failure(lease_trouble_);
  election_.observe(*created, parts_.clock.now());
}

void LeaderElector::read_lease() {
  const auto read = parts_.lease.read();
  if (!read) return say_failure(lease_trouble_, read.error());
  clear_failure(lease_trouble_);
  election_.observe(*read, parts_.clock.now());
}

Result<void> LeaderElector::write_claim() {
  const TimePoint asked = parts_.clock.now();
  const std::optional<Lease>& over = election_.lease();
  auto written = parts_.lease.write(election_.claim(), over ? &*over : nullptr);
  if (!written) {
    say_failure(lease_trouble_, written.error());
    return std::unexpected(written.error());
  }
  clear_failure(lease_trouble_);
  election_.claimed(*std::move(written), asked);
  if (decides_) parts_.fence.open_until(election_.write_until());
  return {};
}

void LeaderElector::lost_lead(LogLevel level, std::string_view why) {
  stop_deciding();
  parts_.readiness.stand_by(election_.other_holder(parts_.clock.now()), "");
  parts_.log.write(level, "this Snug (" + options_.election.identity +
                              ") stands by: it had the Lease " + options_.lease_name + ", and " +
                              std::string(why));
}

/// One stray call, or calls after which nobody calls again, are no second installation.
void LeaderElector::look_for_conflict(TimePoint now) {
  const std::string other = election_.other_holder(now);
  const bool called = parts_.readiness.take_refused_call();
  if (other.empty() || !wanted()) {
    told_conflict_.clear();
    return end_conflict();
  }
  const auto duration = options_.election.lease_duration;
  if (called_since_ && now - called_last_ > duration) end_conflict();
  if (called) {
    if (!called_since_) called_since_ = now;
    called_last_ = now;
  }
  if (called_since_ && called_last_ - *called_since_ >= 2 * duration) report_conflict(other);
}

void LeaderElector::report_conflict(const std::string& other) {
  parts_.readiness.set_conflict(true);
  if (told_conflict_ == other) return;
  told_conflict_ = other;
  Notice notice = options_.about;
  notice.reason = "AnotherSnugDecides";
  notice.note = "Snug " + other + " holds the Lease " + options_.lease_name +
                " of this cluster, so this Snug (" + options_.election.identity +
                ") refuses to decide, though a scheduler calls it: two installations serve one "
                "cluster (remove one of them), or schedulerLease does not name the Lease of that "
                "scheduler";
  parts_.log.write(LogLevel::kError, notice.note);
  parts_.api.warn(notice);
}

void LeaderElector::end_conflict() {
  called_since_ = std::nullopt;
  parts_.readiness.set_conflict(false);
}

void LeaderElector::say_failure(std::string& told, const Error& error) {
  if (error.message == told) return;
  told = error.message;
  show_troubles();
  parts_.log.write(LogLevel::kWarn, "a Lease is out of reach: " + error.message);
}

void LeaderElector::clear_failure(std::string& told) {
  if (told.empty()) return;
  told.clear();
  show_troubles();
}

void LeaderElector::show_troubles() {
  const std::string& scheduler = scheduler_trouble_;
  const std::string& own = lease_trouble_;
  parts_.readiness.set_lease_problem(own.empty() || scheduler.empty() ? own + scheduler
                                                                      : own + "; " + scheduler);
}

}  // namespace snug
