#include "adapters/kube/credentials.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace snug::kube {
namespace {

base::Result<std::string> resolve(const CredentialText& source, const base::Limits& limits) {
  if (!source.text.empty() || source.path.empty()) return source.text;
  auto text = read_small_file(source.path, static_cast<std::size_t>(limits.max_config_bytes));
  if (text && text->empty())
    return base::fail(base::ErrorCode::kInvalid, source.path + " is empty");
  return text;
}

/// Returns the token without white space around it. The token goes into an HTTP header, so it may
/// contain only visible ASCII characters.
base::Result<std::string> resolve_token(const CredentialText& source, const base::Limits& limits) {
  auto token = resolve(source, limits);
  if (!token) return token;
  const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (!token->empty() && is_space(token->back())) token->pop_back();
  token->erase(token->begin(), std::ranges::find_if_not(*token, is_space));
  if (!std::ranges::all_of(*token, [](char c) { return c > ' ' && c < '\x7f'; })) {
    return base::fail(base::ErrorCode::kInvalid,
                      (source.path.empty() ? "the token" : source.path) +
                          " contains characters that are not allowed in a bearer token");
  }
  return token;
}

base::Result<PemTexts> resolve_pem(const ApiEndpoint& endpoint, const base::Limits& limits) {
  PemTexts pem;
  struct Part {
    const CredentialText& source;
    std::string& target;
  };
  for (const Part& part :
       {Part{endpoint.authorities, pem.authorities}, Part{endpoint.certificate, pem.certificate},
        Part{endpoint.key, pem.key}}) {
    auto text = resolve(part.source, limits);
    if (!text) return std::unexpected(text.error());
    part.target = *std::move(text);
  }
  return pem;
}

}  // namespace

Credentials::Credentials(const ApiEndpoint& endpoint, const KubeContext& context)
    : endpoint_(endpoint), limits_(context.limits), log_(context.log), clock_(context.clock) {}

base::Result<CredentialView> Credentials::view() {
  const base::MutexLock lock(mutex_);
  if (!loaded_ || clock_.now() >= next_read_) reread();
  if (!loaded_) return std::unexpected(problem_);
  return view_;
}

bool Credentials::renew(const CredentialView& used) {
  const base::MutexLock lock(mutex_);
  if (view_.token == used.token && view_.tls == used.tls) reread();
  return loaded_ && (view_.token != used.token || view_.tls != used.tls);
}

void Credentials::reread() {
  next_read_ = clock_.now() + std::chrono::milliseconds(limits_.credentials_reread_ms);
  auto texts = read_texts();
  if (texts && endpoint_.tls && (!view_.tls || texts->pem != *view_.tls)) {
    if (const auto usable = check_pem(texts->pem); usable) {
      view_.tls = std::make_shared<const PemTexts>(std::move(texts->pem));
    } else {
      texts = std::unexpected(usable.error());
    }
  }
  if (!texts) {
    problem_ =
        base::Error{base::ErrorCode::kUnavailable,
                    "the credentials for the API server cannot be read: " + texts.error().message};
    log_.write(service::LogLevel::kWarn, problem_.message);
    return;
  }
  view_.token = texts->token;
  loaded_ = true;
}

base::Result<Credentials::Texts> Credentials::read_texts() const {
  auto token = resolve_token(endpoint_.token, limits_);
  if (!token) return std::unexpected(token.error());
  auto pem = resolve_pem(endpoint_, limits_);
  if (!pem) return std::unexpected(pem.error());
  return Texts{*std::move(token), *std::move(pem)};
}

base::Result<void> check_credentials(const ApiEndpoint& endpoint, const base::Limits& limits) {
  const auto token = resolve_token(endpoint.token, limits);
  if (!token) return std::unexpected(token.error());
  const auto pem = resolve_pem(endpoint, limits);
  if (!pem) return std::unexpected(pem.error());
  if (!endpoint.tls) return {};
  return check_pem(*pem);
}

base::Result<std::string> read_small_file(const std::string& path, std::size_t max_bytes) {
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) {
    return base::fail(base::ErrorCode::kInvalid, path + " is a folder; expected a file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return base::fail(base::ErrorCode::kInvalid,
                      path + " cannot be opened: " + std::strerror(errno));
  }
  std::string text(max_bytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return base::fail(base::ErrorCode::kInvalid, path + " cannot be read");
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > max_bytes) {
    return base::fail(base::ErrorCode::kTooLarge,
                      path + " is larger than " + std::to_string(max_bytes) + " bytes");
  }
  return text;
}

}  // namespace snug::kube
