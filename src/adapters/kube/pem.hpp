// The PEM texts that TLS uses, and a function that checks whether OpenSSL can use them. Snug checks
// the texts when it reads them, before any TLS handshake, so that an error can say which text is
// wrong. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "snug/base/result.hpp"

namespace snug::kube {

struct PemTexts {
  std::string authorities;  // empty: the authorities that the system trusts
  std::string certificate;  // the client certificate, then its chain; empty: none
  std::string key;          // private key of `certificate`, unencrypted

  friend bool operator==(const PemTexts&, const PemTexts&) = default;
};
/// The connections that use the texts share them and keep them alive.
using PemTextsPtr = std::shared_ptr<const PemTexts>;

/// Returns kInvalid if a given text contains no certificate or key, if the key does not belong to
/// the certificate, or if only one of key and certificate is given.
[[nodiscard]] base::Result<void> check_pem(const PemTexts& pem_texts);

}  // namespace snug::kube
