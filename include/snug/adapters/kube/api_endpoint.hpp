// The address of the API server and the credentials for it, read from a kubeconfig or from the
// files of a pod's service account. Plain data. Credentials in files are read again when they
// rotate (adapters/kube/credentials). Loading fails with one sentence, kInvalid, if a file, a
// certificate, a key or a proxy is not usable, or if the kubeconfig asks for exec plug-ins, auth
// providers, passwords or impersonation.
#pragma once

#include <cstdint>
#include <string>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"

namespace snug::kube {

/// A text, or the path of a file that holds it and may change. Both empty: not given.
struct CredentialText {
  std::string text;
  std::string path;  // read when `text` is empty

  [[nodiscard]] bool given() const { return !text.empty() || !path.empty(); }
};

struct ApiEndpoint {
  bool tls = true;
  std::string host;  // a name or an address, without brackets
  std::uint16_t port = 443;
  std::string base_path;        // of the server's URL, without a slash at its end; mostly empty
  std::string tls_server_name;  // the name that the certificate must carry; empty: `host`
  bool verify_server = true;
  /// scheme://[user[:password]@]host:port; empty: none. A kubeconfig's `proxy-url`, or else that of
  /// the environment (HTTPS_PROXY, HTTP_PROXY, NO_PROXY), as in client-go.
  std::string proxy;
  CredentialText authorities;  // PEM; not given: the system's
  CredentialText token;
  CredentialText certificate;  // PEM, the chain behind it included
  CredentialText key;          // PEM
};

/// The current context of a kubeconfig. Relative paths in it are relative to it.
[[nodiscard]] base::Result<ApiEndpoint> load_kubeconfig(const std::string& path,
                                                        const base::Limits& limits);

inline constexpr const char* kServiceAccountFolder =
    "/var/run/secrets/kubernetes.io/serviceaccount";

/// From KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT and the files of the service account.
[[nodiscard]] base::Result<ApiEndpoint> in_cluster(
    const base::Limits& limits, const std::string& folder = kServiceAccountFolder);

}  // namespace snug::kube
