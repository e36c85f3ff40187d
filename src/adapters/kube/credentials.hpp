// Who we are, as it stands now: token and TLS material of an endpoint. Files are read again when
// the interval is over and when the API server said 401; what cannot be read (half-way through a
// rotation, say) leaves the last good state in force and is logged. Thread-safe.
#pragma once

#include <mutex>
#include <string>

#include "adapters/kube/tls.hpp"
#include "snug/adapters/kube/endpoint.hpp"
#include "snug/adapters/kube/kube_context.hpp"

namespace snug {

struct CredentialView {
  std::string token;   // empty: none
  TlsMaterialPtr tls;  // null: plain http; another pointer: the material changed
};

class Credentials {
 public:
  Credentials(const ApiEndpoint& endpoint, const KubeContext& context);

  /// An error only while nothing usable was ever read.
  [[nodiscard]] Result<CredentialView> view();
  /// Reads the files now, after `used` was refused; true: there is something else to try.
  [[nodiscard]] bool renew(const CredentialView& used);

 private:
  struct Texts {
    std::string token;
    PemTexts pem;
  };

  void reread();
  [[nodiscard]] Result<Texts> read_texts() const;

  const ApiEndpoint endpoint_;
  const Limits limits_;
  Log& log_;
  const Clock& clock_;

  std::mutex mutex_;
  TimePoint next_read_{};
  bool loaded_ = false;
  Error problem_;
  PemTexts pem_;
  CredentialView view_;
};

/// Whether everything that the endpoint names can be read and used.
[[nodiscard]] Result<void> check_credentials(const ApiEndpoint& endpoint, const Limits& limits);

}  // namespace snug
