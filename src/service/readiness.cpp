#include "snug/service/readiness.hpp"

#include <algorithm>
#include <utility>

#include "snug/base/agent_limits.hpp"

namespace snug::service {
namespace {

std::int64_t nanoseconds(base::TimePoint time) { return time.time_since_epoch().count(); }

}  // namespace

Readiness::Readiness(const base::Clock& clock, const base::Limits& limits)
    : clock_(clock),
      silence_(std::chrono::seconds(limits.watch_silence_s)),
      lost_(std::chrono::milliseconds(limits.watch_lost_ms)) {}

void Readiness::start_leading() {
  ++leadership_;
  leads_ = true;
  conflict_ = false;
}

void Readiness::stand_by(std::string leader, std::string why_no_leader) {
  leads_ = false;
  const base::MutexLock lock(mutex_);
  leader_ = std::move(leader);
  why_no_leader_ = std::move(why_no_leader);
}

void Readiness::set_lease_problem(std::string lease_problem) {
  const base::MutexLock lock(mutex_);
  lease_problem_ = std::move(lease_problem);
}

void Readiness::begin_list(Resource resource) {
  stream_of(resource).began_in_leadership = leadership_.load();
}

void Readiness::mark_listed(Resource resource) {
  Stream& stream = stream_of(resource);
  stream.listed_in_leadership = stream.began_in_leadership.load();
}

void Readiness::mark_alive(Resource resource, std::string_view version) {
  Stream& stream = stream_of(resource);
  stream.alive_at = nanoseconds(clock_.now());
  stream.established = true;
  stream.reported = true;
  if (version.empty()) return;
  const base::MutexLock lock(mutex_);
  stream_versions_[static_cast<std::size_t>(resource)] = version;
}

void Readiness::mark_lost(Resource resource) {
  Stream& stream = stream_of(resource);
  const std::int64_t now = nanoseconds(clock_.now());
  if (!stream.reported) stream.alive_at = now;
  if (stream.established || !stream.reported) stream.lost_at = now;
  stream.established = false;
  stream.reported = true;
}

bool Readiness::is_alive(const Stream& stream) const {
  if (!stream.reported) return true;
  const std::int64_t now = nanoseconds(clock_.now());
  if (std::chrono::nanoseconds(now - stream.alive_at) > silence_) return false;
  return stream.established || std::chrono::nanoseconds(now - stream.lost_at) <= lost_;
}

void Readiness::await_heartbeats() {
  heartbeats_deadline_ =
      nanoseconds(clock_.now() + std::chrono::milliseconds(base::agent_limits::heartbeat_lost_ms));
}

bool Readiness::awaits_heartbeats() const {
  const std::int64_t deadline = heartbeats_deadline_;
  return deadline != 0 && nanoseconds(clock_.now()) < deadline;
}

bool Readiness::is_view_fresh() const {
  return !awaits_heartbeats() && std::ranges::all_of(streams_, [this](const Stream& stream) {
    return is_listed(stream) && is_alive(stream);
  });
}

bool Readiness::is_ready() const { return leads_ && is_view_fresh(); }

bool Readiness::is_warm_standby() const {
  {
    const base::MutexLock lock(mutex_);
    if (!lease_problem_.empty()) return false;
  }
  return !conflict_ && is_view_fresh();
}

std::string Readiness::why_stream_is_not(Resource resource) const {
  const Stream& stream = stream_of(resource);
  const std::string resource_name(kResourceNames[resource]);
  if (stream.listed_in_leadership == 0)
    return "the first list of " + resource_name + " has not been received yet";
  if (!is_alive(stream)) {
    const auto stream_age = std::chrono::duration_cast<std::chrono::seconds>(
        age(resource).value_or(std::chrono::milliseconds(0)));
    return std::string("the watch of ") + resource_name +
           (stream.established ? "" : " is not established, and") + " has shown nothing for " +
           std::to_string(stream_age.count()) + " s, so the view of this Snug may be out of date";
  }
  if (!is_listed(stream))
    return resource_name + " are being listed again, since this Snug has just become leader";
  return "";
}

std::string Readiness::why_not() const {
  std::string stream_reasons;
  for (const Resource resource : {Resource::kNodes, Resource::kPods}) {
    const std::string stream_reason = why_stream_is_not(resource);
    if (!stream_reason.empty())
      stream_reasons += (stream_reasons.empty() ? "" : "; ") + stream_reason;
  }
  if (awaits_heartbeats())
    stream_reasons +=
        (stream_reasons.empty() ? "" : "; ") +
        std::string("the first list of the agents' heartbeats has not been received yet");
  if (leads_) return stream_reasons;
  const base::MutexLock lock(mutex_);
  std::string standby_reason = "this Snug is a standby, and ";
  if (!leader_.empty()) {
    standby_reason += "the leader is " + leader_;
  } else {
    standby_reason += why_no_leader_.empty() ? "no leader is known" : why_no_leader_;
  }
  if (conflict_) {
    standby_reason +=
        "; but a scheduler calls this Snug: there is another installation, or schedulerLease is "
        "not "
        "the Lease of that scheduler";
  }
  if (!lease_problem_.empty()) standby_reason += "; the Lease: " + lease_problem_;
  return stream_reasons.empty() ? standby_reason : standby_reason + "; " + stream_reasons;
}

std::string Readiness::leader() const {
  const base::MutexLock lock(mutex_);
  return leader_;
}

std::optional<std::chrono::milliseconds> Readiness::age(Resource resource) const {
  const Stream& stream = stream_of(resource);
  if (!stream.reported) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::nanoseconds(nanoseconds(clock_.now()) - stream.alive_at));
}

std::string Readiness::version(Resource resource) const {
  const base::MutexLock lock(mutex_);
  return stream_versions_[static_cast<std::size_t>(resource)];
}

}  // namespace snug::service
