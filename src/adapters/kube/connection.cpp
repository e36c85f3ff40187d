#include "adapters/kube/connection.hpp"

#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <utility>

#include "adapters/kube/proxy.hpp"

namespace snug::kube {
namespace {

using Real = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// The number of bytes that are kept of an error reply's body. A Kubernetes Status is shorter, and
/// messages show a few hundred bytes of it.
constexpr std::size_t kMaxRefusalBytes = 16'384;
/// Limits in bytes for the head of a reply. The heads of an API server have about 500 bytes.
constexpr std::size_t kMaxFirstLine = 8'192;
constexpr std::size_t kMaxHead = 65'536;
constexpr const char* kUserAgent = "snug-extender";

using HeaderList = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

/// Ignores SIGPIPE, unless it has a handler. Otherwise the signal would end the process when
/// OpenSSL writes to a socket that the server has closed.
void ignore_broken_pipes() {
  struct sigaction current{};
  if (::sigaction(SIGPIPE, nullptr, &current) == 0 && current.sa_handler == SIG_DFL) {
    std::signal(SIGPIPE, SIG_IGN);
  }
}

bool start_libcurl() {
  static const bool started = [] {
    ignore_broken_pipes();
    return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  }();
  return started;
}

/// Returns `host:port` as in a URL, with brackets around an IPv6 address.
std::string authority(const std::string& host, std::uint16_t port) {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

/// Returns the value of an environment variable, or null if it is unset or empty.
const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

bool append(HeaderList& list, const std::string& line) {
  curl_slist* const before = list.release();
  curl_slist* const longer = curl_slist_append(before, line.c_str());
  list.reset(longer == nullptr ? before : longer);
  return longer != nullptr;
}

/// The state of one run().
struct Exchange {
  const ApiRequest& request;
  const ReplyHandlers& handlers;
  ApiExchange result;
  std::size_t head_bytes = 0;
  bool head_is_complete = false;
  /// The value of CURLINFO_REQUEST_SIZE before the first attempt. A CONNECT request to a proxy is
  /// already counted in it. Not set if no attempt was made.
  std::optional<long> size_before;
  /// Whether an attempt sent bytes that had waited for space in the socket's send buffer.
  bool sent_queued_bytes = false;
  /// The time of the latest of these events: run() began, a connection became ready, bytes arrived.
  Real::time_point last_byte = Real::now();
};

}  // namespace

std::string server_url(const ApiEndpoint& endpoint) {
  return (endpoint.tls ? "https://" : "http://") + authority(endpoint.host, endpoint.port) +
         endpoint.base_path;
}

class ApiConnection::Curl {
 public:
  Curl(const ApiEndpoint& endpoint, PemTextsPtr tls, const SocketTimes& times)
      : url_(server_url(endpoint)),
        asked_url_(asked_url(endpoint)),
        host_header_("Host: " + authority(endpoint.host, endpoint.port)),
        proxy_(endpoint.proxy),
        tls_(std::move(tls)),
        times_(times) {}

  /// Returns false if libcurl does not accept an option or memory is exhausted.
  [[nodiscard]] bool set_up(const ApiEndpoint& endpoint);
  [[nodiscard]] ApiExchange run(const ApiRequest& request, const std::string& token,
                                const ReplyHandlers& handlers, CallDeadline deadline);
  void abort() {
    aborted_ = true;
    curl_multi_wakeup(multi_.get());
  }
  [[nodiscard]] const PemTextsPtr& tls() const { return tls_; }

 private:
  static std::string asked_url(ApiEndpoint endpoint);
  static int on_socket(void* self, curl_socket_t socket, curlsocktype purpose);
  static int on_close(void* self, curl_socket_t socket);
  static int before_request(void* self, char*, char*, int, int);
  template <bool (Curl::*take)(std::string_view)>
  static std::size_t on_bytes(char* data, std::size_t one, std::size_t size, void* self);

  template <typename Value>
  void set(CURLoption option, Value value) {
    set_up_ = set_up_ && curl_easy_setopt(easy_.get(), option, value) == CURLE_OK;
  }
  void set_blob(CURLoption option, const std::string& text);
  void set_tls(const ApiEndpoint& endpoint);
  void set_callbacks();
  [[nodiscard]] bool set_request(const ApiRequest& request, const std::string& token,
                                 HeaderList& headers);
  [[nodiscard]] CURLcode perform(CallDeadline deadline);
  [[nodiscard]] bool take_head_line(std::string_view line);
  [[nodiscard]] bool take_body(std::string_view piece);
  [[nodiscard]] bool has_unasked_bytes();
  [[nodiscard]] long request_size() const;
  void note_queued_bytes();
  [[nodiscard]] bool was_sent() const;
  [[nodiscard]] std::string describe(CURLcode code) const;

  const std::string url_;        // the server's URL, for messages
  const std::string asked_url_;  // the URL for libcurl, see asked_url()
  const std::string host_header_;
  const std::string proxy_;
  const PemTextsPtr tls_;
  const SocketTimes times_;
  std::atomic<bool> aborted_ = false;
  bool set_up_ = true;
  /// The socket of the connection that the next request may reuse.
  curl_socket_t idle_socket_ = CURL_SOCKET_BAD;
  Exchange* exchange_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> error_{};
  HeaderList connect_to_{nullptr, &curl_slist_free_all};
  std::unique_ptr<CURLM, decltype(&curl_multi_cleanup)> multi_{curl_multi_init(),
                                                               &curl_multi_cleanup};
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy_{curl_easy_init(), &curl_easy_cleanup};
};

/// Returns the server's URL. If tls_server_name is given, it replaces the host, since libcurl
/// checks the server's certificate against the URL's host. CURLOPT_CONNECT_TO makes libcurl connect
/// to the real host.
std::string ApiConnection::Curl::asked_url(ApiEndpoint endpoint) {
  if (endpoint.tls && !endpoint.tls_server_name.empty()) endpoint.host = endpoint.tls_server_name;
  return server_url(endpoint);
}

bool ApiConnection::Curl::set_up(const ApiEndpoint& endpoint) {
  if (multi_ == nullptr || easy_ == nullptr) return false;
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_PROTOCOLS_STR, endpoint.tls ? "https" : "http");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_USERAGENT, kUserAgent);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(times_.connect.count()));
  set(CURLOPT_ERRORBUFFER, error_.data());
  // If the endpoint has no proxy, the empty text keeps libcurl from reading the environment.
  set(CURLOPT_PROXY, proxy_.c_str());
  set(CURLOPT_NOPROXY, "");
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  if (asked_url_ != url_) {
    set_up_ = append(connect_to_, "::" + authority(endpoint.host, endpoint.port)) && set_up_;
    set(CURLOPT_CONNECT_TO, connect_to_.get());
  }
  if (endpoint.tls) set_tls(endpoint);
  set_callbacks();
  return set_up_ && curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, 1L) == CURLM_OK;
}

/// libcurl does not copy `text`, so `text` must be part of tls_.
void ApiConnection::Curl::set_blob(CURLoption option, const std::string& text) {
  curl_blob blob{const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
  set(option, &blob);
}

void ApiConnection::Curl::set_tls(const ApiEndpoint& endpoint) {
  const long verify = endpoint.verify_server ? 1L : 0L;
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(CURLOPT_SSL_VERIFYPEER, verify);
  set(CURLOPT_SSL_VERIFYHOST, 2 * verify);
  // As in client-go, the certificate of an https proxy is checked against the same authorities as
  // the certificate of the API server.
  set(CURLOPT_PROXY_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(CURLOPT_PROXY_SSL_VERIFYPEER, verify);
  set(CURLOPT_PROXY_SSL_VERIFYHOST, 2 * verify);
  if (!tls_->authorities.empty()) {
    set_blob(CURLOPT_CAINFO_BLOB, tls_->authorities);
    set_blob(CURLOPT_PROXY_CAINFO_BLOB, tls_->authorities);
    // Otherwise libcurl would also trust the system's authorities.
    set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
    set(CURLOPT_PROXY_CAPATH, static_cast<const char*>(nullptr));
  } else {
    // OpenSSL and Go read these variables; libcurl does not.
    if (const char* file = variable("SSL_CERT_FILE")) set(CURLOPT_CAINFO, file);
    if (const char* folder = variable("SSL_CERT_DIR")) set(CURLOPT_CAPATH, folder);
  }
  if (!tls_->certificate.empty()) {
    set_blob(CURLOPT_SSLCERT_BLOB, tls_->certificate);
    set_blob(CURLOPT_SSLKEY_BLOB, tls_->key);
  }
}

/// libcurl's callback for received bytes. Passes them to `take`. If `take` returns false or throws,
/// the callback returns 0, which ends the exchange; no exception may pass through libcurl.
template <bool (ApiConnection::Curl::*take)(std::string_view)>
std::size_t ApiConnection::Curl::on_bytes(char* data, std::size_t, std::size_t size, void* self) {
  Curl& curl = *static_cast<Curl*>(self);
  try {
    const bool good = (curl.*take)({data, size});
    curl.exchange_->last_byte = Real::now();
    return good ? size : 0;
  } catch (const std::exception& problem) {
    curl.exchange_->result.why = problem.what();
    return 0;
  }
}

void ApiConnection::Curl::set_callbacks() {
  set(CURLOPT_SOCKOPTFUNCTION, &on_socket);
  set(CURLOPT_SOCKOPTDATA, this);
  set(CURLOPT_CLOSESOCKETFUNCTION, &on_close);
  set(CURLOPT_CLOSESOCKETDATA, this);
  set(CURLOPT_PREREQFUNCTION, &before_request);
  set(CURLOPT_PREREQDATA, this);
  set(CURLOPT_HEADERFUNCTION, &on_bytes<&Curl::take_head_line>);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &on_bytes<&Curl::take_body>);
  set(CURLOPT_WRITEDATA, this);
}

/// Called for a new socket. Makes the kernel wait at most `silence` for a TCP acknowledgement.
/// Without this limit, the kernel would retransmit a request for minutes, even after this process
/// has died.
int ApiConnection::Curl::on_socket(void* self, curl_socket_t socket, curlsocktype) {
  Curl& curl = *static_cast<Curl*>(self);
  curl.idle_socket_ = CURL_SOCKET_BAD;
  const auto silence = static_cast<unsigned>(curl.times_.silence.count());
  return ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence, sizeof silence) == 0
             ? CURL_SOCKOPT_OK
             : CURL_SOCKOPT_ERROR;
}

/// Called before libcurl closes a socket, even if it then repeats the request on another socket.
int ApiConnection::Curl::on_close(void* self, curl_socket_t socket) {
  static_cast<Curl*>(self)->note_queued_bytes();
  return ::close(socket);
}

/// Notes whether libcurl has sent bytes of the body that it had queued because the socket's send
/// buffer was full. libcurl counts these bytes in CURLINFO_SIZE_UPLOAD_T, which each attempt resets
/// to 0, and not in CURLINFO_REQUEST_SIZE. It does not count queued bytes of the head, but they
/// need not be noted: the server cannot execute a request without the last byte of its body.
void ApiConnection::Curl::note_queued_bytes() {
  if (exchange_ == nullptr || !exchange_->size_before) return;  // no attempt was made
  curl_off_t uploaded = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_SIZE_UPLOAD_T, &uploaded);
  if (uploaded > 0) exchange_->sent_queued_bytes = true;
}

/// Whether any attempt has handed bytes of the request to the network.
bool ApiConnection::Curl::was_sent() const {
  return exchange_->size_before &&
         (request_size() > *exchange_->size_before || exchange_->sent_queued_bytes);
}

/// Called when a connection is ready, before each attempt to send the request. libcurl may make
/// several attempts.
int ApiConnection::Curl::before_request(void* self, char*, char*, int, int) {
  Curl& curl = *static_cast<Curl*>(self);
  Exchange& exchange = *curl.exchange_;
  exchange.last_byte = Real::now();
  if (!exchange.size_before) exchange.size_before = curl.request_size();
  if (exchange.request.method != "GET" && curl.was_sent()) {
    exchange.result.why = "the connection was lost before the reply";
  } else if (exchange.last_byte >= exchange.request.not_after) {
    exchange.result.why = "the request could not be sent in time";
  } else if (curl.has_unasked_bytes()) {
    exchange.result.stale = true;
    exchange.result.why = "the connection had bytes that belong to no request";
  } else {
    return CURL_PREREQFUNC_OK;
  }
  return CURL_PREREQFUNC_ABORT;
}

/// Whether a reused connection has received bytes since the last reply. These bytes would be
/// taken for the reply to this request.
bool ApiConnection::Curl::has_unasked_bytes() {
  if (idle_socket_ == CURL_SOCKET_BAD) return false;
  pollfd fd{idle_socket_, POLLIN, 0};
  if (::poll(&fd, 1, 0) != 0) return true;
  curl_tlssessioninfo* session = nullptr;
  if (curl_easy_getinfo(easy_.get(), CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK) return false;
  if (session->backend != CURLSSLBACKEND_OPENSSL || session->internals == nullptr) return false;
  return SSL_pending(static_cast<const SSL*>(session->internals)) > 0;
}

long ApiConnection::Curl::request_size() const {
  long size = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_REQUEST_SIZE, &size);
  return size;
}

bool ApiConnection::Curl::take_head_line(std::string_view line) {
  Exchange& exchange = *exchange_;
  if (exchange.head_is_complete) return true;  // `line` is a trailer
  const bool first = exchange.head_bytes == 0;
  exchange.head_bytes += line.size();
  if (exchange.head_bytes > (first ? kMaxFirstLine : kMaxHead)) {
    exchange.result.why = "the head of the reply is too long";
    return false;
  }
  if (line != "\r\n" && line != "\n") return true;
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status < 200) {
    exchange.result.why = "the reply is the interim status " + std::to_string(status);
    return false;
  }
  exchange.head_is_complete = true;
  exchange.result.status = static_cast<int>(status);
  if (exchange.result.success()) {
    const char* type = nullptr;
    curl_easy_getinfo(easy_.get(), CURLINFO_CONTENT_TYPE, &type);
    exchange.handlers.on_success(type == nullptr ? "" : type);
  }
  return true;
}

bool ApiConnection::Curl::take_body(std::string_view piece) {
  ApiExchange& result = exchange_->result;
  if (result.success()) {
    result.refused = !exchange_->handlers.on_piece(piece);
    return !result.refused;
  }
  result.body += piece.substr(0, kMaxRefusalBytes - result.body.size());
  return result.body.size() < kMaxRefusalBytes;
}

bool ApiConnection::Curl::set_request(const ApiRequest& request, const std::string& token,
                                      HeaderList& headers) {
  set_up_ = true;
  set(CURLOPT_URL, (asked_url_ + request.target).c_str());
  if (request.body.empty()) {
    set(CURLOPT_HTTPGET, 1L);
  } else {
    // libcurl sends head and body together and does not copy the body.
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(CURLOPT_POSTFIELDS, request.body.data());
  }
  set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  for (const std::string& line :
       {host_header_, "Accept: " + request.accept, std::string("Accept-Encoding: identity"),
        std::string("Expect:"),  // removes libcurl's own Expect header
        request.content_type.empty() ? "" : "Content-Type: " + request.content_type,
        token.empty() ? "" : "Authorization: Bearer " + token}) {
    if (!line.empty()) set_up_ = append(headers, line) && set_up_;
  }
  set(CURLOPT_HTTPHEADER, headers.get());
  return set_up_;
}

ApiExchange ApiConnection::Curl::run(const ApiRequest& request, const std::string& token,
                                     const ReplyHandlers& handlers, CallDeadline deadline) {
  Exchange exchange{.request = request, .handlers = handlers};
  ApiExchange& result = exchange.result;
  HeaderList headers(nullptr, &curl_slist_free_all);
  if (!set_request(request, token, headers)) {
    result.why = "libcurl cannot be set up for a request to " + url_;
    return std::move(result);
  }
  exchange_ = &exchange;
  error_[0] = '\0';
  const CURLcode code = perform(deadline);
  note_queued_bytes();
  result.sent = was_sent();
  exchange_ = nullptr;
  result.complete = code == CURLE_OK;
  curl_off_t seconds = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RETRY_AFTER, &seconds);
  result.retry_after = std::chrono::seconds(std::max<curl_off_t>(seconds, 0));
  if (!result.complete && result.why.empty()) result.why = describe(code);
  return std::move(result);
}

CURLcode ApiConnection::Curl::perform(CallDeadline deadline) {
  if (curl_multi_add_handle(multi_.get(), easy_.get()) != CURLM_OK) return CURLE_FAILED_INIT;
  CURLcode code = CURLE_OPERATION_TIMEDOUT;
  while (true) {
    const auto end = std::min(deadline, exchange_->last_byte + times_.silence);
    const auto left = std::chrono::ceil<milliseconds>(end - Real::now()).count();
    if (aborted_ || left <= 0) break;
    int running = 0;
    if (curl_multi_perform(multi_.get(), &running) != CURLM_OK) break;
    if (running == 0) {
      int more = 0;
      const CURLMsg* message = curl_multi_info_read(multi_.get(), &more);
      code = message == nullptr ? CURLE_FAILED_INIT : message->data.result;
      break;
    }
    const int most = static_cast<int>(std::min<milliseconds::rep>(left, INT_MAX));
    curl_multi_poll(multi_.get(), nullptr, 0, most, nullptr);
  }
  if (code != CURLE_OK ||
      curl_easy_getinfo(easy_.get(), CURLINFO_ACTIVESOCKET, &idle_socket_) != CURLE_OK) {
    idle_socket_ = CURL_SOCKET_BAD;
  }
  curl_multi_remove_handle(multi_.get(), easy_.get());
  return code;
}

std::string ApiConnection::Curl::describe(CURLcode code) const {
  const std::string detail(error_.data());
  const std::string reason = detail.empty() ? "" : " (" + detail + ")";
  const std::string server =
      proxy_.empty() ? url_ : url_ + " through the proxy " + proxy_without_password(proxy_);
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PROXY:
      return server + " cannot be connected to" + reason;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
      return "the TLS handshake with " + server + " failed" + reason;
    case CURLE_SEND_ERROR:
      return "the connection was lost while sending";
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
      return "the connection was lost while receiving";
    case CURLE_OPERATION_TIMEDOUT:
      if (!detail.empty()) return server + " cannot be connected to" + reason;
      return aborted_ ? "the call was aborted" : "the connection was silent for too long";
    default:
      return "the exchange failed (" +
             (detail.empty() ? std::string(curl_easy_strerror(code)) : detail) + ")";
  }
}

base::Result<std::unique_ptr<ApiConnection>> ApiConnection::make(const ApiEndpoint& endpoint,
                                                                 PemTextsPtr tls,
                                                                 const SocketTimes& times) {
  auto curl = start_libcurl() ? std::make_unique<Curl>(endpoint, std::move(tls), times) : nullptr;
  if (curl == nullptr || !curl->set_up(endpoint)) {
    return base::fail(base::ErrorCode::kInternal,
                      "libcurl cannot be set up for " + server_url(endpoint));
  }
  return std::unique_ptr<ApiConnection>(new ApiConnection(std::move(curl)));
}

ApiConnection::ApiConnection(std::unique_ptr<Curl> curl) : curl_(std::move(curl)) {}

ApiConnection::~ApiConnection() = default;

ApiExchange ApiConnection::run(const ApiRequest& request, const std::string& token,
                               const ReplyHandlers& handlers, CallDeadline deadline) {
  return curl_->run(request, token, handlers, deadline);
}

void ApiConnection::abort() { curl_->abort(); }

const PemTextsPtr& ApiConnection::tls() const { return curl_->tls(); }

}  // namespace snug::kube
