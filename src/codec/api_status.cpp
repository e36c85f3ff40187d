#include "snug/codec/api_status.hpp"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "snug/base/text.hpp"
#include "snug/codec/proto_wire.hpp"

namespace snug::codec {
namespace {

constexpr std::size_t kMaxStatusMessage = 512;  // bytes, so that log lines stay readable

std::string text_at(const nlohmann::json& object, const char* pointer) {
  const nlohmann::json::json_pointer at(pointer);
  return object.contains(at) && object.at(at).is_string() ? object.at(at).get<std::string>() : "";
}

}  // namespace

std::string status_message(std::string_view body) {
  const auto status = nlohmann::json::parse(body, nullptr, false);
  const auto found = status.is_object() ? status.find("message") : status.end();
  if (found != status.end() && found->is_string()) {
    return base::clip_text(found->get_ref<const std::string&>(), kMaxStatusMessage);
  }
  const std::string_view in_proto = proto_status_message(body);
  std::string text = base::clip_text(in_proto.empty() ? body : in_proto, kMaxStatusMessage);
  std::ranges::replace_if(text, [](char c) { return static_cast<std::uint8_t>(c) < 0x20; }, ' ');
  return text.empty() ? "no message" : text;
}

std::optional<ApiStatus> read_status(std::string_view body) {
  const auto status = nlohmann::json::parse(body, nullptr, false);
  if (!status.is_object()) return std::nullopt;
  if (text_at(status, "/kind") != "Status" || text_at(status, "/apiVersion") != "v1") {
    return std::nullopt;
  }
  const auto code = status.find("code");
  if (code == status.end() || !code->is_number_integer()) return std::nullopt;
  return ApiStatus{.code = code->get<int>(),
                   .reason = text_at(status, "/reason"),
                   .kind = text_at(status, "/details/kind"),
                   .name = text_at(status, "/details/name")};
}

bool says_not_found(std::string_view body, std::string_view kind, std::string_view name) {
  const std::optional<ApiStatus> status = read_status(body);
  return status && status->code == 404 && status->reason == "NotFound" && status->kind == kind &&
         status->name == name;
}

}  // namespace snug::codec
