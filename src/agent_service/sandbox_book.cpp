#include "snug/agent_service/sandbox_book.hpp"

#include <utility>

namespace snug::agent_service {

void SandboxBook::sandboxes_listed(ReservationsBySandbox running) {
  const base::MutexLock lock(mutex_);
  running_ = std::move(running);
  complete_ = true;
  ++generation_;
}

void SandboxBook::sandbox_runs(std::string_view id, model::Reservation reservation) {
  const base::MutexLock lock(mutex_);
  const auto found = running_.find(id);
  if (found != running_.end() && found->second == reservation) return;
  running_.insert_or_assign(std::string(id), std::move(reservation));
  ++generation_;
}

void SandboxBook::sandbox_stopped(std::string_view id) {
  const base::MutexLock lock(mutex_);
  const auto found = running_.find(id);
  if (found == running_.end()) return;
  running_.erase(found);
  ++generation_;
}

bool SandboxBook::is_complete() const {
  const base::MutexLock lock(mutex_);
  return complete_;
}

std::uint64_t SandboxBook::generation() const {
  const base::MutexLock lock(mutex_);
  return generation_;
}

std::vector<model::Reservation> SandboxBook::held() const {
  std::vector<model::Reservation> all;
  const base::MutexLock lock(mutex_);
  for (const auto& [id, reservation] : running_) all.push_back(reservation);
  return all;
}

}  // namespace snug::agent_service
