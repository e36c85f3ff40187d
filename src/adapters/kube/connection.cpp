#include "adapters/kube/connection.hpp"

#include <fcntl.h>
#include <httplib.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <utility>

namespace snug {
namespace {

/// More than any Status; sentences show a few hundred bytes of it, so nobody need set it.
constexpr std::size_t kMaxRefusalBytes = 16'384;
/// An API server's head has some 500 bytes. httplib itself would read on for ever, and reads the
/// first line by a regular expression that takes stack for each byte.
constexpr std::size_t kMaxFirstLine = 8'192;
constexpr std::size_t kMaxOtherLines = 57'344;
constexpr const char* kUserAgent = "snug-extender";

/// httplib and OpenSSL write to sockets that the other side may have closed.
void ignore_broken_pipes() {
  static const bool done = [] {
    struct sigaction current{};
    if (::sigaction(SIGPIPE, nullptr, &current) == 0 && current.sa_handler == SIG_DFL) {
      std::signal(SIGPIPE, SIG_IGN);
    }
    return true;
  }();
  static_cast<void>(done);
}

std::string host_header(const ApiEndpoint& endpoint) {
  const bool v6 = endpoint.host.find(':') != std::string::npos;
  return (v6 ? "[" + endpoint.host + "]" : endpoint.host) + ":" + std::to_string(endpoint.port);
}

std::string describe(httplib::Error error, const std::string& url) {
  switch (error) {
    case httplib::Error::Connection:
    case httplib::Error::ConnectionTimeout:
    case httplib::Error::BindIPAddress:
      return url + " cannot be connected to";
    case httplib::Error::SSLConnection:
    case httplib::Error::SSLLoadingCerts:
    case httplib::Error::SSLServerVerification: {
      const std::string reason = take_tls_error();
      return "the TLS handshake with " + url + " failed" +
             (reason.empty() ? "" : " (" + reason + ")");
    }
    case httplib::Error::Write:
      return "the connection was lost while sending";
    case httplib::Error::Read:
      return "the connection was lost or silent while receiving";
    case httplib::Error::Unknown:
      return "the connection had ended, or brought what nobody asked for";
    default:
      return "the exchange failed (" + httplib::to_string(error) + ")";
  }
}

/// Seconds; the header's other form, a date, is not used by API servers.
std::chrono::seconds retry_after(const httplib::Response& reply) {
  const std::string text = reply.get_header_value("Retry-After");
  int seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool valid = error == std::errc() && end == text.data() + text.size() && seconds > 0;
  return std::chrono::seconds(valid ? seconds : 0);
}

httplib::Request to_httplib(const ApiRequest& request, const std::string& token) {
  httplib::Request out;
  out.method = request.method;
  out.headers.emplace("Accept", request.accept);
  out.headers.emplace("Accept-Encoding", "identity");
  out.headers.emplace("User-Agent", kUserAgent);
  if (!token.empty()) out.headers.emplace("Authorization", "Bearer " + token);
  if (!request.content_type.empty()) out.headers.emplace("Content-Type", request.content_type);
  return out;
}

/// The buffers as httplib's stream.
class Stream final : public httplib::Stream {
 public:
  Stream(BufferedSocket& buffers, int socket, ReplyHead& head)
      : buffers_(buffers), socket_(socket), head_(head) {}

  [[nodiscard]] bool is_readable() const override { return buffers_.has_rest(); }
  [[nodiscard]] bool is_writable() const override { return !buffers_.broken(); }
  ssize_t read(char* out, std::size_t size) override {
    if (head_.has_come) return buffers_.read(out, size);
    if (head_.left == 0) return -1;
    const ssize_t got = buffers_.read(out, std::min(size, head_.left));
    if (got <= 0) return got;
    const std::string_view bytes(out, static_cast<std::size_t>(got));
    head_.left -= bytes.size();
    if (head_.in_first_line && bytes.find('\n') != bytes.npos) {
      head_.in_first_line = false;
      head_.left += kMaxOtherLines;
    }
    return got;
  }
  ssize_t write(const char* data, std::size_t size) override {
    return buffers_.write({data, size}) ? static_cast<ssize_t>(size) : -1;
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override { forget(ip, port); }
  void get_local_ip_and_port(std::string& ip, int& port) const override { forget(ip, port); }
  [[nodiscard]] socket_t socket() const override { return socket_; }

 private:
  static void forget(std::string& ip, int& port) {
    ip.clear();
    port = 0;
  }

  BufferedSocket& buffers_;
  int socket_;
  ReplyHead& head_;
};

}  // namespace

/// httplib's own streams read heads byte by byte, each a call of OpenSSL, and send a request's head
/// and body as two records.
template <typename Client>
class ApiConnection::Buffered final : public Client {
 public:
  Buffered(const ApiEndpoint& endpoint, ApiConnection& connection)
      : Client(endpoint.host, endpoint.port), connection_(connection) {}

 private:
  bool process_socket(const typename Client::Socket& socket,
                      std::function<bool(httplib::Stream&)> callback) override {
    BufferedSocket& buffers = connection_.buffers_;
    if (std::exchange(connection_.socket_is_new_, false)) buffers.attach(socket.sock, socket.ssl);
    if (!buffers.begin_request()) return false;
    connection_.head_ = {.left = kMaxFirstLine};
    Stream stream(buffers, socket.sock, connection_.head_);
    return callback(stream);
  }

  ApiConnection& connection_;
};

std::string server_url(const ApiEndpoint& endpoint) {
  return (endpoint.tls ? "https://" : "http://") + host_header(endpoint) + endpoint.base_path;
}

ApiConnection::ApiConnection(const ApiEndpoint& endpoint, TlsMaterialPtr tls,
                             std::chrono::milliseconds silence)
    : host_header_(host_header(endpoint)),
      url_(server_url(endpoint)),
      base_path_(endpoint.base_path),
      tls_(std::move(tls)),
      silence_(silence),
      peer_{endpoint.tls_server_name.empty() ? endpoint.host : endpoint.tls_server_name,
            endpoint.verify_server},
      buffers_(silence) {}

Result<std::unique_ptr<ApiConnection>> ApiConnection::make(const ApiEndpoint& endpoint,
                                                           TlsMaterialPtr tls,
                                                           const SocketTimes& times) {
  ignore_broken_pipes();
  std::unique_ptr<ApiConnection> made(new ApiConnection(endpoint, std::move(tls), times.silence));
  if (endpoint.tls) {
    auto client = std::make_unique<Buffered<httplib::SSLClient>>(endpoint, *made);
    // httplib would trust the system's authorities beside ours, and checks after the handshake
    // only: OpenSSL itself verifies instead.
    client->enable_server_certificate_verification(false);
    auto set_up = set_up_tls(client->ssl_context(), *made->tls_, made->peer_);
    if (!set_up) return std::unexpected(set_up.error());
    made->client_ = std::move(client);
  } else {
    made->client_ = std::make_unique<Buffered<httplib::ClientImpl>>(endpoint, *made);
  }
  httplib::ClientImpl& client = *made->client_;
  client.set_keep_alive(true);
  client.set_tcp_nodelay(true);
  client.set_url_encode(false);
  client.set_decompress(false);
  client.set_connection_timeout(times.connect);
  client.set_read_timeout(times.silence);
  client.set_write_timeout(times.silence);
  client.set_socket_options([self = made.get()](int socket) { self->remember_socket(socket); });
  return made;
}

ApiConnection::~ApiConnection() {
  client_.reset();
  if (socket_ >= 0) ::close(socket_);
}

void ApiConnection::remember_socket(int socket) {
  socket_is_new_ = true;
  // The kernel gives up what the API server has not acknowledged within this time. Otherwise it
  // would repeat it for minutes, even after this process has died. A connection without it is not
  // used.
  const auto silence = static_cast<unsigned>(silence_.count());
  const bool bounded =
      ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence, sizeof silence) == 0;
  const std::lock_guard lock(mutex_);
  if (!bounded) aborted_ = true;
  if (socket_ >= 0) ::close(socket_);
  socket_ = ::fcntl(socket, F_DUPFD_CLOEXEC, 0);
  if (aborted_ && socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
}

void ApiConnection::abort() {
  const std::lock_guard lock(mutex_);
  aborted_ = true;
  if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
}

bool ApiConnection::aborted() const {
  const std::lock_guard lock(mutex_);
  return aborted_;
}

ApiExchange ApiConnection::run(const ApiRequest& request, const std::string& token,
                               const ReplyHandlers& handlers) {
  ApiExchange exchange;
  httplib::Request out = to_httplib(request, token);
  out.path = base_path_ + request.target;
  out.headers.emplace("Host", host_header_);
  if (!request.body.empty()) {
    // A provider instead of `body`, to know whether any of it may have left.
    out.content_length_ = request.body.size();
    out.content_provider_ = [&](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
      // Checked here, since connecting and other waits lie before.
      if (std::chrono::steady_clock::now() >= request.not_after) return false;
      exchange.body_sent = true;
      return sink.write(request.body.data() + offset, length);
    };
  }
  out.response_handler = [&](const httplib::Response& reply) {
    head_.has_come = true;
    exchange.status = reply.status;
    exchange.retry_after = retry_after(reply);
    if (exchange.success()) handlers.on_success(reply.get_header_value("Content-Type"));
    return true;
  };
  out.content_receiver = [&](const char* data, std::size_t size, std::uint64_t, std::uint64_t) {
    const std::string_view piece(data, size);
    if (!exchange.success()) {
      exchange.body += piece.substr(0, kMaxRefusalBytes - exchange.body.size());
      return exchange.body.size() < kMaxRefusalBytes;
    }
    exchange.refused = !handlers.on_piece(piece);
    return !exchange.refused;
  };

  httplib::Response reply;
  auto error = httplib::Error::Success;
  static_cast<void>(take_tls_error());  // of earlier failures
  try {
    exchange.complete = client_->send(out, reply, error);
    if (exchange.complete) exchange.status = reply.status;  // 204 has no body, so no handler
    if (exchange.status > 0 && exchange.status < 200) {     // the answer itself is yet to come
      exchange.complete = false;
      error = httplib::Error::Unknown;
    }
    if (!exchange.complete && buffers_.broken()) error = httplib::Error::Write;
    if (!exchange.complete) exchange.why = describe(error, url_);
  } catch (const std::exception& problem) {
    exchange.why = problem.what();
  }
  exchange.body_sent = exchange.body_sent && buffers_.sent_any();
  return exchange;
}

}  // namespace snug
