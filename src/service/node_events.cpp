#include "service/node_events.hpp"

#include <cstddef>

namespace snug::service {
namespace {

model::Notice inventory_notice(const std::string& node_name, const std::string& problem) {
  const bool is_usable = problem.empty();
  return {.name_space = {},
          .name = node_name,
          .uid = node_name,
          .reason = is_usable ? "GpuInventoryUsable" : "GpuInventoryUnusable",
          .note = is_usable ? "the node's GPU inventory can be used again"
                            : "the node takes no GPU pods from Snug: " + problem,
          .about = model::ObjectKind::kNode,
          .type = is_usable ? model::EventType::kNormal : model::EventType::kWarning};
}

}  // namespace

void NodeEvents::note(const std::string& node_name, const std::string& problem) {
  const base::MutexLock lock(mutex_);
  const auto known = records_.find(node_name);
  if (known != records_.end()) {
    known->second.problem = problem;
  } else if (!problem.empty()) {
    records_.emplace(node_name, Record{.problem = problem});
  }
}

void NodeEvents::forget(std::string_view node_name) {
  const base::MutexLock lock(mutex_);
  if (const auto known = records_.find(node_name); known != records_.end()) records_.erase(known);
}

void NodeEvents::keep_only(const std::unordered_set<std::string_view>& node_names) {
  const base::MutexLock lock(mutex_);
  std::erase_if(records_, [&](const auto& record) { return !node_names.contains(record.first); });
}

void NodeEvents::write() {
  if (!parts_.readiness.is_leader()) return;
  const base::TimePoint now = parts_.clock.now();
  if (last_write_ && now - *last_write_ < std::chrono::seconds(1)) return;
  last_write_ = now;
  const base::MutexLock lock(mutex_);
  // Begins after the node that got the last event, so that none keeps the others waiting.
  auto next = records_.upper_bound(last_told_);
  std::int64_t written = 0;
  for (std::size_t i = records_.size(); i > 0 && written < events_per_s_; --i) {
    if (next == records_.end()) next = records_.begin();
    auto& [node_name, record] = *next;
    if (record.problem == record.told_problem) {
      const bool is_over = record.problem.empty() && is_past(record.unusable_told, now) &&
                           is_past(record.usable_told, now);
      next = is_over ? records_.erase(next) : std::next(next);
      continue;
    }
    if (is_past(record.told(), now)) {
      if (!parts_.api.notify(inventory_notice(node_name, record.problem))) return;
      // The time after the call: the port counts event_repeat_ms from its own.
      record.told() = parts_.clock.now();
      record.told_problem = record.problem;
      last_told_ = node_name;
      ++written;
    }
    ++next;
  }
}

}  // namespace snug::service
