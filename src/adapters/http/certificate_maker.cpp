#include "snug/adapters/http/certificate_maker.hpp"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "adapters/http/pem.hpp"
#include "snug/base/text.hpp"

namespace snug::http {
namespace {

using admission::Validity;
using BioPtr = std::unique_ptr<BIO, decltype(&BIO_free)>;

/// The contents of a certificate, besides its key. Null `issuer`: the certificate signs itself.
struct CertificateWish {
  std::string common_name;
  std::uint64_t serial = 0;
  Validity validity;
  std::vector<std::pair<int, std::string>> extensions;  // NID and value
  X509* issuer = nullptr;
};

std::unexpected<base::Error> certificate_problem(std::string sentence) {
  ERR_clear_error();
  return base::fail(base::ErrorCode::kInvalid, std::move(sentence));
}

bool add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX extension_context{};
  X509V3_set_ctx(&extension_context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> extension(
      X509V3_EXT_conf_nid(nullptr, &extension_context, nid, value.c_str()), &X509_EXTENSION_free);
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool set_time(ASN1_TIME* out, admission::WallTime time) {
  return ASN1_TIME_set(out, static_cast<std::time_t>(time.time_since_epoch().count())) != nullptr;
}

/// Null if OpenSSL fails.
X509Ptr sign_certificate(const CertificateWish& wish, EVP_PKEY* key, EVP_PKEY* issuer_key) {
  X509Ptr certificate(X509_new(), &X509_free);
  X509* made = certificate.get();
  constexpr long kVersion3 = 2;
  bool done = made != nullptr && X509_set_version(made, kVersion3) == 1 &&
              ASN1_INTEGER_set_uint64(X509_get_serialNumber(made), wish.serial) == 1 &&
              set_time(X509_getm_notBefore(made), wish.validity.from) &&
              set_time(X509_getm_notAfter(made), wish.validity.until) &&
              X509_set_pubkey(made, key) == 1;
  if (!done) return {nullptr, &X509_free};
  X509_NAME* subject = X509_get_subject_name(made);
  done = X509_NAME_add_entry_by_txt(
             subject, "CN", MBSTRING_ASC,
             reinterpret_cast<const unsigned char*>(wish.common_name.c_str()), -1, -1, 0) == 1;
  X509* issuer = wish.issuer == nullptr ? made : wish.issuer;
  done = done && X509_set_issuer_name(made, X509_get_subject_name(issuer)) == 1;
  for (const auto& [nid, value] : wish.extensions) {
    done = done && add_extension(made, issuer, nid, value);
  }
  if (!done || X509_sign(made, issuer_key, EVP_sha256()) == 0) return {nullptr, &X509_free};
  return certificate;
}

template <typename Write>
std::string to_pem(Write write) {
  const BioPtr bio(BIO_new(BIO_s_mem()), &BIO_free);
  if (bio == nullptr || write(bio.get()) != 1) return {};
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

std::string pem_of(X509* certificate) {
  return to_pem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

std::string pem_of(EVP_PKEY* key) {
  return to_pem([&](BIO* bio) {
    return PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

std::optional<admission::WallTime> wall_time(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
  using namespace std::chrono;
  constexpr int kFirstYear = 1900;  // of std::tm
  const sys_days day = year{parts.tm_year + kFirstYear} /
                       month{static_cast<unsigned>(parts.tm_mon + 1)} /
                       std::chrono::day{static_cast<unsigned>(parts.tm_mday)};
  return day + hours{parts.tm_hour} + minutes{parts.tm_min} + seconds{parts.tm_sec};
}

std::optional<Validity> validity_of(const X509* certificate) {
  const auto from = wall_time(X509_get0_notBefore(certificate));
  const auto until = wall_time(X509_get0_notAfter(certificate));
  if (!from || !until) return std::nullopt;
  return Validity{*from, *until};
}

/// Whether Go accepts a certificate with a key of this kind. Its client, the API server, is Go.
bool is_key_of_tls(X509* certificate) {
  EVP_PKEY* const key = X509_get0_pubkey(certificate);
  constexpr int kLeastRsaBits = 2'048;
  if (EVP_PKEY_is_a(key, "ED25519") == 1) return true;
  if (EVP_PKEY_is_a(key, "RSA") == 1) return EVP_PKEY_get_bits(key) >= kLeastRsaBits;
  std::array<char, 32> curve{};
  if (EVP_PKEY_get_group_name(key, curve.data(), curve.size(), nullptr) != 1) return false;
  const std::string_view name(curve.data());
  return name == "prime256v1" || name == "secp384r1" || name == "secp521r1";
}

/// Whether the authority is one and has signed the certificate for a server. Does not look at the
/// time.
bool is_for_servers(X509* certificate, X509* authority) {
  const std::unique_ptr<X509_STORE, decltype(&X509_STORE_free)> store(X509_STORE_new(),
                                                                      &X509_STORE_free);
  const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> context(
      X509_STORE_CTX_new(), &X509_STORE_CTX_free);
  if (store == nullptr || context == nullptr || X509_STORE_add_cert(store.get(), authority) != 1 ||
      X509_STORE_set_flags(store.get(), X509_V_FLAG_NO_CHECK_TIME) != 1 ||
      X509_STORE_CTX_init(context.get(), store.get(), certificate, nullptr) != 1 ||
      X509_STORE_CTX_set_purpose(context.get(), X509_PURPOSE_SSL_SERVER) != 1) {
    return false;
  }
  return X509_verify_cert(context.get()) == 1;
}

}  // namespace

OpensslCertificateMaker::OpensslCertificateMaker(std::vector<std::string> host_names,
                                                 std::vector<std::string> addresses)
    : host_names_(std::move(host_names)), addresses_(std::move(addresses)) {}

base::Result<admission::ServerIdentity> OpensslCertificateMaker::make(const Validity& validity) {
  const PkeyPtr authority_key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  const PkeyPtr key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  std::array<std::uint64_t, 2> serials{};
  const bool has_entropy =
      RAND_bytes(reinterpret_cast<unsigned char*>(serials.data()), sizeof serials) == 1;
  if (authority_key == nullptr || key == nullptr || !has_entropy)
    return certificate_problem("OpenSSL cannot make a key");
  for (std::uint64_t& serial : serials) serial >>= 1U;  // serial numbers are positive
  // The names of authorities differ, since the API server trusts several at one time.
  const X509Ptr authority =
      sign_certificate({.common_name = "snug-webhook-ca-" + base::hex_number(serials[0]),
                        .serial = serials[0],
                        .validity = validity,
                        .extensions = {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                                       {NID_key_usage, "critical,keyCertSign"},
                                       {NID_subject_key_identifier, "hash"}}},
                       authority_key.get(), authority_key.get());
  if (authority == nullptr) return certificate_problem("OpenSSL cannot make an authority");
  std::string names;
  for (const std::string& name : host_names_) names += (names.empty() ? "DNS:" : ",DNS:") + name;
  for (const std::string& address : addresses_) names += (names.empty() ? "IP:" : ",IP:") + address;
  const X509Ptr certificate =
      sign_certificate({.common_name = "snug-webhook",
                        .serial = serials[1],
                        .validity = validity,
                        .extensions = {{NID_basic_constraints, "critical,CA:FALSE"},
                                       {NID_key_usage, "critical,digitalSignature"},
                                       {NID_ext_key_usage, "serverAuth"},
                                       {NID_subject_key_identifier, "hash"},
                                       {NID_authority_key_identifier, "keyid"},
                                       {NID_subject_alt_name, names}},
                        .issuer = authority.get()},
                       key.get(), authority_key.get());
  if (certificate == nullptr) return certificate_problem("OpenSSL cannot make a certificate");
  return admission::ServerIdentity{.authority = pem_of(authority.get()),
                                   .certificate = pem_of(certificate.get()),
                                   .key = pem_of(key.get())};
}

base::Result<Validity> OpensslCertificateMaker::inspect(const admission::ServerIdentity& identity) {
  const X509Ptr authority = parse_certificate(identity.authority);
  const X509Ptr certificate = parse_certificate(identity.certificate);
  const PkeyPtr key = parse_key(identity.key);
  if (authority == nullptr || certificate == nullptr || key == nullptr)
    return certificate_problem("ca.crt, tls.crt or tls.key is not PEM, or the key is encrypted");
  if (X509_check_private_key(certificate.get(), key.get()) != 1)
    return certificate_problem("tls.key is not the key of tls.crt");
  if (!is_key_of_tls(certificate.get()) || !is_key_of_tls(authority.get()))
    return certificate_problem(
        "a certificate has a key that the API server refuses; expected P-256, P-384, P-521, "
        "Ed25519, or RSA of at least 2048 bits");
  if (!is_for_servers(certificate.get(), authority.get()))
    return certificate_problem("tls.crt is not a server certificate that ca.crt has signed");
  for (const std::string& name : host_names_) {
    if (X509_check_host(certificate.get(), name.data(), name.size(), 0, nullptr) != 1)
      return certificate_problem("tls.crt lacks the name " + name);
  }
  for (const std::string& address : addresses_) {
    if (X509_check_ip_asc(certificate.get(), address.c_str(), 0) != 1)
      return certificate_problem("tls.crt lacks the IP address " + address);
  }
  const auto of_authority = validity_of(authority.get());
  const auto of_certificate = validity_of(certificate.get());
  if (!of_authority || !of_certificate)
    return certificate_problem("the validity of tls.crt or ca.crt cannot be read");
  return Validity{.from = std::max(of_authority->from, of_certificate->from),
                  .until = std::min(of_authority->until, of_certificate->until)};
}

}  // namespace snug::http
