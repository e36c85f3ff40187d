#include "adapters/kube/tls.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <system_error>
#include <utility>

namespace snug {
namespace {

using BioPtr = std::unique_ptr<BIO, decltype(&BIO_free)>;

BioPtr open_text(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free};
}

/// Without this OpenSSL would ask for a key's pass phrase on the terminal.
int no_pass_phrase(char*, int, int, void*) { return 0; }

/// Why this thread's last handshake did not trust its peer: OpenSSL's queue of errors does not say.
thread_local int distrust = X509_V_OK;

int remember_distrust(int trusted, X509_STORE_CTX* chain) {
  if (trusted == 0) distrust = X509_STORE_CTX_get_error(chain);
  return trusted;
}

std::unexpected<Error> tls_fail(const std::string& sentence) {
  const std::string reason = take_tls_error();
  return fail(ErrorCode::kInvalid, reason.empty() ? sentence : sentence + " (" + reason + ")");
}

/// All certificates of a PEM text; what else stands in it is skipped.
std::vector<std::shared_ptr<X509>> read_certificates(const std::string& pem) {
  std::vector<std::shared_ptr<X509>> found;
  const BioPtr bio = open_text(pem);
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, &no_pass_phrase, nullptr)) {
    found.emplace_back(certificate, &X509_free);
  }
  ERR_clear_error();  // the end of the text counts as an error
  return found;
}

Result<std::shared_ptr<X509_STORE>> read_authorities(const std::string& pem) {
  std::shared_ptr<X509_STORE> store(X509_STORE_new(), &X509_STORE_free);
  const auto certificates = read_certificates(pem);
  if (certificates.empty()) {
    return fail(ErrorCode::kInvalid, "the certificate authority holds no PEM certificate");
  }
  for (const auto& certificate : certificates) {
    if (X509_STORE_add_cert(store.get(), certificate.get()) != 1) {
      return tls_fail("a certificate authority cannot be used");
    }
  }
  // An intermediate authority is trusted by itself, as in Go's clients.
  X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN);
  return store;
}

Result<std::shared_ptr<EVP_PKEY>> read_key(const std::string& pem, X509* certificate) {
  const BioPtr bio = open_text(pem);
  std::shared_ptr<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, &no_pass_phrase, nullptr), &EVP_PKEY_free);
  if (!key) return tls_fail("the client key is no unencrypted PEM private key");
  if (X509_check_private_key(certificate, key.get()) != 1) {
    return tls_fail("the client key does not belong to the client certificate");
  }
  return key;
}

/// Sends the name that the certificate is checked for, and none for an address: httplib would send
/// the host, which may be an address or another name.
void set_server_name(const SSL* ssl, int where, int) {
  if ((where & SSL_CB_HANDSHAKE_START) == 0) return;
  const auto* peer = static_cast<const TlsPeer*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  const char* name = is_ip_address(peer->name) ? nullptr : peer->name.c_str();
  // The callback's type is const only because it is shared with mere observers.
  SSL_set_tlsext_host_name(const_cast<SSL*>(ssl), const_cast<char*>(name));
}

Result<void> set_peer(SSL_CTX* context, const TlsPeer& peer) {
  SSL_CTX_set_app_data(context, const_cast<TlsPeer*>(&peer));
  SSL_CTX_set_info_callback(context, &set_server_name);
  if (!peer.verify) {
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
    return {};
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, &remember_distrust);
  X509_VERIFY_PARAM* rules = SSL_CTX_get0_param(context);
  X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const int set = is_ip_address(peer.name)
                      ? X509_VERIFY_PARAM_set1_ip_asc(rules, peer.name.c_str())
                      : X509_VERIFY_PARAM_set1_host(rules, peer.name.c_str(), peer.name.size());
  if (set != 1) return tls_fail("the server name `" + peer.name + "` cannot be checked");
  return {};
}

}  // namespace

bool is_ip_address(std::string_view text) {
  const std::string copy(text);
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return inet_pton(AF_INET, copy.c_str(), address.data()) == 1 ||
         inet_pton(AF_INET6, copy.c_str(), address.data()) == 1;
}

std::string take_tls_error() {
  const unsigned long code = ERR_peek_error();  // the first: later ones follow from it
  const int trust = std::exchange(distrust, X509_V_OK);
  ERR_clear_error();
  if (code == 0) return {};
  // OpenSSL has no sentences for the system's errors.
  const char* reason = ERR_SYSTEM_ERROR(code) ? nullptr : ERR_reason_error_string(code);
  std::string text = "OpenSSL error " + std::to_string(code);
  if (ERR_SYSTEM_ERROR(code)) text = std::generic_category().message(ERR_GET_REASON(code));
  if (reason != nullptr) text = reason;
  if (trust != X509_V_OK) text.append(": ").append(X509_verify_cert_error_string(trust));
  return text;
}

Result<TlsMaterialPtr> read_tls_material(const PemTexts& texts) {
  auto material = std::make_shared<TlsMaterial>();
  if (!texts.authorities.empty()) {
    auto store = read_authorities(texts.authorities);
    if (!store) return std::unexpected(store.error());
    material->authorities = *std::move(store);
  }
  if (texts.certificate.empty() != texts.key.empty()) {
    return fail(ErrorCode::kInvalid, "a client certificate and a client key need each other");
  }
  if (!texts.certificate.empty()) {
    material->chain = read_certificates(texts.certificate);
    if (material->chain.empty()) {
      return fail(ErrorCode::kInvalid, "the client certificate holds no PEM certificate");
    }
    auto key = read_key(texts.key, material->chain.front().get());
    if (!key) return std::unexpected(key.error());
    material->key = *std::move(key);
  }
  return material;
}

Result<void> set_up_tls(SSL_CTX* context, const TlsMaterial& material, const TlsPeer& peer) {
  if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) {
    return tls_fail("TLS 1.2 cannot be required");
  }
  if (material.authorities) {
    SSL_CTX_set1_cert_store(context, material.authorities.get());
  } else if (SSL_CTX_set_default_verify_paths(context) != 1) {
    return tls_fail("the system's certificate authorities cannot be read");
  }
  if (!material.chain.empty()) {
    bool done = SSL_CTX_use_certificate(context, material.chain.front().get()) == 1 &&
                SSL_CTX_use_PrivateKey(context, material.key.get()) == 1;
    for (std::size_t i = 1; i < material.chain.size(); ++i) {
      done = done && SSL_CTX_add1_chain_cert(context, material.chain[i].get()) == 1;
    }
    if (!done) return tls_fail("the client certificate cannot be used");
  }
  return set_peer(context, peer);
}

}  // namespace snug
