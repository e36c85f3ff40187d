// The log: one line for each message, as text or as JSON, on standard error. (Standard output is
// for the line that names the ports, which programs parse.) Messages are escaped, so that a message
// cannot contain a line break that would forge another line. Thread-safe. Each message is flushed
// before write() returns.
#pragma once

#include <iosfwd>
#include <memory>
#include <string_view>

#include "snug/service/ports.hpp"

namespace snug::obs {

enum class LogFormat : std::uint8_t { kText, kJson };

struct LogOptions {
  service::LogLevel level = service::LogLevel::kInfo;  // messages of a lower level are dropped
  LogFormat format = LogFormat::kText;
};

class SpdlogLog final : public service::Log {
 public:
  explicit SpdlogLog(LogOptions options);
  /// Writes to `stream` instead of standard error. The stream must outlive the log.
  SpdlogLog(LogOptions options, std::ostream& stream);
  ~SpdlogLog() override;
  SpdlogLog(const SpdlogLog&) = delete;
  SpdlogLog& operator=(const SpdlogLog&) = delete;

  [[nodiscard]] bool is_enabled(service::LogLevel level) const override {
    return level >= options_.level;
  }
  void write_line(service::LogLevel level, std::string_view message,
                  std::span<const service::LogField> fields) override;

 private:
  struct Logger;
  LogOptions options_;
  std::unique_ptr<Logger> logger_;
};

}  // namespace snug::obs
