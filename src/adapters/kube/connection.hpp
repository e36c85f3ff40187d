// One keep-alive connection to the API server: the only file here, with its .cpp, that knows
// cpp-httplib. It runs one request at a time and says exactly how far each got. abort() may come
// from any thread at any time, also while connecting; the connection is of no use after it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "adapters/kube/buffered_socket.hpp"
#include "adapters/kube/tls.hpp"
#include "snug/adapters/kube/endpoint.hpp"

namespace httplib {
class ClientImpl;
}

namespace snug {

struct ApiRequest {
  std::string method = "GET";
  std::string target;  // path and query, encoded
  std::string body;
  std::string content_type;
  std::string accept = "application/json";
  /// After this time the body is not sent any more.
  std::chrono::steady_clock::time_point not_after = std::chrono::steady_clock::time_point::max();
};

/// How an exchange ended.
struct ApiExchange {
  int status = 0;         // of the reply; 0: none came
  bool complete = false;  // the whole reply was read
  /// The request's body may have left whole, or without TLS a part of it.
  bool body_sent = false;
  bool refused = false;  // a handler said stop
  std::string body;      // of a reply that is no success, its first bytes
  std::chrono::seconds retry_after{0};
  std::string why;  // where not complete: what happened

  [[nodiscard]] bool success() const { return status >= 200 && status < 300; }
};

struct ReplyHandlers {
  /// The head of a successful reply has come; `type` is its Content-Type.
  std::function<void(std::string_view type)> on_success = [](std::string_view) {};
  /// A piece of its body; false ends the exchange.
  std::function<bool(std::string_view)> on_piece = [](std::string_view) { return true; };
};

struct SocketTimes {
  std::chrono::milliseconds connect;
  std::chrono::milliseconds silence;  // longest wait for one read or write
};

/// As in a kubeconfig's `server`.
[[nodiscard]] std::string server_url(const ApiEndpoint& endpoint);

/// How far the head of a reply has come.
struct ReplyHead {
  std::size_t left = 0;  // bytes that may still come of it
  bool in_first_line = true;
  bool has_come = false;
};

class ApiConnection {
 public:
  /// `tls` may be null for plain http only.
  [[nodiscard]] static Result<std::unique_ptr<ApiConnection>> make(const ApiEndpoint& endpoint,
                                                                   TlsMaterialPtr tls,
                                                                   const SocketTimes& times);
  ~ApiConnection();
  ApiConnection(const ApiConnection&) = delete;
  ApiConnection& operator=(const ApiConnection&) = delete;

  [[nodiscard]] ApiExchange run(const ApiRequest& request, const std::string& token,
                                const ReplyHandlers& handlers);
  void abort();

  [[nodiscard]] const TlsMaterialPtr& tls() const { return tls_; }
  [[nodiscard]] bool aborted() const;

 private:
  template <typename Client>
  class Buffered;

  ApiConnection(const ApiEndpoint& endpoint, TlsMaterialPtr tls, std::chrono::milliseconds silence);
  void remember_socket(int socket);

  const std::string host_header_;
  const std::string url_;
  const std::string base_path_;
  const TlsMaterialPtr tls_;
  const std::chrono::milliseconds silence_;
  const TlsPeer peer_;
  BufferedSocket buffers_;
  bool socket_is_new_ = true;  // to the buffers
  ReplyHead head_;
  std::unique_ptr<httplib::ClientImpl> client_;

  mutable std::mutex mutex_;
  /// A second descriptor of the client's socket: shutting this one down is safe at any time, while
  /// the number of the client's own may be closed and used again by others.
  int socket_ = -1;
  bool aborted_ = false;
};

}  // namespace snug
