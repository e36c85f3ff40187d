// Certificates made on the spot: P-256 keys, valid for an hour.
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "integration/kube_support.hpp"

namespace snug::testing {
namespace {

using KeyPtr = std::shared_ptr<EVP_PKEY>;
using CertificatePtr = std::shared_ptr<X509>;

KeyPtr make_key() { return {EVP_EC_gen("P-256"), &EVP_PKEY_free}; }

template <typename Write>
std::string to_text(Write&& write) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), &BIO_free);
  write(bio.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string to_text(X509* certificate) {
  return to_text([&](BIO* bio) { PEM_write_bio_X509(bio, certificate); });
}

void add_extension(X509* certificate, int kind, const std::string& value, X509* issuer = nullptr) {
  X509V3_CTX about{};
  X509V3_set_ctx(&about, issuer == nullptr ? certificate : issuer, certificate, nullptr, nullptr,
                 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &about, kind, value.c_str());
  ASSERT_NE(extension, nullptr) << value;
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

struct Wish {
  std::string common_name;
  bool authority = false;
  std::string alternative_names;
};

CertificatePtr make_certificate(const Wish& wish, EVP_PKEY* key, X509* issuer,
                                EVP_PKEY* issuer_key) {
  static std::atomic<long> serial{1};
  CertificatePtr made(X509_new(), &X509_free);
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), serial++);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
  X509_set_pubkey(made.get(), key);
  X509_NAME* name = X509_get_subject_name(made.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(wish.common_name.c_str()), -1,
                             -1, 0);
  X509_set_issuer_name(made.get(), issuer == nullptr ? name : X509_get_subject_name(issuer));
  add_extension(made.get(), NID_basic_constraints,
                wish.authority ? "critical,CA:TRUE" : "CA:FALSE");
  // Key identifiers tell authorities of the same name apart, as after a rotation.
  add_extension(made.get(), NID_subject_key_identifier, "hash");
  add_extension(made.get(), NID_authority_key_identifier, "keyid", issuer);
  if (!wish.alternative_names.empty()) {
    add_extension(made.get(), NID_subject_alt_name, wish.alternative_names);
  }
  X509_sign(made.get(), issuer_key, EVP_sha256());
  return made;
}

}  // namespace

struct TestAuthority::Parts {
  KeyPtr key;
  CertificatePtr certificate;
};

TestAuthority::TestAuthority(const std::string& name) : parts_(std::make_unique<Parts>()) {
  parts_->key = make_key();
  parts_->certificate =
      make_certificate({name, true, ""}, parts_->key.get(), nullptr, parts_->key.get());
  pem_ = to_text(parts_->certificate.get());
}

TestAuthority::~TestAuthority() = default;

Pem TestAuthority::issue(const std::string& common_name, const std::string& names) const {
  const KeyPtr key = make_key();
  const CertificatePtr certificate = make_certificate({common_name, false, names}, key.get(),
                                                      parts_->certificate.get(), parts_->key.get());
  return {to_text(certificate.get()), to_text([&](BIO* bio) {
            PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

namespace {

template <typename T, typename Read, typename Free>
std::shared_ptr<T> from_text(const std::string& text, Read&& read, Free&& free) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free);
  return {read(bio.get(), nullptr, nullptr, nullptr), free};
}

}  // namespace

std::unique_ptr<httplib::Server> make_tls_server(const Pem& own, const TestAuthority& clients) {
  const auto certificate = from_text<X509>(own.certificate, &PEM_read_bio_X509, &X509_free);
  const auto key = from_text<EVP_PKEY>(own.key, &PEM_read_bio_PrivateKey, &EVP_PKEY_free);
  const auto authority = from_text<X509>(clients.pem(), &PEM_read_bio_X509, &X509_free);
  return std::make_unique<httplib::SSLServer>([&](SSL_CTX& context) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(&context), authority.get());
    SSL_CTX_set_verify(&context, SSL_VERIFY_PEER, nullptr);
    return SSL_CTX_use_certificate(&context, certificate.get()) == 1 &&
           SSL_CTX_use_PrivateKey(&context, key.get()) == 1;
  });
}

std::string client_name(const httplib::Request& request) {
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      SSL_get1_peer_certificate(request.ssl), &X509_free);
  if (!certificate) return {};
  std::array<char, 256> name{};
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_commonName, name.data(),
                            static_cast<int>(name.size()));
  return name.data();
}

}  // namespace snug::testing
