// One HTTP request to the API server and how far it got. Plain data.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace snug::kube {

/// Real time: it bounds waits on sockets.
using CallDeadline = std::chrono::steady_clock::time_point;

struct ApiRequest {
  std::string method = "GET";
  std::string target;  // path and query, encoded
  std::string body;
  std::string content_type;
  std::string accept = "application/json";
  /// The request is not sent after this time.
  CallDeadline not_after = CallDeadline::max();
};

/// How an exchange ended.
struct ApiExchange {
  int status = 0;         // of the reply; 0: its head has not come
  bool complete = false;  // the whole reply was read
  /// The server may have the request. False: no attempt handed a byte of it to the network, or with
  /// TLS no whole record, so that the server cannot act on it.
  bool sent = false;
  bool stale = false;    // nothing was sent since bytes had come that belong to no request
  bool refused = false;  // a handler ended it
  std::string body;      // of a reply that is no success, its first bytes
  std::chrono::seconds retry_after{0};
  std::string why;  // what happened, if it is not complete

  [[nodiscard]] bool success() const { return status >= 200 && status < 300; }
};

/// Called by the thread that runs the exchange.
struct ReplyHandlers {
  /// The head of a successful reply has come; `type` is its Content-Type.
  std::function<void(std::string_view type)> on_success = [](std::string_view) {};
  /// A piece of its body; false ends the exchange.
  std::function<bool(std::string_view)> on_piece = [](std::string_view) { return true; };
};

}  // namespace snug::kube
