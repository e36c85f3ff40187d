// Small texts of the Kubernetes API: parts of a URL, notes of events, messages of replies. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "snug/base/result.hpp"

namespace snug {

/// Kubernetes' names of pods, nodes and namespaces: at most 253 of a-z, 0-9, `-`, `.`, first and
/// last a letter or digit. Only such a text may become a part of a path.
[[nodiscard]] bool is_object_name(std::string_view text);

/// kInvalid unless is_object_name; `what` says whose name it is.
[[nodiscard]] Result<void> check_name(std::string_view what, std::string_view name);

/// Percent-encodes all but RFC 3986's unreserved characters.
[[nodiscard]] std::string encode_query(std::string_view value);

/// At most `max_bytes` of valid UTF-8: bytes that are none become `?`, no character is cut in two.
[[nodiscard]] std::string clip_text(std::string_view text, std::size_t max_bytes);

/// What a reply that is no success says about itself: `message` of a Status, in JSON or in protobuf
/// (which answers a request for a watch in protobuf), else its first bytes.
[[nodiscard]] std::string status_message(std::string_view body);

/// A Status object, which the API server answers with where it refuses.
struct ApiStatus {
  int code = 0;
  std::string reason;
  // Of `details`: what the refusal is about; empty where it does not say.
  std::string kind;
  std::string name;
};

/// Nothing: the body is no Status in JSON, so that a proxy, or another server, may have answered.
[[nodiscard]] std::optional<ApiStatus> read_status(std::string_view body);

/// Whether a 404 is the API server's word that this object does not exist: a Status of reason
/// NotFound about it. A proxy's 404, or that of a path which the API server does not serve, is not.
[[nodiscard]] bool says_not_found(std::string_view body, std::string_view kind,
                                  std::string_view name);

/// Kubernetes' MicroTime.
[[nodiscard]] std::string micro_time(std::chrono::system_clock::time_point time);

/// Strict base64 with padding; white space is skipped. Nothing: it is not base64.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

/// Reads a file of at most `max_bytes`.
[[nodiscard]] Result<std::string> read_small_file(const std::string& path, std::size_t max_bytes);

}  // namespace snug
