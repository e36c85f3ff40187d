// Texts of the Kubernetes API: names, parts of URLs, messages in replies. All functions are pure,
// except read_small_file().
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "snug/base/result.hpp"

namespace snug::kube {

/// Whether `text` can name a pod, node, namespace or Lease: 1 to 253 characters a-z, 0-9, `-` and
/// `.`, of which the first and the last are letters or digits. A URL path may contain only names
/// for which this is true.
[[nodiscard]] bool is_object_name(std::string_view text);

/// Fails with kInvalid if is_object_name(name) is false. The message calls the object `what`.
[[nodiscard]] base::Result<void> check_name(std::string_view what, std::string_view name);

/// Percent-encodes `value`, except the characters that RFC 3986 calls unreserved.
[[nodiscard]] std::string encode_query(std::string_view value);

/// Returns the beginning of `text` as valid UTF-8 of at most `max_bytes`. Each invalid byte becomes
/// `?`; a character that does not fit is left out as a whole.
[[nodiscard]] std::string clip_text(std::string_view text, std::size_t max_bytes);

/// Returns the message in `body`, the body of an error reply: the field `message` of a Status, or
/// else the first bytes of `body`. The Status is in JSON or, if a protobuf watch was refused, in
/// protobuf.
[[nodiscard]] std::string status_message(std::string_view body);

/// A Status object: the body of a reply by which the API server refuses a request.
struct ApiStatus {
  int code = 0;
  std::string reason;
  // `details.kind` and `details.name`: the object of the refused request; empty if not given.
  std::string kind;
  std::string name;
};

/// Parses a Status in JSON. Returns nullopt if `body` is not a Status, as when a proxy or another
/// server has answered.
[[nodiscard]] std::optional<ApiStatus> read_status(std::string_view body);

/// Whether `body`, the body of a 404, says that the object `kind`/`name` does not exist: it is a
/// Status with the reason NotFound for this object. False for a 404 from a proxy, or for a path
/// that the API server does not serve.
[[nodiscard]] bool says_not_found(std::string_view body, std::string_view kind,
                                  std::string_view name);

/// Returns `time` as a Kubernetes MicroTime: RFC 3339 in UTC with microseconds.
[[nodiscard]] std::string micro_time(std::chrono::system_clock::time_point time);

/// Decodes base64 with padding and ignores white space. Returns nullopt if `text` is not base64.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

/// Reads a whole file. Fails with kTooLarge if it has more than `max_bytes`, and with kInvalid if
/// it cannot be read.
[[nodiscard]] base::Result<std::string> read_small_file(const std::string& path,
                                                        std::size_t max_bytes);

}  // namespace snug::kube
