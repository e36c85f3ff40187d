// Texts of the Kubernetes API: names, parts of a URL, messages of replies. Pure but for
// read_small_file().
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "snug/base/result.hpp"

namespace snug::kube {

/// A name of a pod, node or namespace: at most 253 of a-z, 0-9, `-` and `.`, with a letter or digit
/// first and last. No other text may become a part of a path.
[[nodiscard]] bool is_object_name(std::string_view text);

/// kInvalid unless is_object_name. `what` is the kind of object, for the message.
[[nodiscard]] base::Result<void> check_name(std::string_view what, std::string_view name);

/// Percent-encodes all but RFC 3986's unreserved characters.
[[nodiscard]] std::string encode_query(std::string_view value);

/// At most `max_bytes` of valid UTF-8: invalid bytes become `?`, and no character is cut in two.
[[nodiscard]] std::string clip_text(std::string_view text, std::size_t max_bytes);

/// The message of a reply that is no success: `message` of a Status in JSON, or in protobuf (the
/// reply to a request for a watch in protobuf), or else the first bytes of the body.
[[nodiscard]] std::string status_message(std::string_view body);

/// A Status object, with which the API server refuses a request.
struct ApiStatus {
  int code = 0;
  std::string reason;
  // Of `details`: the object that the refusal is about; empty if it has none.
  std::string kind;
  std::string name;
};

/// Nothing: the body is no Status in JSON, so a proxy or another server may have answered.
[[nodiscard]] std::optional<ApiStatus> read_status(std::string_view body);

/// Whether a 404 means that this object does not exist: it is a Status of reason NotFound about it.
/// A 404 of a proxy, or of a path that the API server does not serve, is not.
[[nodiscard]] bool says_not_found(std::string_view body, std::string_view kind,
                                  std::string_view name);

/// Kubernetes' MicroTime.
[[nodiscard]] std::string micro_time(std::chrono::system_clock::time_point time);

/// Strict base64 with padding; white space is ignored. Nothing: the text is not base64.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

/// Reads a file of at most `max_bytes`.
[[nodiscard]] base::Result<std::string> read_small_file(const std::string& path,
                                                        std::size_t max_bytes);

}  // namespace snug::kube
