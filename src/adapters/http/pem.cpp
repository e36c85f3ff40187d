#include "adapters/http/pem.hpp"

#include <openssl/bio.h>
#include <openssl/pem.h>

namespace snug::http {
namespace {

using PemBio = std::unique_ptr<BIO, decltype(&BIO_free)>;

PemBio bio_of(const std::string& pem) {
  return {BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free};
}

}  // namespace

int no_passphrase(char* /*buffer*/, int /*size*/, int /*is_for_writing*/, void* /*user_data*/) {
  return 0;
}

X509Ptr parse_certificate(const std::string& pem) {
  return {PEM_read_bio_X509(bio_of(pem).get(), nullptr, no_passphrase, nullptr), &X509_free};
}

PkeyPtr parse_key(const std::string& pem) {
  return {PEM_read_bio_PrivateKey(bio_of(pem).get(), nullptr, no_passphrase, nullptr),
          &EVP_PKEY_free};
}

}  // namespace snug::http
