// OpenSSL's part: PEM texts become certificates and keys in memory, and these become the settings
// of a client's SSL_CTX. Nothing is written to files. TLS 1.2 or newer; the server's name is
// checked in the handshake against its certificate, by our own authorities alone where they are
// given. TlsMaterial is immutable and shared between connections.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/result.hpp"

namespace snug {

struct TlsMaterial {
  std::shared_ptr<X509_STORE> authorities;   // null: the system's
  std::vector<std::shared_ptr<X509>> chain;  // our certificate first; empty: none
  std::shared_ptr<EVP_PKEY> key;
};
using TlsMaterialPtr = std::shared_ptr<const TlsMaterial>;

struct PemTexts {
  std::string authorities;
  std::string certificate;
  std::string key;

  friend bool operator==(const PemTexts&, const PemTexts&) = default;
};

/// Empty texts are left out; a certificate needs its key, and the key must be the certificate's.
[[nodiscard]] Result<TlsMaterialPtr> read_tls_material(const PemTexts& texts);

struct TlsPeer {
  std::string name;  // a host name or an address
  bool verify = true;
};

/// `peer` must live as long as the context.
[[nodiscard]] Result<void> set_up_tls(SSL_CTX* context, const TlsMaterial& material,
                                      const TlsPeer& peer);

[[nodiscard]] bool is_ip_address(std::string_view text);

/// OpenSSL's reason for this thread's first failure since the last call; empty: none.
[[nodiscard]] std::string take_tls_error();

}  // namespace snug
