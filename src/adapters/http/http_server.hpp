// The HTTP/1.1 server that both ports share: a socket, TLS, the threads, and the checks of each
// request's head. It knows no paths; a handler answers each request.
//
// A connection needs a thread only from the end of a head until its reply has been sent; otherwise
// it is in the ConnectionLoop. If all threads are busy and requests wait, connections with slow
// bodies or replies are closed (RequestThreads::abort_slow). Probes have their own threads, which
// never wait for a client.
//
// Calls of the handler come from many threads at once; the server's own functions are called from
// one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
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
  std::vector<std::string> probes = {};  // paths
};

struct HttpReply {
  int status = 200;
  std::string body;
  std::string content_type{kJsonType};
  std::string allow = {};  // the header Allow, of a 405
  /// The request was not read completely: the connection is closed after this reply.
  bool closes_connection = false;
};

struct HttpHandlers {
  /// Answers a request. The handler reads the body from the connection, if there is one; it must
  /// read all of it or refuse().
  std::function<HttpReply(const RequestHead&, Connection&)> answer;
  /// The body of a refusal, in the shape that the client of this path expects.
  std::function<std::string(std::string_view path, std::string_view sentence)> error_body;
  /// How many requests have a thread and wait for memory that slow clients may hold.
  std::function<std::size_t()> waiting_for_memory = [] { return std::size_t{0}; };
};

class HttpServer {
 public:
  HttpServer(HttpHandlers handlers, HttpOptions options, HttpServerOptions bounds,
             const base::Limits& limits);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] base::Result<void> start();
  [[nodiscard]] int port() const { return port_; }
  /// Accepts no more connections, closes idle ones and waits for the others; true: all have ended.
  bool drain(std::chrono::milliseconds at_most) { return loop_.drain(at_most); }
  void stop();
  /// To be called when the count of HttpHandlers::waiting_for_memory has grown. Thread-safe.
  void notify_waiting() { loop_.wake(); }

  /// An error after which the connection is closed.
  [[nodiscard]] HttpReply refuse(const RequestHead& request, const HttpRefusal& refused) const;
  /// Refuses a request whose body is incomplete.
  [[nodiscard]] HttpReply refuse_incomplete(const RequestHead& request,
                                            const Connection& connection) const;

 private:
  using ConnectionPtr = std::unique_ptr<Connection>;
  enum class HeadKind { kRequest, kProbe, kRefused };

  [[nodiscard]] ConnectionLoop::Hooks loop_hooks();
  [[nodiscard]] RequestThreads::Hooks thread_hooks(bool probes);
  [[nodiscard]] ConnectionPtr open_connection(int fd);
  void on_head(ConnectionPtr connection);
  /// Reads the head, and refuses the request if the head is not valid.
  [[nodiscard]] HeadKind classify_head(Connection& connection) const;
  void refuse_head(Connection& connection, const HttpRefusal& refused) const;
  [[nodiscard]] NextAction serve(Connection& connection, bool probe);
  [[nodiscard]] NextAction serve_one(Connection& connection);
  [[nodiscard]] HttpReply answer(Connection& connection) const;
  /// Waits up to kNextRequestWaitMs for the next head. True: this thread serves it. False: `after`
  /// says what becomes of the connection.
  [[nodiscard]] bool wait_for_next_head(Connection& connection, NextAction& after) const;
  void report_problem(std::string_view problem) const;

  const HttpHandlers handlers_;
  const HttpOptions options_;
  const HttpServerOptions bounds_;
  const base::Limits limits_;
  const base::Clock& clock_;
  std::unique_ptr<TlsContextReloader> tls_;
  int port_ = 0;
  ConnectionLoop loop_;
  RequestThreads threads_;
  RequestThreads probe_threads_;
};

}  // namespace snug::http
