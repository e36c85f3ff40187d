#include "snug/adapters/obs/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace snug::obs {
namespace {

spdlog::level::level_enum to_spdlog(service::LogLevel level) {
  switch (level) {
    case service::LogLevel::kDebug:
      return spdlog::level::debug;
    case service::LogLevel::kInfo:
      return spdlog::level::info;
    case service::LogLevel::kWarn:
      return spdlog::level::warn;
    case service::LogLevel::kError:
      break;
  }
  return spdlog::level::err;
}

/// Escapes the message for a line of the log, because spdlog's patterns do not escape it.
std::string escape(std::string_view message, LogFormat format) {
  if (format == LogFormat::kJson) {
    return nlohmann::json(message).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  std::string escaped_message;
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      escaped_message += "\\n";
    } else {
      escaped_message += byte < 0x20 || byte == 0x7F ? '?' : c;
    }
  }
  return escaped_message;
}

constexpr const char* kTextPattern = "%Y-%m-%dT%H:%M:%S.%eZ %l %v";
constexpr const char* kJsonPattern =
    R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","message":%v})";

}  // namespace

struct SpdlogLog::Logger {
  Logger(LogOptions options, spdlog::sink_ptr sink) : spdlog("snug", std::move(sink)) {
    const char* pattern = options.format == LogFormat::kJson ? kJsonPattern : kTextPattern;
    spdlog.set_formatter(
        std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc));
    spdlog.set_level(to_spdlog(options.level));
    spdlog.flush_on(spdlog::level::trace);
  }

  spdlog::logger spdlog;
};

SpdlogLog::SpdlogLog(LogOptions options)
    : options_(options),
      logger_(
          std::make_unique<Logger>(options, std::make_shared<spdlog::sinks::stderr_sink_mt>())) {}

SpdlogLog::SpdlogLog(LogOptions options, std::ostream& stream)
    : options_(options),
      logger_(std::make_unique<Logger>(options,
                                       std::make_shared<spdlog::sinks::ostream_sink_mt>(stream))) {}

SpdlogLog::~SpdlogLog() = default;

void SpdlogLog::write(service::LogLevel level, std::string_view message) {
  if (level < options_.level) return;
  logger_->spdlog.log(to_spdlog(level), spdlog::string_view_t(escape(message, options_.format)));
}

}  // namespace snug::obs
