// The log: one line for each message on standard error (standard output's first line is part of the
// contract), as text or as JSON. Messages are escaped, so that none can break its line or forge
// another. Thread-safe and synchronous; no message is lost.
#pragma once

#include <iosfwd>
#include <memory>
#include <string_view>

#include "snug/service/ports.hpp"

namespace snug::obs {

enum class LogFormat : std::uint8_t { kText, kJson };

struct LogOptions {
  service::LogLevel level = service::LogLevel::kInfo;  // lower ones are not written
  LogFormat format = LogFormat::kText;
};

class SpdlogLog final : public service::Log {
 public:
  explicit SpdlogLog(LogOptions options);
  /// To another stream, which outlives the log.
  SpdlogLog(LogOptions options, std::ostream& stream);
  ~SpdlogLog() override;
  SpdlogLog(const SpdlogLog&) = delete;
  SpdlogLog& operator=(const SpdlogLog&) = delete;

  void write(service::LogLevel level, std::string_view message) override;

 private:
  struct Logger;
  LogOptions options_;
  std::unique_ptr<Logger> logger_;
};

}  // namespace snug::obs
