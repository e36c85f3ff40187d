#include "adapters/http/http_engine.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include "adapters/http/listen.hpp"

namespace snug {
namespace {

/// Set while a thread serves a connection; httplib shows its handlers no stream.
thread_local Connection* serving = nullptr;

/// A connection that has said nothing yet is given so long before it counts as idle, since its
/// request is on its way. Short beside any probe's patience, and of no meaning unless all threads
/// are taken: no operator's business.
constexpr std::chrono::milliseconds kFreshFor{50};

}  // namespace

HttpEngine::HttpEngine(HttpOptions options, EngineBounds bounds, const Limits& limits)
    : options_(std::move(options)),
      bounds_(bounds),
      limits_(limits),
      pool_(bounds.pool, [this](int fd) { serve(fd); }) {
  set_up();
}

HttpEngine::~HttpEngine() { stop(); }

void HttpEngine::set_up() {
  set_keep_alive_max_count(std::numeric_limits<std::size_t>::max());
  set_error_handler(
      HandlerWithResponse{[this](const httplib::Request& request, httplib::Response& response) {
        return complete_error(request, response);
      }});
  set_exception_handler([this](const httplib::Request& request, httplib::Response& response,
                               std::exception_ptr thrown) {
    try {
      std::rethrow_exception(std::move(thrown));
    } catch (const std::exception& error) {
      report(std::string{"a request handler threw: "} + error.what());
    } catch (...) {
      report("a request handler threw something unknown");
    }
    refuse(request, response, 500, sentence_for(500));
  });
  set_post_routing_handler([this](const httplib::Request&, httplib::Response& response) {
    response.headers.erase("Keep-Alive");
    if (serving->refused() || pool_.draining() || pool_.crowded()) {
      serving->end_after_reply();
      response.headers.erase("Connection");
      response.set_header("Connection", "close");
    }
  });
}

void HttpEngine::set_gate(Gate gate) {
  set_pre_routing_handler(
      [gate = std::move(gate)](const httplib::Request& request, httplib::Response& response) {
        return gate(request, response) ? HandlerResponse::Handled : HandlerResponse::Unhandled;
      });
}

/// Errors that httplib itself finds come without a body, and leave the rest of the request unread.
HttpEngine::HandlerResponse HttpEngine::complete_error(const httplib::Request& request,
                                                       httplib::Response& response) {
  if (!response.body.empty()) return HandlerResponse::Unhandled;
  int status = response.status;
  if (serving->timed_out()) status = 408;
  if (serving->head_too_large()) status = 431;
  refuse(request, response, status, sentence_for(status));
  return HandlerResponse::Handled;
}

void HttpEngine::refuse(const httplib::Request& request, httplib::Response& response, int status,
                        std::string_view sentence) const {
  serving->refuse_rest();
  // httplib would cut this reply to the ranges that were asked for. The request is a local variable
  // of its own, and no constant.
  const_cast<httplib::Request&>(request).ranges.clear();
  response.status = status;
  response.body = error_body_(request.path, sentence);
  response.headers.erase("Content-Type");
  response.set_header("Content-Type", kJsonType);
}

void HttpEngine::refuse_incomplete(const httplib::Request& request,
                                   httplib::Response& response) const {
  if (serving->timed_out()) return refuse(request, response, 408, sentence_for(408));
  refuse(request, response, 400, "the body ended before its Content-Length");
}

std::string HttpEngine::sentence_for(int status) const {
  switch (status) {
    case 408:
      return "the request did not arrive in time";
    case 414:
      return "the request's path is too long";
    case 416:
      return "the header Range is not accepted";
    case 431:
      if (serving->head_line_too_long()) {
        return "a header is longer than the " + std::to_string(Connection::kMaxHeadLine) +
               " bytes that are allowed";
      }
      return "the request's line and headers are larger than the " +
             std::to_string(limits_.max_header_bytes) +
             " bytes that are allowed (limit maxHeaderBytes)";
    case 500:
      return "an internal error; the log says more";
    default:
      return "the request is no valid HTTP/1.1";
  }
}

void HttpEngine::begin_body() { serving->begin_body(); }

void HttpEngine::keep_until_sent(std::shared_ptr<const void> thing) {
  serving->keep_until_sent(std::move(thing));
}

std::size_t HttpEngine::header_count(const httplib::Request& request) {
  // httplib adds REMOTE_ADDR, REMOTE_PORT, LOCAL_ADDR and LOCAL_PORT.
  constexpr std::size_t kOwnHeaders = 4;
  return request.headers.size() - std::min(kOwnHeaders, request.headers.size());
}

Result<void> HttpEngine::start() {
  if (options_.tls) {
    tls_ = std::make_unique<TlsKeeper>(*options_.tls, options_.on_problem);
    if (Result<void> opened = tls_->open(); !opened) return opened;
  }
  Result<Listening> listening =
      listen_on(options_.host, options_.port, static_cast<int>(limits_.listen_backlog));
  if (!listening) return std::unexpected(std::move(listening.error()));
  port_ = listening->port;
  // httplib takes an invalid socket here for a server that shuts down.
  svr_sock_ = listening->fd;
  if (!pool_.start(listening->fd)) {
    return fail(ErrorCode::kUnavailable, "there is no thread or descriptor left to listen with");
  }
  return {};
}

bool HttpEngine::drain(std::chrono::milliseconds at_most) { return pool_.drain(at_most); }

void HttpEngine::stop() { pool_.stop(); }

void HttpEngine::serve(int fd) {
  try {
    const std::shared_ptr<SSL_CTX> context = tls_ == nullptr ? nullptr : tls_->current();
    Connection connection{fd, context.get(), limits_};
    const std::chrono::milliseconds silence{limits_.request_silence_ms};
    if (context != nullptr && !(await(connection, silence) && connection.handshake())) return;
    serving = &connection;
    serve_requests(connection);
  } catch (const std::exception& error) {
    report(std::string{"a connection ended: "} + error.what());
  }
  serving = nullptr;
}

bool HttpEngine::await(Connection& connection, std::chrono::milliseconds at_most) {
  if (connection.fresh() && connection.wait_for_request(pool_.wake_fd(), kFreshFor)) return true;
  const ConnectionThreads::Idle idle(pool_, connection.socket());
  return connection.wait_for_request(pool_.wake_fd(), at_most);
}

void HttpEngine::serve_requests(Connection& connection) {
  // Who opens a connection has something to say: only one that has said it may idle for long.
  std::chrono::milliseconds patience =
      std::min(bounds_.keep_alive, std::chrono::milliseconds{limits_.request_silence_ms});
  while (await(connection, patience)) {
    connection.begin_request();
    if (!serve_one(connection)) break;
    patience = bounds_.keep_alive;
  }
  if (connection.refused()) connection.linger(pool_.wake_fd());
}

bool HttpEngine::serve_one(Connection& connection) {
  bool client_closes = false;
  const bool served = process_request(connection, false, client_closes, nullptr);
  if (!served && connection.head_too_large() && !connection.replied()) {
    // The very first line was too long for httplib to have come to a reply.
    connection.refuse_rest();
    constexpr std::string_view kReply =
        "HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n"
        "Content-Length: 0\r\n\r\n";
    connection.write(kReply.data(), kReply.size());
  }
  const bool flushed = connection.flush();
  connection.end_request();
  return served && flushed && !client_closes && !connection.ending() && !connection.refused();
}

void HttpEngine::report(std::string_view problem) const {
  if (options_.on_problem) options_.on_problem(problem);
}

}  // namespace snug
