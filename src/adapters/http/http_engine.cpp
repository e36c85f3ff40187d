#include "adapters/http/http_engine.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <limits>
#include <utility>

#include "adapters/http/listen.hpp"

namespace snug {
namespace {

using std::chrono::milliseconds;

/// Set while a thread serves a connection; httplib shows its handlers no stream.
thread_local Connection* serving = nullptr;

/// kStayMs: how long a thread waits for the next request of its connection after a reply, unless
/// other requests wait for a thread. A scheduler at work sends it within that time, and is answered
/// sooner than by way of the loop. kProbeThreads: a probe's thread waits for no client, so that two
/// are enough. Neither bounds what a client may do, so that they are no limits to set.
constexpr int kStayMs = 5;
constexpr std::size_t kProbeThreads = 2;

const Clock& clock_of(const HttpOptions& options) {
  static const SteadyClock steady;
  return options.clock == nullptr ? steady : *options.clock;
}

LoopBounds loop_bounds(const EngineBounds& bounds, const Limits& limits) {
  return {.open = bounds.threads + static_cast<std::size_t>(limits.max_queued_connections),
          .backlog = static_cast<std::size_t>(limits.listen_backlog),
          .timers = {.head = milliseconds{limits.head_ms},
                     .idle = bounds.keep_alive,
                     .refused = milliseconds{limits.request_silence_ms}}};
}

std::string sentence_for(int status) {
  switch (status) {
    case 408:
      return "the request did not arrive in time";
    case 414:
      return "the request's path is too long";
    case 416:
      return "the header Range is not accepted";
    case 500:
      return "an internal error; the log says more";
    default:
      return "the request is no valid HTTP/1.1";
  }
}

/// Status lines of the refusals that are sent without httplib, since they are about the head.
const char* status_text(int status) {
  switch (status) {
    case 408:
      return "408 Request Timeout";
    case 417:
      return "417 Expectation Failed";
    case 431:
      return "431 Request Header Fields Too Large";
    default:
      return "400 Bad Request";
  }
}

}  // namespace

HttpEngine::HttpEngine(HttpOptions options, EngineBounds bounds, const Limits& limits)
    : options_(std::move(options)),
      bounds_(std::move(bounds)),
      limits_(limits),
      clock_(clock_of(options_)),
      loop_(loop_bounds(bounds_, limits), clock_, loop_hooks()),
      threads_(bounds_.threads, bounds_.thread_name, thread_hooks(false)),
      probe_threads_(kProbeThreads, "snug-probes", thread_hooks(true)) {
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
    refuse(request, response, {500, sentence_for(500)});
  });
  set_post_routing_handler([this](const httplib::Request&, httplib::Response& response) {
    response.headers.erase("Keep-Alive");
    if (serving->refused() || loop_.draining()) {
      serving->end_after_reply();
      response.headers.erase("Connection");
      response.set_header("Connection", "close");
    }
  });
}

ConnectionLoop::Hooks HttpEngine::loop_hooks() {
  return {
      .open = [this](int fd) { return open(fd); },
      .head_came = [this](Connected connection) { head_came(std::move(connection)); },
      .head_late =
          [this](Connection& connection) { refuse_head(connection, {408, sentence_for(408)}); },
      .turn =
          [this] { return threads_.relieve(clock_.now(), limits_.min_bytes_per_s, waiting_()); }};
}

RequestThreads::Hooks HttpEngine::thread_hooks(bool probes) {
  return {.serve = [this, probes](Connection& connection) { return serve(connection, probes); },
          .served = [this](Connected connection,
                           AfterRequest after) { loop_.take_back(std::move(connection), after); }};
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
  refuse(request, response, {response.status, sentence_for(response.status)});
  return HandlerResponse::Handled;
}

void HttpEngine::refuse(const httplib::Request& request, httplib::Response& response,
                        const Refused& refused) const {
  serving->refuse_rest();
  // httplib would cut this reply to the ranges that were asked for. The request is a local variable
  // of httplib's, which is not const.
  const_cast<httplib::Request&>(request).ranges.clear();
  response.status = refused.status;
  response.body = error_body_(request.path, refused.sentence);
  response.headers.erase("Content-Type");
  response.set_header("Content-Type", kJsonType);
}

void HttpEngine::refuse_incomplete(const httplib::Request& request,
                                   httplib::Response& response) const {
  if (serving->timed_out()) return refuse(request, response, {408, sentence_for(408)});
  refuse(request, response, {400, "the body ended before its Content-Length"});
}

void HttpEngine::refuse_head(Connection& connection, const Refused& refused) const {
  const HeadFacts head = read_first_line(connection.head());
  const std::string body = error_body_(std::string{head.path}, refused.sentence);
  std::string reply = std::string{"HTTP/1.1 "} + status_text(refused.status) +
                      "\r\nConnection: close\r\nContent-Type: " + kJsonType +
                      "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  if (head.method != "HEAD") reply += body;
  connection.say(reply);
  connection.end_sending();
}

void HttpEngine::begin_body() { serving->begin_body(); }

void HttpEngine::keep_until_sent(std::shared_ptr<const void> thing) {
  serving->keep_until_sent(std::move(thing));
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
  if (!loop_.start(listening->fd)) {
    return fail(ErrorCode::kUnavailable, "there is no thread or descriptor left to listen with");
  }
  return {};
}

bool HttpEngine::drain(milliseconds at_most) { return loop_.drain(at_most); }

void HttpEngine::stop() {
  loop_.stop();
  threads_.stop();
  probe_threads_.stop();
}

HttpEngine::Connected HttpEngine::open(int fd) {
  try {
    const std::shared_ptr<SSL_CTX> context = tls_ == nullptr ? nullptr : tls_->current();
    return std::make_unique<Connection>(fd, context.get(), limits_, clock_);
  } catch (const std::exception& error) {
    ::close(fd);
    report(std::string{"a connection ended: "} + error.what());
    return nullptr;
  }
}

void HttpEngine::head_came(Connected connection) {
  switch (judge_head(*connection)) {
    case Verdict::kRequest:
      return threads_.submit(std::move(connection));
    case Verdict::kProbe:
      return probe_threads_.submit(std::move(connection));
    case Verdict::kRefused:
      return loop_.take_back(std::move(connection), AfterRequest::kDrop);
  }
}

HttpEngine::Verdict HttpEngine::judge_head(Connection& connection) const {
  const auto head = read_head(connection.head(), limits_);
  if (!head) {
    refuse_head(connection, head.error());
    return Verdict::kRefused;
  }
  const bool probe = std::ranges::find(bounds_.probes, head->path) != bounds_.probes.end();
  connection.accept_head(*head);
  return probe ? Verdict::kProbe : Verdict::kRequest;
}

AfterRequest HttpEngine::serve(Connection& connection, bool probe) {
  AfterRequest after = AfterRequest::kClose;
  serving = &connection;
  try {
    do {
      connection.begin_request(!probe);
      after = serve_one(connection);
    } while (after == AfterRequest::kAnother && !probe && stay(connection, after));
  } catch (const std::exception& error) {
    report(std::string{"a connection ended: "} + error.what());
    after = AfterRequest::kClose;
  }
  serving = nullptr;
  return after;
}

AfterRequest HttpEngine::serve_one(Connection& connection) {
  bool client_closes = false;
  const bool served = process_request(connection, false, client_closes, nullptr);
  const bool flushed = connection.flush();
  connection.end_request();
  if (connection.refused()) {
    connection.end_sending();
    return AfterRequest::kDrop;
  }
  const bool goes_on = served && flushed && !client_closes && !connection.ending();
  return goes_on ? AfterRequest::kAnother : AfterRequest::kClose;
}

bool HttpEngine::stay(Connection& connection, AfterRequest& after) const {
  if (threads_.crowded()) return false;
  std::array<pollfd, 2> fds{{{connection.socket(), POLLIN, 0}, {loop_.drain_fd(), POLLIN, 0}}};
  if (!connection.holds_bytes() && ::poll(fds.data(), fds.size(), kStayMs) <= 0) return false;
  switch (connection.advance()) {
    case Connection::Step::kHead:
      break;
    case Connection::Step::kEnd:
      after = AfterRequest::kClose;
      return false;
    default:
      return false;
  }
  if (judge_head(connection) != Verdict::kRefused) return true;
  after = AfterRequest::kDrop;
  return false;
}

void HttpEngine::report(std::string_view problem) const {
  if (options_.on_problem) options_.on_problem(problem);
}

}  // namespace snug
