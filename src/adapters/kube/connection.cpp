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

using RealClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// The number of bytes that are kept of an error reply's body. A Kubernetes Status is shorter, and
/// messages show a few hundred bytes of it.
constexpr std::size_t kMaxRefusalBytes = 16'384;
/// Limits in bytes for the head of a reply. The heads of an API server have about 500 bytes.
constexpr std::size_t kMaxStatusLine = 8'192;
constexpr std::size_t kMaxReplyHead = 65'536;
constexpr const char* kUserAgent = "snug-extender";

using CurlList = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

/// Ignores SIGPIPE, unless it has a handler. Otherwise the signal would end the process when
/// OpenSSL writes to a socket that the server has closed.
void ignore_broken_pipes() {
  struct sigaction sigpipe_action{};
  if (::sigaction(SIGPIPE, nullptr, &sigpipe_action) == 0 && sigpipe_action.sa_handler == SIG_DFL) {
    std::signal(SIGPIPE, SIG_IGN);
  }
}

bool start_libcurl() {
  static const bool libcurl_started = [] {
    ignore_broken_pipes();
    return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  }();
  return libcurl_started;
}

/// Returns `host:port` as in a URL, with brackets around an IPv6 address.
std::string url_authority(const std::string& host, std::uint16_t port) {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

/// Returns the value of an environment variable, or null if it is unset or empty.
const char* environment_value(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

bool append_to_list(CurlList& curl_list, const std::string& line) {
  curl_slist* const old_head = curl_list.release();
  curl_slist* const new_head = curl_slist_append(old_head, line.c_str());
  curl_list.reset(new_head == nullptr ? old_head : new_head);
  return new_head != nullptr;
}

/// The state of one run().
struct RunningExchange {
  const ApiRequest& request;
  const ReplyHandlers& handlers;
  ApiExchange outcome;
  std::size_t reply_head_bytes = 0;
  bool reply_head_complete = false;
  /// The value of CURLINFO_REQUEST_SIZE before the first attempt. A CONNECT request to a proxy is
  /// already counted in it. Not set if no attempt was made.
  std::optional<long> request_size_before;
  /// Whether an attempt sent bytes that had waited for space in the socket's send buffer.
  bool sent_queued_bytes = false;
  /// The time of the latest of these events: run() began, a connection became ready, bytes arrived.
  RealClock::time_point last_activity = RealClock::now();
};

}  // namespace

std::string server_url(const ApiEndpoint& endpoint) {
  return (endpoint.tls ? "https://" : "http://") + url_authority(endpoint.host, endpoint.port) +
         endpoint.base_path;
}

class ApiConnection::Curl {
 public:
  Curl(const ApiEndpoint& endpoint, PemTextsPtr tls, const SocketTimes& times)
      : server_url_(server_url(endpoint)),
        libcurl_url_(url_for_libcurl(endpoint)),
        host_header_("Host: " + url_authority(endpoint.host, endpoint.port)),
        proxy_(endpoint.proxy),
        tls_(std::move(tls)),
        times_(times) {}

  /// Returns false if libcurl does not accept an option or memory is exhausted.
  [[nodiscard]] bool set_up(const ApiEndpoint& endpoint);
  [[nodiscard]] ApiExchange run(const ApiRequest& request, const std::string& bearer_token,
                                const ReplyHandlers& handlers, CallDeadline deadline);
  void abort() {
    aborted_ = true;
    curl_multi_wakeup(multi_.get());
  }
  [[nodiscard]] const PemTextsPtr& tls() const { return tls_; }

 private:
  static std::string url_for_libcurl(ApiEndpoint endpoint);
  static int on_socket(void* self, curl_socket_t socket, curlsocktype purpose);
  static int on_close(void* self, curl_socket_t socket);
  static int before_request(void* self, char*, char*, int, int);
  template <bool (Curl::*take_bytes)(std::string_view)>
  static std::size_t on_bytes(char* data, std::size_t one, std::size_t size, void* self);

  template <typename Value>
  void set_option(CURLoption option, Value value) {
    is_set_up_ = is_set_up_ && curl_easy_setopt(easy_.get(), option, value) == CURLE_OK;
  }
  void set_pem(CURLoption option, const std::string& pem_text);
  void set_tls(const ApiEndpoint& endpoint);
  void set_callbacks();
  [[nodiscard]] bool set_request(const ApiRequest& request, const std::string& bearer_token,
                                 CurlList& request_headers);
  [[nodiscard]] CURLcode perform(CallDeadline deadline);
  [[nodiscard]] bool take_head_line(std::string_view head_line);
  [[nodiscard]] bool take_body(std::string_view body_piece);
  [[nodiscard]] bool has_unasked_bytes();
  [[nodiscard]] long request_size() const;
  void note_queued_bytes();
  [[nodiscard]] bool was_sent() const;
  [[nodiscard]] std::string describe_failure(CURLcode curl_code) const;

  const std::string server_url_;   // the server's URL, for messages
  const std::string libcurl_url_;  // the URL for libcurl, see url_for_libcurl()
  const std::string host_header_;
  const std::string proxy_;
  const PemTextsPtr tls_;
  const SocketTimes times_;
  std::atomic<bool> aborted_ = false;
  bool is_set_up_ = true;
  /// The socket of the connection that the next request may reuse.
  curl_socket_t idle_socket_ = CURL_SOCKET_BAD;
  RunningExchange* exchange_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> error_text_{};
  CurlList connect_to_{nullptr, &curl_slist_free_all};
  std::unique_ptr<CURLM, decltype(&curl_multi_cleanup)> multi_{curl_multi_init(),
                                                               &curl_multi_cleanup};
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy_{curl_easy_init(), &curl_easy_cleanup};
};

/// Returns the server's URL. If tls_server_name is given, it replaces the host, since libcurl
/// checks the server's certificate against the URL's host. CURLOPT_CONNECT_TO makes libcurl connect
/// to the real host.
std::string ApiConnection::Curl::url_for_libcurl(ApiEndpoint endpoint) {
  if (endpoint.tls && !endpoint.tls_server_name.empty()) endpoint.host = endpoint.tls_server_name;
  return server_url(endpoint);
}

bool ApiConnection::Curl::set_up(const ApiEndpoint& endpoint) {
  if (multi_ == nullptr || easy_ == nullptr) return false;
  set_option(CURLOPT_NOSIGNAL, 1L);
  set_option(CURLOPT_PROTOCOLS_STR, endpoint.tls ? "https" : "http");
  set_option(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set_option(CURLOPT_PATH_AS_IS, 1L);
  set_option(CURLOPT_USERAGENT, kUserAgent);
  set_option(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(times_.connect.count()));
  set_option(CURLOPT_ERRORBUFFER, error_text_.data());
  // If the endpoint has no proxy, the empty text keeps libcurl from reading the environment.
  set_option(CURLOPT_PROXY, proxy_.c_str());
  set_option(CURLOPT_NOPROXY, "");
  set_option(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  if (libcurl_url_ != server_url_) {
    is_set_up_ = append_to_list(connect_to_, "::" + url_authority(endpoint.host, endpoint.port)) &&
                 is_set_up_;
    set_option(CURLOPT_CONNECT_TO, connect_to_.get());
  }
  if (endpoint.tls) set_tls(endpoint);
  set_callbacks();
  return is_set_up_ && curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, 1L) == CURLM_OK;
}

/// libcurl does not copy `pem_text`, so `pem_text` must be part of tls_.
void ApiConnection::Curl::set_pem(CURLoption option, const std::string& pem_text) {
  curl_blob pem_blob{const_cast<char*>(pem_text.data()), pem_text.size(), CURL_BLOB_NOCOPY};
  set_option(option, &pem_blob);
}

void ApiConnection::Curl::set_tls(const ApiEndpoint& endpoint) {
  const long verify_server = endpoint.verify_server ? 1L : 0L;
  set_option(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set_option(CURLOPT_SSL_VERIFYPEER, verify_server);
  set_option(CURLOPT_SSL_VERIFYHOST, 2 * verify_server);
  // As in client-go, the certificate of an https proxy is checked against the same authorities as
  // the certificate of the API server.
  set_option(CURLOPT_PROXY_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set_option(CURLOPT_PROXY_SSL_VERIFYPEER, verify_server);
  set_option(CURLOPT_PROXY_SSL_VERIFYHOST, 2 * verify_server);
  if (!tls_->authorities.empty()) {
    set_pem(CURLOPT_CAINFO_BLOB, tls_->authorities);
    set_pem(CURLOPT_PROXY_CAINFO_BLOB, tls_->authorities);
    // Otherwise libcurl would also trust the system's authorities.
    set_option(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
    set_option(CURLOPT_PROXY_CAPATH, static_cast<const char*>(nullptr));
  } else {
    // OpenSSL and Go read these variables; libcurl does not.
    if (const char* authorities_file = environment_value("SSL_CERT_FILE"))
      set_option(CURLOPT_CAINFO, authorities_file);
    if (const char* authorities_folder = environment_value("SSL_CERT_DIR"))
      set_option(CURLOPT_CAPATH, authorities_folder);
  }
  if (!tls_->certificate.empty()) {
    set_pem(CURLOPT_SSLCERT_BLOB, tls_->certificate);
    set_pem(CURLOPT_SSLKEY_BLOB, tls_->key);
  }
}

/// libcurl's callback for received bytes. Passes them to `take_bytes`. If `take_bytes` returns
/// false or throws, the callback returns 0, which ends the exchange; no exception may pass through
/// libcurl.
template <bool (ApiConnection::Curl::*take_bytes)(std::string_view)>
std::size_t ApiConnection::Curl::on_bytes(char* data, std::size_t, std::size_t size, void* self) {
  Curl& curl = *static_cast<Curl*>(self);
  try {
    const bool bytes_accepted = (curl.*take_bytes)({data, size});
    curl.exchange_->last_activity = RealClock::now();
    return bytes_accepted ? size : 0;
  } catch (const std::exception& problem) {
    curl.exchange_->outcome.why = problem.what();
    return 0;
  }
}

void ApiConnection::Curl::set_callbacks() {
  set_option(CURLOPT_SOCKOPTFUNCTION, &on_socket);
  set_option(CURLOPT_SOCKOPTDATA, this);
  set_option(CURLOPT_CLOSESOCKETFUNCTION, &on_close);
  set_option(CURLOPT_CLOSESOCKETDATA, this);
  set_option(CURLOPT_PREREQFUNCTION, &before_request);
  set_option(CURLOPT_PREREQDATA, this);
  set_option(CURLOPT_HEADERFUNCTION, &on_bytes<&Curl::take_head_line>);
  set_option(CURLOPT_HEADERDATA, this);
  set_option(CURLOPT_WRITEFUNCTION, &on_bytes<&Curl::take_body>);
  set_option(CURLOPT_WRITEDATA, this);
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
  if (exchange_ == nullptr || !exchange_->request_size_before) return;  // no attempt was made
  curl_off_t uploaded = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_SIZE_UPLOAD_T, &uploaded);
  if (uploaded > 0) exchange_->sent_queued_bytes = true;
}

/// Whether any attempt has handed bytes of the request to the network.
bool ApiConnection::Curl::was_sent() const {
  return exchange_->request_size_before &&
         (request_size() > *exchange_->request_size_before || exchange_->sent_queued_bytes);
}

/// Called when a connection is ready, before each attempt to send the request. libcurl may make
/// several attempts.
int ApiConnection::Curl::before_request(void* self, char*, char*, int, int) {
  Curl& curl = *static_cast<Curl*>(self);
  RunningExchange& exchange = *curl.exchange_;
  exchange.last_activity = RealClock::now();
  if (!exchange.request_size_before) exchange.request_size_before = curl.request_size();
  if (exchange.request.method != "GET" && curl.was_sent()) {
    exchange.outcome.why = "the connection was lost before the reply";
  } else if (exchange.last_activity >= exchange.request.not_after) {
    exchange.outcome.why = "the request could not be sent in time";
  } else if (curl.has_unasked_bytes()) {
    exchange.outcome.stale = true;
    exchange.outcome.why = "the connection had bytes that belong to no request";
  } else {
    return CURL_PREREQFUNC_OK;
  }
  return CURL_PREREQFUNC_ABORT;
}

/// Whether a reused connection has received bytes since the last reply. These bytes would be
/// taken for the reply to this request.
bool ApiConnection::Curl::has_unasked_bytes() {
  if (idle_socket_ == CURL_SOCKET_BAD) return false;
  pollfd idle_poll{idle_socket_, POLLIN, 0};
  if (::poll(&idle_poll, 1, 0) != 0) return true;
  curl_tlssessioninfo* tls_session = nullptr;
  if (curl_easy_getinfo(easy_.get(), CURLINFO_TLS_SSL_PTR, &tls_session) != CURLE_OK) return false;
  if (tls_session->backend != CURLSSLBACKEND_OPENSSL || tls_session->internals == nullptr)
    return false;
  return SSL_pending(static_cast<const SSL*>(tls_session->internals)) > 0;
}

long ApiConnection::Curl::request_size() const {
  long request_bytes = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_REQUEST_SIZE, &request_bytes);
  return request_bytes;
}

bool ApiConnection::Curl::take_head_line(std::string_view head_line) {
  RunningExchange& exchange = *exchange_;
  if (exchange.reply_head_complete) return true;  // `head_line` is a trailer
  const bool is_status_line = exchange.reply_head_bytes == 0;
  exchange.reply_head_bytes += head_line.size();
  if (exchange.reply_head_bytes > (is_status_line ? kMaxStatusLine : kMaxReplyHead)) {
    exchange.outcome.why = "the head of the reply is too long";
    return false;
  }
  if (head_line != "\r\n" && head_line != "\n") return true;
  long http_status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &http_status);
  if (http_status < 200) {
    exchange.outcome.why = "the reply is the interim status " + std::to_string(http_status);
    return false;
  }
  exchange.reply_head_complete = true;
  exchange.outcome.status = static_cast<int>(http_status);
  if (exchange.outcome.success()) {
    const char* content_type = nullptr;
    curl_easy_getinfo(easy_.get(), CURLINFO_CONTENT_TYPE, &content_type);
    exchange.handlers.on_success(content_type == nullptr ? "" : content_type);
  }
  return true;
}

bool ApiConnection::Curl::take_body(std::string_view body_piece) {
  ApiExchange& outcome = exchange_->outcome;
  if (outcome.success()) {
    outcome.refused = !exchange_->handlers.on_piece(body_piece);
    return !outcome.refused;
  }
  outcome.body += body_piece.substr(0, kMaxRefusalBytes - outcome.body.size());
  return outcome.body.size() < kMaxRefusalBytes;
}

bool ApiConnection::Curl::set_request(const ApiRequest& request, const std::string& bearer_token,
                                      CurlList& request_headers) {
  is_set_up_ = true;
  set_option(CURLOPT_URL, (libcurl_url_ + request.target).c_str());
  if (request.body.empty()) {
    set_option(CURLOPT_HTTPGET, 1L);
  } else {
    // libcurl sends head and body together and does not copy the body.
    set_option(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set_option(CURLOPT_POSTFIELDS, request.body.data());
  }
  set_option(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  for (const std::string& header_line :
       {host_header_, "Accept: " + request.accept, std::string("Accept-Encoding: identity"),
        std::string("Expect:"),  // removes libcurl's own Expect header
        request.content_type.empty() ? "" : "Content-Type: " + request.content_type,
        bearer_token.empty() ? "" : "Authorization: Bearer " + bearer_token}) {
    if (!header_line.empty())
      is_set_up_ = append_to_list(request_headers, header_line) && is_set_up_;
  }
  set_option(CURLOPT_HTTPHEADER, request_headers.get());
  return is_set_up_;
}

ApiExchange ApiConnection::Curl::run(const ApiRequest& request, const std::string& bearer_token,
                                     const ReplyHandlers& handlers, CallDeadline deadline) {
  RunningExchange exchange{.request = request, .handlers = handlers};
  ApiExchange& outcome = exchange.outcome;
  CurlList request_headers(nullptr, &curl_slist_free_all);
  if (!set_request(request, bearer_token, request_headers)) {
    outcome.why = "libcurl cannot be set up for a request to " + server_url_;
    return std::move(outcome);
  }
  exchange_ = &exchange;
  error_text_[0] = '\0';
  const CURLcode curl_code = perform(deadline);
  note_queued_bytes();
  outcome.sent = was_sent();
  exchange_ = nullptr;
  // libcurl also succeeds if the server closes the connection within the head of its reply.
  outcome.complete = curl_code == CURLE_OK && exchange.reply_head_complete;
  curl_off_t retry_after_s = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RETRY_AFTER, &retry_after_s);
  outcome.retry_after = std::chrono::seconds(std::max<curl_off_t>(retry_after_s, 0));
  if (!outcome.complete && outcome.why.empty()) outcome.why = describe_failure(curl_code);
  return std::move(outcome);
}

CURLcode ApiConnection::Curl::perform(CallDeadline deadline) {
  if (curl_multi_add_handle(multi_.get(), easy_.get()) != CURLM_OK) return CURLE_FAILED_INIT;
  CURLcode curl_code = CURLE_OPERATION_TIMEDOUT;
  while (true) {
    const auto wait_end = std::min(deadline, exchange_->last_activity + times_.silence);
    const auto left_ms = std::chrono::ceil<milliseconds>(wait_end - RealClock::now()).count();
    if (aborted_ || left_ms <= 0) break;
    int running_transfers = 0;
    if (curl_multi_perform(multi_.get(), &running_transfers) != CURLM_OK) break;
    if (running_transfers == 0) {
      int queued_messages = 0;
      const CURLMsg* curl_message = curl_multi_info_read(multi_.get(), &queued_messages);
      curl_code = curl_message == nullptr ? CURLE_FAILED_INIT : curl_message->data.result;
      break;
    }
    const int wait_ms = static_cast<int>(std::min<milliseconds::rep>(left_ms, INT_MAX));
    curl_multi_poll(multi_.get(), nullptr, 0, wait_ms, nullptr);
  }
  if (curl_code != CURLE_OK ||
      curl_easy_getinfo(easy_.get(), CURLINFO_ACTIVESOCKET, &idle_socket_) != CURLE_OK) {
    idle_socket_ = CURL_SOCKET_BAD;
  }
  curl_multi_remove_handle(multi_.get(), easy_.get());
  return curl_code;
}

std::string ApiConnection::Curl::describe_failure(CURLcode curl_code) const {
  const std::string curl_detail(error_text_.data());
  const std::string detail_suffix = curl_detail.empty() ? "" : " (" + curl_detail + ")";
  const std::string server_and_proxy =
      proxy_.empty() ? server_url_
                     : server_url_ + " through the proxy " + proxy_without_password(proxy_);
  switch (curl_code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PROXY:
      return server_and_proxy + " cannot be connected to" + detail_suffix;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
      return "the TLS handshake with " + server_and_proxy + " failed" + detail_suffix;
    case CURLE_SEND_ERROR:
      return "the connection was lost while sending";
    case CURLE_OK:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
      return "the connection was lost while receiving";
    case CURLE_OPERATION_TIMEDOUT:
      if (!curl_detail.empty()) return server_and_proxy + " cannot be connected to" + detail_suffix;
      return aborted_ ? "the call was aborted" : "the connection was silent for too long";
    default:
      return "the exchange failed (" +
             (curl_detail.empty() ? std::string(curl_easy_strerror(curl_code)) : curl_detail) + ")";
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

ApiExchange ApiConnection::run(const ApiRequest& request, const std::string& bearer_token,
                               const ReplyHandlers& handlers, CallDeadline deadline) {
  return curl_->run(request, bearer_token, handlers, deadline);
}

void ApiConnection::abort() { curl_->abort(); }

const PemTextsPtr& ApiConnection::tls() const { return curl_->tls(); }

}  // namespace snug::kube
