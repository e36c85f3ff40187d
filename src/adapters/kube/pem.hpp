// The PEM texts that TLS uses, and whether OpenSSL can use them: checked when they are read, so
// that a bad file is reported by its name and not by the next handshake. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "snug/base/result.hpp"

namespace snug::kube {

struct PemTexts {
  std::string authorities;  // empty: the system's
  std::string certificate;  // the chain, the client's own certificate first; empty: none
  std::string key;          // of the certificate, unencrypted

  friend bool operator==(const PemTexts&, const PemTexts&) = default;
};
/// Shared by connections, which keep it for as long as they live.
using PemTextsPtr = std::shared_ptr<const PemTexts>;

/// kInvalid: a text holds no certificate or key, or the key is not the certificate's.
[[nodiscard]] base::Result<void> check_pem(const PemTexts& texts);

}  // namespace snug::kube
