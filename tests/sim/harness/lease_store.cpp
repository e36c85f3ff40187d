#include "sim/harness/lease_store.hpp"

#include <algorithm>
#include <utility>

namespace snug {
namespace {

/// A request reaches the API server within apiTimeout, and is executed within another apiTimeout.
constexpr std::size_t kLongestLeaseFlightMs = 2'000;

std::string text(base::TimePoint time) { return std::to_string(time.time_since_epoch().count()); }

}  // namespace

const std::optional<leader::Lease>& LeaseStore::read() {
  catch_up();
  return lease_;
}

base::Result<leader::Lease> LeaseStore::write(const leader::LeaseRecord& record,
                                              const std::optional<leader::Lease>& over) {
  catch_up();
  return carry_out(record, over, clock_.now());
}

void LeaseStore::write_late(const leader::LeaseRecord& record,
                            const std::optional<leader::Lease>& over, base::TimePoint due) {
  late_.push_back({record, over, due});
}

void LeaseStore::put(const std::string& holder) {
  catch_up();
  const std::string now = text(clock_.now());
  lease_ = leader::Lease{{holder, 15, now, now, 0}, std::to_string(++version_), "{}"};
}

void LeaseStore::remove() {
  catch_up();
  lease_ = std::nullopt;
}

base::Result<leader::Lease> LeaseStore::carry_out(const leader::LeaseRecord& record,
                                                  const std::optional<leader::Lease>& over,
                                                  base::TimePoint now) {
  if (!over && lease_) return base::fail(base::ErrorCode::kConflict, "it exists");
  if (over && !lease_) return base::fail(base::ErrorCode::kNotFound, "it is gone");
  if (over && over->resource_version != lease_->resource_version) {
    return base::fail(base::ErrorCode::kConflict, "it was written");
  }
  leader::Lease lease{record, std::to_string(++version_), "{}"};
  lease.record.renew_time = text(now);
  if (record.acquire_time.empty()) lease.record.acquire_time = lease.record.renew_time;
  lease_ = lease;
  return lease;
}

void LeaseStore::catch_up() {
  std::ranges::stable_sort(late_, {}, &Late::due);
  while (!late_.empty() && late_.front().due <= clock_.now()) {
    const Late late = std::move(late_.front());
    late_.erase(late_.begin());
    (void)carry_out(late.record, late.over, late.due);
  }
}

base::Result<std::optional<leader::Lease>> SimLease::read() {
  wire_.meanwhile();
  if (wire_.cut || (wire_.faults && wire_.random.chance(5))) {
    ++wire_.failed;
    return base::fail(base::ErrorCode::kUnavailable, "connection refused");
  }
  std::optional<leader::Lease> lease = store_.read();
  wire_.meanwhile();
  return lease;
}

base::Result<leader::Lease> SimLease::write(const leader::LeaseRecord& record,
                                            const leader::Lease* over) {
  const std::optional<leader::Lease> replaced =
      over == nullptr ? std::nullopt : std::optional(*over);
  wire_.meanwhile();
  const std::size_t drawn = wire_.faults ? wire_.random.below(100) : 0;
  if (wire_.cut || drawn >= 80) ++wire_.failed;
  if (wire_.cut || drawn >= 95)
    return base::fail(base::ErrorCode::kUnavailable, "connection refused");
  if (drawn >= 90) return base::fail(base::ErrorCode::kUnknown, "500");
  if (drawn >= 85) {
    const std::chrono::milliseconds flight(wire_.random.below(kLongestLeaseFlightMs));
    store_.write_late(record, replaced, clock_.now() + flight);
    return base::fail(base::ErrorCode::kUnknown, "the time is up");
  }
  base::Result<leader::Lease> written = store_.write(record, replaced);
  wire_.meanwhile();
  if (drawn >= 80) return base::fail(base::ErrorCode::kUnknown, "the connection was lost");
  return written;
}

}  // namespace snug
