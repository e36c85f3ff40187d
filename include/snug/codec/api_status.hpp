// Reads the Status objects by which the API server refuses requests. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace snug::codec {

/// Returns the message in `body`, the body of an error reply: the field `message` of a Status if
/// it is not empty, or else the first bytes of `body`; control characters become blanks. The Status
/// is in JSON or, if a protobuf watch was refused, in protobuf.
[[nodiscard]] std::string status_message(std::string_view body);

/// A Status object: the body of a reply by which the API server refuses a request.
struct ApiStatus {
  int code = 0;  // an HTTP status code
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

}  // namespace snug::codec
