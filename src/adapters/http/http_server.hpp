// The HTTP/1.1 server that both ports use: the listening socket, TLS, the threads, and the checks
// of each request's head. A handler answers each request.
//
// A connection has a thread only from the end of a head until the reply has been sent; at other
// times it is in the ConnectionLoop. If requests wait for a thread or for memory, connections with
// slow bodies or replies are closed (RequestThreads::abort_slow). Probes have separate threads,
// which never wait for a client.
//
// The handlers are called concurrently from many threads. The server's functions must be called
// from one thread unless their comment says otherwise.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/http/connection.hpp"
#include "adapters/http/connection_loop.hpp"
#include "adapters/http/request_head.hpp"
#include "adapters/http/request_threads.hpp"
#include "adapters/http/tls_context_reloader.hpp"
#include "snug/adapters/http/http_options.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"

namespace snug::http {

inline constexpr std::string_view kJsonType = "application/json; charset=utf-8";

struct HttpServerOptions {
  std::size_t threads = 0;
  const char* thread_name = "snug-http";
  std::chrono::milliseconds keep_alive{};
  std::vector<std::string> probes = {};  // paths of health probes
};

struct HttpReply {
  int status = 200;
  std::string body;
  std::string content_type{kJsonType};
  std::string allow = {};  // value of the header Allow, for status 405
  std::vector<std::pair<std::string, std::string>> headers = {};  // further headers
  /// Whether the connection must be closed after this reply, because part of the request may not
  /// have been read.
  bool closes_connection = false;
};

struct HttpHandlers {
  /// Answers a request. If the request has a body, the handler must read all of it from the
  /// connection or return HttpServer::refuse().
  std::function<HttpReply(const RequestHead&, Connection&)> answer;
  /// Returns the body of an error reply, in the format that clients of `path` expect.
  std::function<std::string(std::string_view path, std::string_view sentence)> error_body;
  /// Returns the number of requests that have a thread and wait for memory (BodyBuffers).
  std::function<std::size_t()> waiting_for_memory = [] { return std::size_t{0}; };
};

class HttpServer {
 public:
  HttpServer(HttpHandlers handlers, HttpOptions options, HttpServerOptions server_options,
             const base::Limits& limits);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] base::Result<void> start();
  [[nodiscard]] int port() const { return port_; }
  /// Stops accepting connections, closes idle ones, and waits up to `at_most` for the others to
  /// end. Returns whether all have ended.
  bool drain(std::chrono::milliseconds at_most) { return connection_loop_.drain(at_most); }
  void stop();
  /// Call it when the number that HttpHandlers::waiting_for_memory returns has grown. Thread-safe.
  void notify_waiting() { connection_loop_.wake(); }

  /// Makes an error reply after which the connection is closed. Thread-safe.
  [[nodiscard]] HttpReply refuse(const RequestHead& request, const HttpRefusal& refusal) const;
  /// Makes the error reply to a request whose body is incomplete. Thread-safe.
  [[nodiscard]] HttpReply refuse_incomplete(const RequestHead& request,
                                            const Connection& connection) const;

 private:
  using ConnectionPtr = std::unique_ptr<Connection>;
  enum class HeadKind { kRequest, kProbe, kRefused };

  [[nodiscard]] ConnectionLoop::Hooks loop_hooks();
  [[nodiscard]] RequestThreads::Hooks thread_hooks(bool probes);
  [[nodiscard]] ConnectionPtr open_connection(int fd);
  void on_head(ConnectionPtr connection);
  /// Parses the connection's head. If it is invalid, sends an error reply and returns kRefused.
  [[nodiscard]] HeadKind classify_head(Connection& connection) const;
  void refuse_head(Connection& connection, const HttpRefusal& refusal) const;
  [[nodiscard]] NextAction serve(Connection& connection, bool probe);
  [[nodiscard]] NextAction serve_one(Connection& connection);
  [[nodiscard]] HttpReply answer(Connection& connection) const;
  /// Waits up to kNextRequestWaitMs for the next head. True: this thread must serve the next
  /// request. False: `next_action` says what to do with the connection.
  [[nodiscard]] bool wait_for_next_head(Connection& connection, NextAction& next_action) const;
  void report_problem(std::string_view problem) const;

  const HttpHandlers handlers_;
  const HttpOptions options_;
  const HttpServerOptions server_options_;
  const base::Limits limits_;
  const base::Clock& clock_;
  std::unique_ptr<TlsContextReloader> tls_;
  int port_ = 0;
  ConnectionLoop connection_loop_;
  RequestThreads request_threads_;
  RequestThreads probe_threads_;
};

}  // namespace snug::http
