#include "config/option_values.hpp"

#include <charconv>
#include <system_error>

#include "snug/mps/mps_files.hpp"

namespace snug::config {

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string set_address(HostPort& address, std::string_view value) {
  constexpr const char* kAllowed = "must be HOST:PORT, like 127.0.0.1:8888 or [::1]:8888";
  const auto colon = value.rfind(':');
  if (colon == std::string_view::npos) return kAllowed;
  std::string_view host = value.substr(0, colon);
  const auto port = parse_number(value.substr(colon + 1));
  if (!port || *port > 65'535) return kAllowed;
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return kAllowed;
  }
  if (host.empty()) return kAllowed;
  address = {std::string(host), static_cast<int>(*port)};
  return "";
}

std::string set_text(std::string& target, std::string_view value) {
  if (value.empty()) return "must not be empty";
  target = value;
  return "";
}

std::string set_mps_folder(std::string& target, std::string_view value) {
  if (!value.starts_with('/') || value.size() < 2 || value.size() > mps::kMaxRootBytes ||
      value.ends_with('/')) {
    return "must be an absolute path of at most " + std::to_string(mps::kMaxRootBytes) +
           " bytes, without a slash at its end";
  }
  target = value;
  return "";
}

std::string set_duration(std::chrono::milliseconds& target, std::string_view value) {
  const bool milliseconds = value.ends_with("ms");
  const std::string_view digits = value.substr(0, value.size() - (milliseconds ? 2 : 1));
  const auto number = milliseconds || value.ends_with('s') ? parse_number(digits) : std::nullopt;
  if (!number || *number < 1 || *number > (milliseconds ? 60'000 : 60)) {
    return "must be a duration from 1ms to 60s, like 500ms or 2s";
  }
  target = std::chrono::milliseconds(milliseconds ? *number : *number * 1000);
  return "";
}

std::string set_level(obs::LogOptions& log, std::string_view value) {
  static constexpr std::array<EnumWord<service::LogLevel>, 4> kWords{
      {{"debug", service::LogLevel::kDebug},
       {"info", service::LogLevel::kInfo},
       {"warn", service::LogLevel::kWarn},
       {"error", service::LogLevel::kError}}};
  return set_enum(log.level, value, kWords);
}

std::string set_format(obs::LogOptions& log, std::string_view value) {
  static constexpr std::array<EnumWord<obs::LogFormat>, 2> kWords{
      {{"text", obs::LogFormat::kText}, {"json", obs::LogFormat::kJson}}};
  return set_enum(log.format, value, kWords);
}

}  // namespace snug::config
