#include "adapters/kube/api_text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "snug/base/text.hpp"
#include "snug/codec/proto_wire.hpp"

namespace snug::kube {
namespace {

constexpr std::size_t kMaxName = 253;           // bytes of the longest name that Kubernetes allows
constexpr std::size_t kMaxStatusMessage = 512;  // bytes, so that log lines stay readable

bool is_lower_alnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool is_unreserved(char c) {
  return is_lower_alnum(c) || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_' ||
         c == '~';
}

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  if (c == '/') return 63;
  return -1;
}

std::string text_at(const nlohmann::json& object, const char* pointer) {
  const nlohmann::json::json_pointer at(pointer);
  return object.contains(at) && object.at(at).is_string() ? object.at(at).get<std::string>() : "";
}

}  // namespace

bool is_object_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxName) return false;
  if (!is_lower_alnum(text.front()) || !is_lower_alnum(text.back())) return false;
  return std::ranges::all_of(text,
                             [](char c) { return is_lower_alnum(c) || c == '-' || c == '.'; });
}

base::Result<void> check_name(std::string_view what, std::string_view name) {
  if (is_object_name(name)) return {};
  return base::fail(base::ErrorCode::kInvalid,
                    "the " + std::string(what) + " `" + clip_text(name, 63) +
                        "` is not a Kubernetes name (1 to 253 of a-z, 0-9, `-` and `.`)");
}

std::string encode_query(std::string_view value) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  out.reserve(value.size());
  for (const char c : value) {
    if (is_unreserved(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<std::uint8_t>(c);
    out += '%';
    out += kHex[byte >> 4U];
    out += kHex[byte & 15U];
  }
  return out;
}

std::string clip_text(std::string_view text, std::size_t max_bytes) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = base::character_length(text);
    const std::size_t taken = std::max<std::size_t>(length, 1);
    if (out.size() + taken > max_bytes) break;
    if (length == 0) {
      out += '?';
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(taken);
  }
  return out;
}

std::string status_message(std::string_view body) {
  const auto status = nlohmann::json::parse(body, nullptr, false);
  const auto found = status.is_object() ? status.find("message") : status.end();
  if (found != status.end() && found->is_string()) {
    return clip_text(found->get_ref<const std::string&>(), kMaxStatusMessage);
  }
  const std::string_view in_proto = codec::proto_status_message(body);
  std::string text = clip_text(in_proto.empty() ? body : in_proto, kMaxStatusMessage);
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

std::string micro_time(std::chrono::system_clock::time_point time) {
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
  const std::time_t seconds = micros / 1'000'000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 16> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%06dZ", static_cast<int>(micros % 1'000'000));
  return std::string(text.data()) + fraction.data();
}

std::optional<std::string> decode_base64(std::string_view text) {
  std::string out;
  std::array<int, 4> group{};
  std::size_t filled = 0;
  std::size_t padding = 0;
  for (const char c : text) {
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    const bool pad = c == '=' && filled >= 2;
    const int digit = pad ? 0 : base64_digit(c);
    if (digit < 0 || (padding > 0 && !pad) || (padding > 0 && filled == 0)) return std::nullopt;
    padding += pad ? 1 : 0;
    group[filled++] = digit;
    if (filled < group.size()) continue;
    const auto bits = static_cast<std::uint32_t>((group[0] << 18) | (group[1] << 12) |
                                                 (group[2] << 6) | group[3]);
    for (std::size_t i = 0; i < 3 - padding; ++i) {
      out += static_cast<char>((bits >> (16U - 8U * i)) & 255U);
    }
    filled = 0;
  }
  if (filled != 0) return std::nullopt;
  return out;
}

base::Result<std::string> read_small_file(const std::string& path, std::size_t max_bytes) {
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) {
    return base::fail(base::ErrorCode::kInvalid, path + " is a folder; expected a file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return base::fail(base::ErrorCode::kInvalid,
                      path + " cannot be opened: " + std::strerror(errno));
  }
  std::string text(max_bytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return base::fail(base::ErrorCode::kInvalid, path + " cannot be read");
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > max_bytes) {
    return base::fail(base::ErrorCode::kTooLarge,
                      path + " is larger than " + std::to_string(max_bytes) + " bytes");
  }
  return text;
}

}  // namespace snug::kube
