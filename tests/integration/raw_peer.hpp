// A peer that does with each connection what a test says, in order: for what a well-behaved HTTP
// server cannot be made to do. With TLS if it is given a certificate.
#pragma once

#include <openssl/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "integration/kube_support.hpp"

namespace snug::testing {

class RawPeer {
 public:
  /// One connection, in the peer's thread.
  class Session {
   public:
    Session(int socket, SSL* ssl) : socket_(socket), ssl_(ssl) {}
    /// A whole request; empty: the client has ended.
    [[nodiscard]] std::string hear() const;
    /// With TLS: as one record.
    void say(std::string_view text) const;
    /// Passes bytes on, in both directions, between the client and a port of this machine, until
    /// one of them ends.
    void splice_to(int port) const;
    /// Closes so that the client gets a reset instead of an end.
    void reset() const;

   private:
    [[nodiscard]] int receive(char* out, int size) const;

    int socket_;
    SSL* ssl_;
  };
  using Script = std::function<void(Session&)>;

  /// The connections after the last script are closed at once. With TLS a session begins after the
  /// handshake.
  explicit RawPeer(std::vector<Script> scripts, const std::optional<Pem>& certificate = {});
  ~RawPeer();
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  /// Without TLS and without a certificate authority.
  [[nodiscard]] kube::ApiEndpoint endpoint() const;
  /// Connections whose script has ended and that are closed.
  Watched<int> closed;

 private:
  void serve();
  void serve_one(int client, std::size_t number);

  const std::vector<Script> scripts_;
  std::shared_ptr<SSL_CTX> context_;
  int socket_ = -1;
  int port_ = 0;
  Watched<int> open_;  // the connection being served; 0: none
  std::thread thread_;
};

/// A reply with a body of JSON.
[[nodiscard]] std::string http_reply(int status, const std::string& body);

}  // namespace snug::testing
