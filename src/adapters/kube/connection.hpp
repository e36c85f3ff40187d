// A connection to the API server, kept alive between requests: the door to libcurl, which speaks
// HTTP and TLS (1.2 or newer) and uses the proxy. One request at a time. The caller learns whether
// the server may have the request: a request that changes something is never sent again once a byte
// of it has left, although libcurl repeats any request on a reused connection that dies before the
// reply. run() belongs to one thread at a time; abort() may come from any thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "adapters/kube/exchange.hpp"
#include "adapters/kube/pem.hpp"
#include "snug/adapters/kube/api_endpoint.hpp"

namespace snug::kube {

struct SocketTimes {
  std::chrono::milliseconds connect;  // until TCP, the proxy and TLS are ready
  std::chrono::milliseconds silence;  // the longest wait for a byte, or for the server's TCP
};

/// As in a kubeconfig's `server`.
[[nodiscard]] std::string server_url(const ApiEndpoint& endpoint);

class ApiConnection {
 public:
  /// Connects with the first run(). `tls` may be null for plain http only. kInternal: libcurl
  /// refuses to be set up.
  [[nodiscard]] static base::Result<std::unique_ptr<ApiConnection>> make(
      const ApiEndpoint& endpoint, PemTextsPtr tls, const SocketTimes& times);
  ~ApiConnection();
  ApiConnection(const ApiConnection&) = delete;
  ApiConnection& operator=(const ApiConnection&) = delete;

  /// Returns by the deadline, and at once after abort(). Only the look-up of a host name may take
  /// longer, since it is the C library's.
  [[nodiscard]] ApiExchange run(const ApiRequest& request, const std::string& token,
                                const ReplyHandlers& handlers, CallDeadline deadline);
  /// Ends the exchange under way and prevents later ones.
  void abort();

  [[nodiscard]] const PemTextsPtr& tls() const;

 private:
  class Curl;

  explicit ApiConnection(std::unique_ptr<Curl> curl);

  std::unique_ptr<Curl> curl_;
};

}  // namespace snug::kube
