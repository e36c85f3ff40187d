// What both servers share: a socket, threads, TLS, and httplib as the parser and router of each
// request. httplib accepts nothing itself, since its own accept loop and streams bound too little:
// the engine feeds it one request after another from a Connection.
#pragma once

#include <httplib.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "adapters/http/connection.hpp"
#include "adapters/http/connection_threads.hpp"
#include "adapters/http/tls_keeper.hpp"
#include "snug/adapters/http/http_options.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"

namespace snug {

inline constexpr const char* kJsonType = "application/json; charset=utf-8";

struct EngineBounds {
  PoolBounds pool;
  std::chrono::milliseconds keep_alive{};
};

class HttpEngine : private httplib::Server {
 public:
  /// Sees each request before its body is read. True: it has been answered.
  using Gate = std::function<bool(const httplib::Request&, httplib::Response&)>;
  /// The body of a refusal, in the shape that the asker of this path expects.
  using ErrorBody = std::function<std::string(const std::string& path, std::string_view sentence)>;

  HttpEngine(HttpOptions options, EngineBounds bounds, const Limits& limits);
  ~HttpEngine() override;
  HttpEngine(const HttpEngine&) = delete;
  HttpEngine& operator=(const HttpEngine&) = delete;

  void set_gate(Gate gate);
  void set_error_body(ErrorBody error_body) { error_body_ = std::move(error_body); }
  using httplib::Server::Post;

  [[nodiscard]] Result<void> start();
  [[nodiscard]] int port() const { return port_; }
  bool drain(std::chrono::milliseconds at_most);
  void stop();

  /// Answers with an error and closes the connection after it. Only for the request that this
  /// thread is serving.
  void refuse(const httplib::Request& request, httplib::Response& response, int status,
              std::string_view sentence) const;
  /// Of the request that this thread is serving: its head is complete, the body is read next.
  static void begin_body();
  /// Kept until the reply of the request that this thread is serving has left.
  static void keep_until_sent(std::shared_ptr<const void> thing);
  /// How many headers the client sent.
  [[nodiscard]] static std::size_t header_count(const httplib::Request& request);
  /// Refuses it because its body did not come whole.
  void refuse_incomplete(const httplib::Request& request, httplib::Response& response) const;

 private:
  void set_up();
  void serve(int fd);
  /// Waits for the first byte of a request; false: none came in time, or the connection ends.
  [[nodiscard]] bool await(Connection& connection, std::chrono::milliseconds at_most);
  void serve_requests(Connection& connection);
  /// False: the connection ends.
  [[nodiscard]] bool serve_one(Connection& connection);
  HandlerResponse complete_error(const httplib::Request& request, httplib::Response& response);
  [[nodiscard]] std::string sentence_for(int status) const;
  void report(std::string_view problem) const;

  HttpOptions options_;
  EngineBounds bounds_;
  Limits limits_;
  ErrorBody error_body_;
  std::unique_ptr<TlsKeeper> tls_;
  int port_ = 0;
  ConnectionThreads pool_;
};

}  // namespace snug
