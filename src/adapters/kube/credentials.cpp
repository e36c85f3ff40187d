#include "adapters/kube/credentials.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace snug::kube {
namespace {

base::Result<std::string> resolve_credential(const CredentialText& credential,
                                             const base::Limits& limits) {
  if (!credential.text.empty() || credential.path.empty()) return credential.text;
  auto credential_text =
      read_small_file(credential.path, static_cast<std::size_t>(limits.max_config_bytes));
  if (credential_text && credential_text->empty())
    return base::fail(base::ErrorCode::kInvalid, credential.path + " is empty");
  return credential_text;
}

/// Returns the token without white space around it. The token goes into an HTTP header, so it may
/// contain only visible ASCII characters.
base::Result<std::string> resolve_token(const CredentialText& credential,
                                        const base::Limits& limits) {
  auto token = resolve_credential(credential, limits);
  if (!token) return token;
  const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (!token->empty() && is_space(token->back())) token->pop_back();
  token->erase(token->begin(), std::ranges::find_if_not(*token, is_space));
  if (token->empty() && credential.given())
    return base::fail(base::ErrorCode::kInvalid,
                      (credential.path.empty() ? "the token" : credential.path) + " is empty");
  if (!std::ranges::all_of(*token, [](char c) { return c > ' ' && c < '\x7f'; })) {
    return base::fail(base::ErrorCode::kInvalid,
                      (credential.path.empty() ? "the token" : credential.path) +
                          " contains characters that are not allowed in a bearer token");
  }
  return token;
}

base::Result<PemTexts> resolve_pem(const ApiEndpoint& endpoint, const base::Limits& limits) {
  PemTexts pem_texts;
  struct PemPart {
    const CredentialText& credential;
    std::string& target;
  };
  for (const PemPart& pem_part : {PemPart{endpoint.authorities, pem_texts.authorities},
                                  PemPart{endpoint.certificate, pem_texts.certificate},
                                  PemPart{endpoint.key, pem_texts.key}}) {
    auto pem_text = resolve_credential(pem_part.credential, limits);
    if (!pem_text) return std::unexpected(pem_text.error());
    pem_part.target = *std::move(pem_text);
  }
  return pem_texts;
}

}  // namespace

Credentials::Credentials(const ApiEndpoint& endpoint, const KubeContext& context)
    : endpoint_(endpoint), limits_(context.limits), log_(context.log), clock_(context.clock) {}

base::Result<CredentialView> Credentials::view() {
  const base::MutexLock lock(mutex_);
  if (!ever_loaded_ || clock_.now() >= next_reread_) reread_files();
  if (!ever_loaded_) return std::unexpected(read_error_);
  return current_view_;
}

bool Credentials::renew(const CredentialView& refused_view) {
  const base::MutexLock lock(mutex_);
  if (current_view_.token == refused_view.token && current_view_.tls == refused_view.tls)
    reread_files();
  return ever_loaded_ &&
         (current_view_.token != refused_view.token || current_view_.tls != refused_view.tls);
}

void Credentials::reread_files() {
  next_reread_ = clock_.now() + std::chrono::milliseconds(limits_.credentials_reread_ms);
  auto new_credentials = read_credentials();
  if (new_credentials && endpoint_.tls &&
      (!current_view_.tls || new_credentials->pem_texts != *current_view_.tls)) {
    if (const auto pem_usable = check_pem(new_credentials->pem_texts); pem_usable) {
      current_view_.tls = std::make_shared<const PemTexts>(std::move(new_credentials->pem_texts));
    } else {
      new_credentials = std::unexpected(pem_usable.error());
    }
  }
  if (!new_credentials) {
    read_error_ = base::Error{
        base::ErrorCode::kUnavailable,
        "the credentials for the API server cannot be read: " + new_credentials.error().message};
    log_.write(service::LogLevel::kWarn, read_error_.message);
    return;
  }
  current_view_.token = new_credentials->token;
  ever_loaded_ = true;
}

base::Result<Credentials::TokenAndPem> Credentials::read_credentials() const {
  auto token = resolve_token(endpoint_.token, limits_);
  if (!token) return std::unexpected(token.error());
  auto pem_texts = resolve_pem(endpoint_, limits_);
  if (!pem_texts) return std::unexpected(pem_texts.error());
  return TokenAndPem{*std::move(token), *std::move(pem_texts)};
}

base::Result<void> check_credentials(const ApiEndpoint& endpoint, const base::Limits& limits) {
  const auto token = resolve_token(endpoint.token, limits);
  if (!token) return std::unexpected(token.error());
  const auto pem_texts = resolve_pem(endpoint, limits);
  if (!pem_texts) return std::unexpected(pem_texts.error());
  if (!endpoint.tls) return {};
  return check_pem(*pem_texts);
}

base::Result<std::string> read_small_file(const std::string& path, std::size_t max_bytes) {
  std::error_code ignored_error;
  if (std::filesystem::is_directory(path, ignored_error)) {
    return base::fail(base::ErrorCode::kInvalid, path + " is a folder; expected a file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return base::fail(base::ErrorCode::kInvalid,
                      path + " cannot be opened: " + std::strerror(errno));
  }
  std::string file_text(max_bytes + 1, '\0');
  file.read(file_text.data(), static_cast<std::streamsize>(file_text.size()));
  if (file.bad()) return base::fail(base::ErrorCode::kInvalid, path + " cannot be read");
  file_text.resize(static_cast<std::size_t>(file.gcount()));
  if (file_text.size() > max_bytes) {
    return base::fail(base::ErrorCode::kTooLarge,
                      path + " is larger than " + std::to_string(max_bytes) + " bytes");
  }
  return file_text;
}

}  // namespace snug::kube
