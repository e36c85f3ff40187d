// Reads certificates and keys from PEM texts. The functions return null if the text is not PEM, or
// if the key is encrypted. Thread-safe.
#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace snug::http {

using X509Ptr = std::unique_ptr<X509, decltype(&X509_free)>;
using PkeyPtr = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

/// A password callback of OpenSSL. It gives no passphrase, so that reading an encrypted key fails.
/// OpenSSL's default callback would ask for a passphrase on the terminal.
int no_passphrase(char* buffer, int size, int is_for_writing, void* user_data);

[[nodiscard]] X509Ptr parse_certificate(const std::string& pem);
[[nodiscard]] PkeyPtr parse_key(const std::string& pem);

}  // namespace snug::http
