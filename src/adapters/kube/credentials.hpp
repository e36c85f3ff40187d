// The current token and PEM texts of an endpoint. Credential files are read again after
// credentials_reread_ms and when the API server answers 401. If a file cannot be read or used, for
// example during a rotation, the problem is logged and the last usable credentials stay in use.
// Thread-safe.
#pragma once

#include <string>

#include "adapters/kube/pem.hpp"
#include "snug/adapters/kube/api_endpoint.hpp"
#include "snug/adapters/kube/kube_context.hpp"
#include "snug/base/mutex.hpp"

namespace snug::kube {

struct CredentialView {
  std::string token;  // empty: no token
  PemTextsPtr tls;    // null for plain http; a new pointer after each change of the texts
};

class Credentials {
 public:
  Credentials(const ApiEndpoint& endpoint, const KubeContext& context);

  /// Returns the current credentials. Fails only if no usable credentials have ever been read.
  [[nodiscard]] base::Result<CredentialView> view() SNUG_EXCLUDES(mutex_);
  /// Call this after the API server has refused `refused_view`. If the current credentials are
  /// still equal to `refused_view`, reads the files again. Returns whether the credentials now
  /// differ from `refused_view`.
  [[nodiscard]] bool renew(const CredentialView& refused_view) SNUG_EXCLUDES(mutex_);

 private:
  struct TokenAndPem {
    std::string token;
    PemTexts pem_texts;
  };

  void reread_files() SNUG_REQUIRES(mutex_);
  [[nodiscard]] base::Result<TokenAndPem> read_credentials() const;

  const ApiEndpoint endpoint_;
  const base::Limits limits_;
  service::Log& log_;
  const base::Clock& clock_;

  base::Mutex mutex_;
  base::TimePoint next_reread_ SNUG_GUARDED_BY(mutex_){};
  bool ever_loaded_ SNUG_GUARDED_BY(mutex_) = false;
  base::Error read_error_ SNUG_GUARDED_BY(mutex_);  // the error of view() if ever_loaded_ is false
  CredentialView current_view_ SNUG_GUARDED_BY(mutex_);
};

/// Returns an error if a token, certificate or key of `endpoint` cannot be read or used.
[[nodiscard]] base::Result<void> check_credentials(const ApiEndpoint& endpoint,
                                                   const base::Limits& limits);

/// Reads a whole file. Fails with kTooLarge if it has more than `max_bytes`, and with kInvalid if
/// it cannot be read.
[[nodiscard]] base::Result<std::string> read_small_file(const std::string& path,
                                                        std::size_t max_bytes);

}  // namespace snug::kube
