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

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// A line of text must not contain a line break that would forge another line.
void append_safe(std::string& out, std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else {
      out += byte < 0x20 || byte == 0x7F ? '?' : c;
    }
  }
}

/// Microseconds in milliseconds: `0.184`.
std::string milliseconds_text(std::chrono::microseconds duration) {
  const std::string digits = std::to_string(1'000 + duration.count() % 1'000);
  return std::to_string(duration.count() / 1'000) + "." + digits.substr(1);
}

bool needs_quotes(std::string_view text) {
  return text.empty() || text.find_first_of(" =\"") != std::string_view::npos;
}

void append_value(std::string& out, std::string_view text, LogFormat format) {
  if (format == LogFormat::kJson) {
    out += json_text(text);
  } else if (needs_quotes(text)) {
    append_safe(out, json_text(text));
  } else {
    append_safe(out, text);
  }
}

/// The line after its time and level: spdlog's patterns do not escape.
std::string line_text(std::string_view message, std::span<const service::LogField> fields,
                      LogFormat format) {
  std::string line;
  if (format == LogFormat::kJson) {
    line = json_text(message);
  } else {
    append_safe(line, message);
  }
  for (const service::LogField& field : fields) {
    if (format == LogFormat::kJson) {
      line.append(",\"").append(field.key).append("\":");
    } else {
      line.append(" ").append(field.key).append("=");
    }
    if (const auto* text = std::get_if<std::string_view>(&field.value)) {
      append_value(line, *text, format);
    } else if (const auto* number = std::get_if<std::int64_t>(&field.value)) {
      line += std::to_string(*number);
    } else {
      line += milliseconds_text(std::get<std::chrono::microseconds>(field.value));
    }
  }
  return line;
}

constexpr const char* kTextPattern = "%Y-%m-%dT%H:%M:%S.%eZ %l %v";
constexpr const char* kJsonPattern = R"({"ts":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","msg":%v})";

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

void SpdlogLog::write_line(service::LogLevel level, std::string_view message,
                           std::span<const service::LogField> fields) {
  if (!is_enabled(level)) return;
  logger_->spdlog.log(to_spdlog(level),
                      spdlog::string_view_t(line_text(message, fields, options_.format)));
}

}  // namespace snug::obs
