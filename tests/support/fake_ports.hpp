// Fakes of the ports service::Metrics, service::Log and service::ApiPort.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/base/mutex.hpp"
#include "snug/service/ports.hpp"

namespace snug {

/// Ignores all metrics. A fake that counts a metric overrides its function.
class NoMetrics : public service::Metrics {
 public:
  void verb_done(service::Verb, bool, std::int64_t) override {}
  void bind_ended(service::BindOutcome) override {}
  void api_request(service::ApiCall, bool, std::int64_t) override {}
  void pod_refused(model::ReasonCode) override {}
  void watch_restarted(service::WatchedResource, service::WatchEnd) override {}
  void pods_woken() override {}
  void event_dropped() override {}
  void reservation_problem(service::ReservationProblem) override {}
  void policy_reloaded(bool) override {}
  void review_answered(service::ReviewOutcome) override {}
  void webhook_checked(bool, std::optional<std::chrono::sys_seconds>) override {}
};

/// An API server that ignores what mirrors GPU shares; a test adds the other functions.
class UnmirroredApi : public service::ApiPort {
 public:
  base::Result<void> set_mirrored_capacity(std::string_view,
                                           const std::optional<model::MirroredAmounts>&) override {
    return {};
  }
  base::Result<void> write_mirror_parameters(const std::optional<admission::CardRange>&) override {
    return {};
  }
};

class NoLog final : public service::Log {
 public:
  [[nodiscard]] bool is_enabled(service::LogLevel) const override { return false; }
  void write_line(service::LogLevel, std::string_view,
                  std::span<const service::LogField>) override {}
};

/// Keeps all log entries. Thread-safe.
class FakeLog final : public service::Log {
 public:
  using Entry = std::pair<service::LogLevel, std::string>;

  service::LogLevel lowest_level = service::LogLevel::kDebug;

  [[nodiscard]] bool is_enabled(service::LogLevel level) const override {
    return level >= lowest_level;
  }
  /// Keeps the message, and the fields as ` key=value`.
  void write_line(service::LogLevel level, std::string_view message,
                  std::span<const service::LogField> fields) override {
    std::string line(message);
    std::string field_text;
    for (const service::LogField& field : fields) {
      field_text.append(" ").append(field.key).append("=");
      if (const auto* text = std::get_if<std::string_view>(&field.value)) {
        field_text.append(*text);
      } else if (const auto* number = std::get_if<std::int64_t>(&field.value)) {
        field_text.append(std::to_string(*number));
      } else {
        field_text.append("DURATION");
      }
    }
    const base::MutexLock lock(mutex_);
    entries_.emplace_back(level, std::move(line));
    fields_.push_back(std::move(field_text));
  }
  /// The fields of all entries.
  [[nodiscard]] std::vector<std::string> fields() const {
    const base::MutexLock lock(mutex_);
    return fields_;
  }
  [[nodiscard]] std::vector<Entry> entries() const {
    const base::MutexLock lock(mutex_);
    return entries_;
  }
  /// The messages of entries().
  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (Entry& entry : entries()) lines.push_back(std::move(entry.second));
    return lines;
  }
  /// Returns the messages that were logged since the last take() or clear().
  std::vector<std::string> take() {
    std::vector<std::string> taken = lines();
    clear();
    return taken;
  }
  void clear() {
    const base::MutexLock lock(mutex_);
    entries_.clear();
    fields_.clear();
  }

 private:
  mutable base::Mutex mutex_;
  std::vector<Entry> entries_ SNUG_GUARDED_BY(mutex_);
  std::vector<std::string> fields_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug
