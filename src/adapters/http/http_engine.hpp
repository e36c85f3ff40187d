// What both servers share: a socket, TLS, and httplib as the parser and router of each request.
// httplib accepts nothing itself, since its own accept loop and streams bound too little: the
// engine feeds it one request after another from a Connection.
//
// A connection costs a thread only from the end of a head until its reply has left; before and
// after it is in the ConnectionLoop. Where all threads are taken, clients that are slow with a body
// or a reply lose their connections to requests that wait (RequestThreads::relieve). Probes have
// threads of their own, which wait for no client.
#pragma once

#include <httplib.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/http/connection.hpp"
#include "adapters/http/connection_loop.hpp"
#include "adapters/http/request_threads.hpp"
#include "adapters/http/tls_keeper.hpp"
#include "snug/adapters/http/http_options.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"

namespace snug {

inline constexpr const char* kJsonType = "application/json; charset=utf-8";

struct EngineBounds {
  std::size_t threads = 0;
  const char* thread_name = "snug-http";
  std::chrono::milliseconds keep_alive{};
  std::vector<std::string> probes = {};  // paths
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
  /// `waiting` counts the requests that have a thread but wait for room that slow clients may hold.
  void set_waiting(std::function<std::size_t()> waiting) { waiting_ = std::move(waiting); }
  using httplib::Server::Post;

  [[nodiscard]] Result<void> start();
  [[nodiscard]] int port() const { return port_; }
  bool drain(std::chrono::milliseconds at_most);
  void stop();
  /// To be called when the count of set_waiting() has grown.
  void waiting_grew() { loop_.wake(); }

  /// Answers with an error and closes the connection after it. Only for the request that this
  /// thread is serving.
  void refuse(const httplib::Request& request, httplib::Response& response,
              const Refused& refused) const;
  /// To be called before the body is read of the request that this thread is serving.
  static void begin_body();
  /// Kept until the reply of the request that this thread is serving has left.
  static void keep_until_sent(std::shared_ptr<const void> thing);
  /// Refuses a request whose body did not come whole.
  void refuse_incomplete(const httplib::Request& request, httplib::Response& response) const;

 private:
  using Connected = std::unique_ptr<Connection>;
  enum class Verdict { kRequest, kProbe, kRefused };

  void set_up();
  [[nodiscard]] ConnectionLoop::Hooks loop_hooks();
  [[nodiscard]] RequestThreads::Hooks thread_hooks(bool probes);
  [[nodiscard]] Connected open(int fd);
  void head_came(Connected connection);
  /// Reads the head, and refuses the request if the head is not valid.
  [[nodiscard]] Verdict judge_head(Connection& connection) const;
  void refuse_head(Connection& connection, const Refused& refused) const;
  [[nodiscard]] AfterRequest serve(Connection& connection, bool probe);
  [[nodiscard]] AfterRequest serve_one(Connection& connection);
  /// Waits up to kStayMs for the next head. True: this thread serves it. False: `after` says what
  /// becomes of the connection.
  [[nodiscard]] bool stay(Connection& connection, AfterRequest& after) const;
  HandlerResponse complete_error(const httplib::Request& request, httplib::Response& response);
  void report(std::string_view problem) const;

  HttpOptions options_;
  EngineBounds bounds_;
  Limits limits_;
  const Clock& clock_;
  ErrorBody error_body_;
  std::function<std::size_t()> waiting_ = [] { return std::size_t{0}; };
  std::unique_ptr<TlsKeeper> tls_;
  int port_ = 0;
  ConnectionLoop loop_;
  RequestThreads threads_;
  RequestThreads probe_threads_;
};

}  // namespace snug
