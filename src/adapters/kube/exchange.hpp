// One HTTP request to the API server, and its outcome. Plain data.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace snug::kube {

/// A deadline for waits on sockets, in real time (not in the time of base::Clock).
using CallDeadline = std::chrono::steady_clock::time_point;

struct ApiRequest {
  std::string method = "GET";
  std::string target;  // path and query, percent-encoded
  std::string body;
  std::string content_type;
  std::string accept = "application/json";
  /// The request is not sent after this time.
  CallDeadline not_after = CallDeadline::max();
  /// The object may not exist: a 404 does not count as an error in the metrics.
  bool may_be_absent = false;
};

/// The outcome of an exchange. An exchange is one request and its reply.
struct ApiExchange {
  int status = 0;         // HTTP status of the reply; 0: no complete reply head arrived
  bool complete = false;  // the whole reply was read
  /// Whether the server may have received the request. If false, no byte of it (with TLS, no whole
  /// record) was handed to the network, so the server cannot act on it.
  bool sent = false;
  bool stale = false;    // not sent: the reused connection held bytes that belong to no request
  bool refused = false;  // on_piece returned false, which ended the exchange
  std::string body;      // the first bytes of the reply's body, if the status is not 2xx
  std::chrono::seconds retry_after{0};  // the Retry-After header; 0: not given
  std::string why;                      // the cause, if the exchange is not complete

  [[nodiscard]] bool success() const { return status >= 200 && status < 300; }
};

/// Callbacks. The thread that runs the exchange calls them.
struct ReplyHandlers {
  /// Called when the head of a reply with status 2xx has arrived. `type` is its Content-Type.
  std::function<void(std::string_view type)> on_success = [](std::string_view) {};
  /// Called with each piece of the body of a 2xx reply. Returns false to end the exchange.
  std::function<bool(std::string_view)> on_piece = [](std::string_view) { return true; };
};

}  // namespace snug::kube
