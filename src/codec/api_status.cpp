#include "snug/codec/api_status.hpp"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "snug/base/text.hpp"
#include "snug/codec/proto_wire.hpp"

namespace snug::codec {
namespace {

constexpr std::size_t kMaxStatusMessage = 512;  // in bytes; keeps log lines readable

std::string status_field(const nlohmann::json& status, const char* field_pointer) {
  const nlohmann::json::json_pointer field(field_pointer);
  return status.contains(field) && status.at(field).is_string()
             ? status.at(field).get<std::string>()
             : "";
}

/// Nullopt: the Status has no `code`, or one that is not an HTTP status.
std::optional<int> status_code(const nlohmann::json& status) {
  const auto code_field = status.find("code");
  if (code_field == status.end() || !code_field->is_number_integer()) return std::nullopt;
  // A number above the largest std::int64_t becomes negative.
  const auto code = code_field->get<std::int64_t>();
  if (code < 100 || code > 599) return std::nullopt;
  return static_cast<int>(code);
}

}  // namespace

std::string status_message(std::string_view body) {
  const auto status = nlohmann::json::parse(body, nullptr, false);
  const std::string json_message = status.is_object() ? status_field(status, "/message") : "";
  std::string_view found = json_message;
  if (found.empty()) found = proto_status_message(body);
  std::string message = base::clip_text(found.empty() ? body : found, kMaxStatusMessage);
  const auto is_control = [](char c) { return static_cast<std::uint8_t>(c) < 0x20 || c == 0x7F; };
  std::ranges::replace_if(message, is_control, ' ');
  return message.empty() ? "no message" : message;
}

std::optional<ApiStatus> read_status(std::string_view body) {
  const auto status = nlohmann::json::parse(body, nullptr, false);
  if (!status.is_object()) return std::nullopt;
  if (status_field(status, "/kind") != "Status" || status_field(status, "/apiVersion") != "v1") {
    return std::nullopt;
  }
  const std::optional<int> code = status_code(status);
  if (!code) return std::nullopt;
  return ApiStatus{.code = *code,
                   .reason = status_field(status, "/reason"),
                   .kind = status_field(status, "/details/kind"),
                   .name = status_field(status, "/details/name")};
}

bool says_not_found(std::string_view body, std::string_view kind, std::string_view name) {
  const std::optional<ApiStatus> status = read_status(body);
  return status && status->code == 404 && status->reason == "NotFound" && status->kind == kind &&
         status->name == name;
}

}  // namespace snug::codec
