// One keep-alive connection to the API server, which runs one request at a time. It uses libcurl
// for HTTP, TLS 1.2 or newer, and proxies. The caller learns whether the server may have received
// the request. A request other than GET is never repeated after a byte of it was sent; libcurl
// alone would repeat any request if a reused connection ended before the reply. Only one thread at
// a time may call run(); any thread may call abort().
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "adapters/kube/exchange.hpp"
#include "adapters/kube/pem.hpp"
#include "snug/adapters/kube/api_endpoint.hpp"

namespace snug::kube {

struct SocketTimes {
  std::chrono::milliseconds connect;  // time limit for TCP, proxy and TLS handshakes
  std::chrono::milliseconds
      silence;  // the longest wait for received bytes or for a TCP acknowledgement
};

/// The URL of the server, as in the field `server` of a kubeconfig.
[[nodiscard]] std::string server_url(const ApiEndpoint& endpoint);

class ApiConnection {
 public:
  /// Returns a connection that connects in its first run(). `tls` may be null only for plain http.
  /// Fails with kInternal if libcurl cannot be set up.
  [[nodiscard]] static base::Result<std::unique_ptr<ApiConnection>> make(
      const ApiEndpoint& endpoint, PemTextsPtr tls, const SocketTimes& times);
  ~ApiConnection();
  ApiConnection(const ApiConnection&) = delete;
  ApiConnection& operator=(const ApiConnection&) = delete;

  /// Runs `request`. Returns by the deadline, and at once after abort(). Only the look-up of a host
  /// name by the C library may take longer.
  [[nodiscard]] ApiExchange run(const ApiRequest& request, const std::string& bearer_token,
                                const ReplyHandlers& handlers, CallDeadline deadline);
  /// Ends the running exchange and prevents later ones.
  void abort();

  [[nodiscard]] const PemTextsPtr& tls() const;

 private:
  class Curl;

  explicit ApiConnection(std::unique_ptr<Curl> curl);

  std::unique_ptr<Curl> curl_;
};

}  // namespace snug::kube
