#include "adapters/http/http_server.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <utility>

#include "adapters/http/listening_socket.hpp"

namespace snug::http {
namespace {

using std::chrono::milliseconds;

/// After a reply, a thread waits kNextRequestWaitMs for the next request of its connection, unless
/// other requests wait for a thread. A busy scheduler sends its next request within that time, and
/// the waiting thread answers it sooner than if the loop first had to receive it. kProbeThreads
/// threads are enough for probes, because they never wait for a client. Neither value limits a
/// client, so they need not be configurable.
constexpr int kNextRequestWaitMs = 5;
constexpr std::size_t kProbeThreads = 2;

constexpr std::string_view kTimeoutMessage = "the request did not arrive in time";

const base::Clock& clock_of(const HttpOptions& options) {
  static const base::SteadyClock steady;
  return options.clock == nullptr ? steady : *options.clock;
}

ConnectionLoopOptions loop_bounds(const HttpServerOptions& server_options,
                                  const base::Limits& limits) {
  return {
      .max_open = server_options.threads + static_cast<std::size_t>(limits.max_queued_connections),
      .backlog = static_cast<std::size_t>(limits.listen_backlog),
      .timers = {.head = milliseconds{limits.head_ms},
                 .idle = server_options.keep_alive,
                 .refused = milliseconds{limits.request_silence_ms}}};
}

/// Returns the reason phrase of `status` (RFC 9110, section 15), for each status that the server
/// sends.
std::string_view reason_phrase(int status) {
  struct Row {
    int status;
    std::string_view phrase;
  };
  static constexpr auto kRows = std::to_array<Row>({{200, "OK"},
                                                    {202, "Accepted"},
                                                    {204, "No Content"},
                                                    {400, "Bad Request"},
                                                    {401, "Unauthorized"},
                                                    {403, "Forbidden"},
                                                    {404, "Not Found"},
                                                    {405, "Method Not Allowed"},
                                                    {408, "Request Timeout"},
                                                    {409, "Conflict"},
                                                    {411, "Length Required"},
                                                    {413, "Content Too Large"},
                                                    {414, "URI Too Long"},
                                                    {415, "Unsupported Media Type"},
                                                    {417, "Expectation Failed"},
                                                    {422, "Unprocessable Content"},
                                                    {429, "Too Many Requests"},
                                                    {431, "Request Header Fields Too Large"},
                                                    {500, "Internal Server Error"},
                                                    {503, "Service Unavailable"}});
  const auto* row = std::ranges::find(kRows, status, &Row::status);
  return row == kRows.end() ? std::string_view{"Unknown"} : row->phrase;
}

/// Returns the head of the reply: status line, headers and empty line.
std::string make_reply_head(const HttpReply& reply, bool sends_close) {
  std::string reply_head = "HTTP/1.1 " + std::to_string(reply.status) + " ";
  reply_head.append(reason_phrase(reply.status));
  if (sends_close) reply_head += "\r\nConnection: close";
  if (!reply.allow.empty()) reply_head += "\r\nAllow: " + reply.allow;
  for (const auto& [name, value] : reply.headers)
    reply_head.append("\r\n").append(name).append(": ").append(value);
  reply_head += "\r\nContent-Type: " + reply.content_type;
  reply_head += "\r\nContent-Length: " + std::to_string(reply.body.size()) + "\r\n\r\n";
  return reply_head;
}

}  // namespace

HttpServer::HttpServer(HttpHandlers handlers, HttpOptions options, HttpServerOptions server_options,
                       const base::Limits& limits)
    : handlers_(std::move(handlers)),
      options_(std::move(options)),
      server_options_(std::move(server_options)),
      limits_(limits),
      clock_(clock_of(options_)),
      connection_loop_(loop_bounds(server_options_, limits), clock_, loop_hooks()),
      request_threads_(server_options_.threads, server_options_.thread_name, thread_hooks(false)),
      probe_threads_(kProbeThreads, "snug-probes", thread_hooks(true)) {}

HttpServer::~HttpServer() { stop(); }

ConnectionLoop::Hooks HttpServer::loop_hooks() {
  return {.open_connection = [this](int fd) { return open_connection(fd); },
          .on_head = [this](ConnectionPtr connection) { on_head(std::move(connection)); },
          .on_head_timeout =
              [this](Connection& connection) {
                refuse_head(connection, {408, std::string{kTimeoutMessage}});
              },
          .on_turn =
              [this] {
                return request_threads_.abort_slow(clock_.now(), limits_.min_bytes_per_s,
                                                   handlers_.waiting_for_memory());
              }};
}

RequestThreads::Hooks HttpServer::thread_hooks(bool probes) {
  return {.serve = [this, probes](Connection& connection) { return serve(connection, probes); },
          .served =
              [this](ConnectionPtr connection, NextAction next_action) {
                connection_loop_.take_back(std::move(connection), next_action);
              }};
}

HttpReply HttpServer::refuse(const RequestHead& request, const HttpRefusal& refusal) const {
  return {.status = refusal.status,
          .body = handlers_.error_body(request.path, refusal.sentence),
          .closes_connection = true};
}

HttpReply HttpServer::refuse_incomplete(const RequestHead& request,
                                        const Connection& connection) const {
  if (connection.timed_out()) return refuse(request, {408, std::string{kTimeoutMessage}});
  return refuse(request, {400, "the body is shorter than its Content-Length"});
}

void HttpServer::refuse_head(Connection& connection, const HttpRefusal& refusal) const {
  const RequestLine request_line = read_request_line(connection.head());
  const HttpReply reply{.status = refusal.status,
                        .body = handlers_.error_body(request_line.path, refusal.sentence)};
  connection.send_best_effort(make_reply_head(reply, true) +
                              (request_line.method == "HEAD" ? "" : reply.body));
  connection.shutdown_send();
}

base::Result<void> HttpServer::start() {
  if (options_.tls_identity) {
    tls_ = std::make_unique<TlsContextReloader>(options_.tls_identity, options_.on_problem);
  } else if (options_.tls) {
    tls_ = std::make_unique<TlsContextReloader>(*options_.tls, options_.on_problem);
  }
  if (tls_ != nullptr) {
    // OpenSSL writes without MSG_NOSIGNAL, so a write to a closed connection raises SIGPIPE.
    std::signal(SIGPIPE, SIG_IGN);
    if (base::Result<void> opened = tls_->open(); !opened) return opened;
  }
  base::Result<ListeningSocket> listening_socket =
      listen_on(options_.host, options_.port, static_cast<int>(limits_.listen_backlog));
  if (!listening_socket) return std::unexpected(std::move(listening_socket.error()));
  port_ = listening_socket->port;
  if (!connection_loop_.start(listening_socket->fd)) {
    return base::fail(base::ErrorCode::kUnavailable,
                      "no thread or file descriptor is available for the server");
  }
  return {};
}

void HttpServer::stop() {
  connection_loop_.stop();
  request_threads_.stop();
  probe_threads_.stop();
}

HttpServer::ConnectionPtr HttpServer::open_connection(int fd) {
  try {
    const std::shared_ptr<SSL_CTX> context = tls_ == nullptr ? nullptr : tls_->current();
    if (tls_ != nullptr && context == nullptr) {  // there is no certificate yet
      ::close(fd);
      return nullptr;
    }
    return std::make_unique<Connection>(fd, context.get(), limits_, clock_);
  } catch (const std::exception& error) {
    ::close(fd);
    report_problem(std::string{"a connection was closed after an exception: "} + error.what());
    return nullptr;
  }
}

void HttpServer::on_head(ConnectionPtr connection) {
  switch (classify_head(*connection)) {
    case HeadKind::kRequest:
      return request_threads_.submit(std::move(connection));
    case HeadKind::kProbe:
      return probe_threads_.submit(std::move(connection));
    case HeadKind::kRefused:
      return connection_loop_.take_back(std::move(connection), NextAction::kDiscardInput);
  }
}

HttpServer::HeadKind HttpServer::classify_head(Connection& connection) const {
  auto head = read_head(connection.head(), limits_);
  if (!head) {
    refuse_head(connection, head.error());
    return HeadKind::kRefused;
  }
  const bool probe =
      std::ranges::find(server_options_.probes, head->path) != server_options_.probes.end();
  connection.accept(std::move(*head));
  return probe ? HeadKind::kProbe : HeadKind::kRequest;
}

NextAction HttpServer::serve(Connection& connection, bool probe) {
  NextAction next_action = NextAction::kClose;
  try {
    do {
      connection.begin_request(!probe);
      next_action = serve_one(connection);
    } while (next_action == NextAction::kKeepAlive && !probe &&
             wait_for_next_head(connection, next_action));
  } catch (const std::exception& error) {
    report_problem(std::string{"a connection was closed after an exception: "} + error.what());
    next_action = NextAction::kClose;
  }
  return next_action;
}

HttpReply HttpServer::answer(Connection& connection) const {
  const RequestHead& request = connection.request();
  try {
    return handlers_.answer(request, connection);
  } catch (const std::exception& error) {
    report_problem(std::string{"a request handler threw: "} + error.what());
  } catch (...) {
    report_problem("a request handler threw an unknown exception");
  }
  return refuse(request, {500, "an internal error; see the log of snug-extender"});
}

NextAction HttpServer::serve_one(Connection& connection) {
  const HttpReply reply = answer(connection);
  const RequestHead& request = connection.request();
  const bool sends_close =
      reply.closes_connection || !request.keep_alive || connection_loop_.draining();
  const bool sent = connection.send_reply(
      make_reply_head(reply, sends_close),
      request.method == "HEAD" ? std::string_view{} : std::string_view{reply.body});
  connection.end_request();
  if (reply.closes_connection) {
    connection.shutdown_send();
    return NextAction::kDiscardInput;
  }
  return sent && !sends_close ? NextAction::kKeepAlive : NextAction::kClose;
}

bool HttpServer::wait_for_next_head(Connection& connection, NextAction& next_action) const {
  if (request_threads_.has_queue()) return false;
  std::array<pollfd, 2> polled_sockets{
      {{connection.socket(), POLLIN, 0}, {connection_loop_.drain_fd(), POLLIN, 0}}};
  if (!connection.has_buffered_bytes() &&
      ::poll(polled_sockets.data(), polled_sockets.size(), kNextRequestWaitMs) <= 0)
    return false;
  switch (connection.advance()) {
    case Connection::Step::kHead:
      break;
    case Connection::Step::kEnd:
      next_action = NextAction::kClose;
      return false;
    default:
      return false;
  }
  if (classify_head(connection) != HeadKind::kRefused) return true;
  next_action = NextAction::kDiscardInput;
  return false;
}

void HttpServer::report_problem(std::string_view problem) const {
  if (options_.on_problem) options_.on_problem(problem);
}

}  // namespace snug::http
