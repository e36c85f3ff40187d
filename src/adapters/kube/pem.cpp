#include "adapters/kube/pem.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace snug::kube {
namespace {

using BioPtr = std::unique_ptr<BIO, decltype(&BIO_free)>;
using CertificatePtr = std::unique_ptr<X509, decltype(&X509_free)>;
using KeyPtr = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

BioPtr open_pem(const std::string& pem_text) {
  return {BIO_new_mem_buf(pem_text.data(), static_cast<int>(pem_text.size())), &BIO_free};
}

/// Without this callback, OpenSSL would ask for the pass phrase of a key on the terminal.
int no_pass_phrase(char*, int, int, void*) { return 0; }

/// Returns an error with `sentence` and the first error in OpenSSL's queue, which is the cause of
/// the later ones.
std::unexpected<base::Error> openssl_fail(std::string sentence) {
  const char* openssl_reason = ERR_reason_error_string(ERR_peek_error());
  ERR_clear_error();
  if (openssl_reason != nullptr) sentence.append(" (").append(openssl_reason).append(")");
  return base::fail(base::ErrorCode::kInvalid, std::move(sentence));
}

/// Returns the first certificate in a PEM text, or null if it contains none.
CertificatePtr first_certificate(const std::string& pem_text) {
  const BioPtr pem_bio = open_pem(pem_text);
  CertificatePtr certificate(PEM_read_bio_X509(pem_bio.get(), nullptr, &no_pass_phrase, nullptr),
                             &X509_free);
  ERR_clear_error();
  return certificate;
}

}  // namespace

base::Result<void> check_pem(const PemTexts& pem_texts) {
  if (!pem_texts.authorities.empty() && first_certificate(pem_texts.authorities) == nullptr) {
    return base::fail(base::ErrorCode::kInvalid,
                      "the certificate authority holds no PEM certificate");
  }
  if (pem_texts.certificate.empty() != pem_texts.key.empty()) {
    return base::fail(base::ErrorCode::kInvalid,
                      "a client certificate and a client key must be given together");
  }
  if (pem_texts.certificate.empty()) return {};
  const CertificatePtr client_certificate = first_certificate(pem_texts.certificate);
  if (client_certificate == nullptr) {
    return base::fail(base::ErrorCode::kInvalid, "the client certificate holds no PEM certificate");
  }
  ERR_clear_error();
  const BioPtr key_bio = open_pem(pem_texts.key);
  const KeyPtr client_key(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, &no_pass_phrase, nullptr),
                          &EVP_PKEY_free);
  if (client_key == nullptr)
    return openssl_fail("the client key is not an unencrypted PEM private key");
  if (X509_check_private_key(client_certificate.get(), client_key.get()) != 1) {
    return openssl_fail("the client key does not belong to the client certificate");
  }
  return {};
}

}  // namespace snug::kube
