// The current token and PEM texts of an endpoint. Files are read again after credentialsRereadMs
// and when the API server answers 401. If a file cannot be read or used (during a rotation, for
// example), the last good state stays in force and the problem is logged. Thread-safe.
#pragma once

#include <string>

#include "adapters/kube/pem.hpp"
#include "snug/adapters/kube/api_endpoint.hpp"
#include "snug/adapters/kube/kube_context.hpp"
#include "snug/base/mutex.hpp"

namespace snug::kube {

struct CredentialView {
  std::string token;  // empty: none
  PemTextsPtr tls;    // null: plain http; another pointer: the texts changed
};

class Credentials {
 public:
  Credentials(const ApiEndpoint& endpoint, const KubeContext& context);

  /// An error only while nothing usable was ever read.
  [[nodiscard]] base::Result<CredentialView> view() SNUG_EXCLUDES(mutex_);
  /// Reads the files now, since `used` was refused. True: there are other credentials to try.
  [[nodiscard]] bool renew(const CredentialView& used) SNUG_EXCLUDES(mutex_);

 private:
  struct Texts {
    std::string token;
    PemTexts pem;
  };

  void reread() SNUG_REQUIRES(mutex_);
  [[nodiscard]] base::Result<Texts> read_texts() const;

  const ApiEndpoint endpoint_;
  const base::Limits limits_;
  service::Log& log_;
  const base::Clock& clock_;

  base::Mutex mutex_;
  base::TimePoint next_read_ SNUG_GUARDED_BY(mutex_){};
  bool loaded_ SNUG_GUARDED_BY(mutex_) = false;
  base::Error problem_ SNUG_GUARDED_BY(mutex_);  // while nothing is loaded
  CredentialView view_ SNUG_GUARDED_BY(mutex_);
};

/// Whether everything that the endpoint names can be read and used.
[[nodiscard]] base::Result<void> check_credentials(const ApiEndpoint& endpoint,
                                                   const base::Limits& limits);

}  // namespace snug::kube
