#include "adapters/http/tls_context_reloader.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "adapters/http/pem.hpp"

namespace snug::http {
namespace {

base::Error tls_problem(std::string_view failed_step, const std::string& pem_file) {
  const unsigned long openssl_error =
      ERR_peek_error();  // the first error in the queue is the cause of later ones
  ERR_clear_error();
  std::string openssl_reason = "OpenSSL gives no reason";
  std::error_code ignored_error;
  if (std::filesystem::is_directory(pem_file, ignored_error)) {
    openssl_reason = "is a folder";
  } else if (ERR_SYSTEM_ERROR(openssl_error)) {
    openssl_reason = std::generic_category().message(ERR_GET_REASON(openssl_error));
  } else if (const char* reason = ERR_reason_error_string(openssl_error); reason != nullptr) {
    openssl_reason = reason;
  }
  return {base::ErrorCode::kInvalid,
          std::string{failed_step} + " " + pem_file + ": " + openssl_reason};
}

/// The index at which a context keeps the names of the clients that it accepts.
int client_names_index() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

/// Whether the certificate's common name or one of its DNS names is `name`. Wildcards in a client's
/// certificate mean nothing.
bool has_name(X509* certificate, const std::string& name) {
  constexpr unsigned kExact = X509_CHECK_FLAG_NO_WILDCARDS | X509_CHECK_FLAG_ALWAYS_CHECK_SUBJECT;
  char* matched = nullptr;
  const bool matches =
      X509_check_host(certificate, name.data(), name.size(), kExact, &matched) == 1;
  // Unlike a host's name, a user's name in Kubernetes has a letter case.
  const bool is_same = matches && matched != nullptr && name == matched;
  OPENSSL_free(matched);
  return is_same;
}

/// A verification callback of OpenSSL: refuses a client whose certificate has none of the names.
int check_client_name(int is_valid, X509_STORE_CTX* verification) {
  if (is_valid != 1 || X509_STORE_CTX_get_error_depth(verification) != 0) return is_valid;
  const auto* connection = static_cast<const SSL*>(
      X509_STORE_CTX_get_ex_data(verification, SSL_get_ex_data_X509_STORE_CTX_idx()));
  const auto* names = static_cast<const std::vector<std::string>*>(
      SSL_CTX_get_ex_data(SSL_get_SSL_CTX(connection), client_names_index()));
  X509* certificate = X509_STORE_CTX_get_current_cert(verification);
  if (std::ranges::any_of(*names,
                          [&](const std::string& name) { return has_name(certificate, name); }))
    return 1;
  X509_STORE_CTX_set_error(verification, X509_V_ERR_APPLICATION_VERIFICATION);
  return 0;
}

/// `files` must outlive the context.
base::Result<void> require_client_certificates(SSL_CTX* context, const TlsFiles& files) {
  const std::string& ca_file = files.client_ca;
  if (SSL_CTX_load_verify_locations(context, ca_file.c_str(), nullptr) != 1) {
    return std::unexpected(tls_problem("cannot read the client CA", ca_file));
  }
  STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(ca_file.c_str());
  if (names == nullptr) return std::unexpected(tls_problem("cannot read the client CA", ca_file));
  SSL_CTX_set_client_CA_list(context, names);
  const bool checks_names = !files.client_names.empty();
  if (checks_names) {
    // OpenSSL takes a pointer to data that it does not change.
    auto* client_names = const_cast<std::vector<std::string>*>(&files.client_names);
    if (SSL_CTX_set_ex_data(context, client_names_index(), client_names) != 1)
      return base::fail(base::ErrorCode::kInternal, "OpenSSL cannot keep the clients' names");
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                     checks_names ? &check_client_name : nullptr);
  return {};
}

base::Result<std::shared_ptr<SSL_CTX>> make_empty_context() {
  ERR_clear_error();
  std::shared_ptr<SSL_CTX> context{SSL_CTX_new(TLS_server_method()), SSL_CTX_free};
  if (context == nullptr)
    return base::fail(base::ErrorCode::kInternal, "OpenSSL cannot create a TLS context");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // So SSL_read() returns after each record without data, such as a KeyUpdate. By default it reads
  // on while such records arrive, and a client that sends them without end would keep the thread.
  SSL_CTX_clear_mode(context.get(), SSL_MODE_AUTO_RETRY);
  // Without a session id context, OpenSSL refuses to resume a session with a client certificate.
  constexpr std::string_view kSessions = "snug";
  SSL_CTX_set_session_id_context(context.get(),
                                 reinterpret_cast<const unsigned char*>(kSessions.data()),
                                 static_cast<unsigned>(kSessions.size()));
  SSL_CTX_set_default_passwd_cb(context.get(), no_passphrase);
  return context;
}

base::Result<std::shared_ptr<SSL_CTX>> make_context(const TlsFiles& files) {
  auto context = make_empty_context();
  if (!context) return context;
  if (SSL_CTX_use_certificate_chain_file(context->get(), files.cert.c_str()) != 1) {
    return std::unexpected(tls_problem("cannot read the certificate", files.cert));
  }
  if (SSL_CTX_use_PrivateKey_file(context->get(), files.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context->get()) != 1) {
    return std::unexpected(tls_problem("cannot use the key", files.key));
  }
  if (!files.client_ca.empty()) {
    const base::Result<void> required = require_client_certificates(context->get(), files);
    if (!required) return std::unexpected(required.error());
  }
  return context;
}

base::Result<std::shared_ptr<SSL_CTX>> make_context(const admission::ServerIdentity& identity) {
  auto context = make_empty_context();
  if (!context) return context;
  const X509Ptr certificate = parse_certificate(identity.certificate);
  const PkeyPtr key = parse_key(identity.key);
  if (certificate == nullptr || key == nullptr ||
      SSL_CTX_use_certificate(context->get(), certificate.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context->get(), key.get()) != 1) {
    ERR_clear_error();
    return base::fail(base::ErrorCode::kInvalid, "the certificate and its key cannot be used");
  }
  return context;
}

}  // namespace

TlsContextReloader::TlsContextReloader(TlsFiles files,
                                       std::function<void(std::string_view)> on_problem)
    : files_(std::move(files)), on_problem_(std::move(on_problem)) {}

TlsContextReloader::TlsContextReloader(IdentitySource identity_source,
                                       std::function<void(std::string_view)> on_problem)
    : identity_source_(std::move(identity_source)), on_problem_(std::move(on_problem)) {}

TlsContextReloader::Stamp TlsContextReloader::stamp_of(const std::string& pem_file) {
  struct stat file_status{};
  if (pem_file.empty() || ::stat(pem_file.c_str(), &file_status) != 0) return {};
  return {file_status.st_ino, file_status.st_size, file_status.st_mtim.tv_sec,
          file_status.st_mtim.tv_nsec};
}

TlsContextReloader::Stamps TlsContextReloader::stamps() const {
  return {stamp_of(files_.cert), stamp_of(files_.key), stamp_of(files_.client_ca)};
}

bool TlsContextReloader::take_change() {
  if (identity_source_) {
    auto current_identity = identity_source_();
    if (current_identity == identity_) return false;
    identity_ = std::move(current_identity);
    return identity_ != nullptr;
  }
  const Stamps current_stamps = stamps();
  if (current_stamps == read_stamps_) return false;
  // These stamps were taken before the files are read. So if a file changes during the read, the
  // next call reloads the files again.
  read_stamps_ = current_stamps;
  return true;
}

base::Result<std::shared_ptr<SSL_CTX>> TlsContextReloader::load() const {
  return identity_source_ ? make_context(*identity_) : make_context(files_);
}

base::Result<void> TlsContextReloader::open() {
  const base::MutexLock lock(mutex_);
  const bool changed = take_change();
  if (identity_source_ && !changed) return {};  // there is no certificate yet
  base::Result<std::shared_ptr<SSL_CTX>> context = load();
  if (!context) return std::unexpected(std::move(context.error()));
  context_ = std::move(*context);
  return {};
}

std::shared_ptr<SSL_CTX> TlsContextReloader::current() {
  const base::MutexLock lock(mutex_);
  if (!take_change()) return context_;
  base::Result<std::shared_ptr<SSL_CTX>> context = load();
  if (context) {
    context_ = std::move(*context);
  } else if (on_problem_) {
    on_problem_(context.error().message + "; the last valid certificate stays in use");
  }
  return context_;
}

}  // namespace snug::http
