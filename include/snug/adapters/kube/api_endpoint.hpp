// The address of the API server and the credentials for it, read from a kubeconfig or from the
// files of a pod's service account. Plain data. adapters/kube/credentials reads credential files
// again, since they are rotated. Loading fails with kTooLarge if a file is too large. It fails with
// kInvalid if a file, certificate, key or proxy cannot be used, or if the kubeconfig contains exec
// plug-ins, auth providers, passwords or impersonation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"

namespace snug::kube {

/// A credential, given as a text or as the path of a file whose content may change. If both are
/// empty, the credential is not given.
struct CredentialText {
  std::string text;
  std::string path;  // path of the file; used if `text` is empty

  [[nodiscard]] bool given() const { return !text.empty() || !path.empty(); }
};

struct ApiEndpoint {
  bool tls = true;
  std::string host;  // a host name or an IP address, without brackets
  std::uint16_t port = 443;
  std::string base_path;        // path of the server's URL without a final slash; usually empty
  std::string tls_server_name;  // name expected in the server's certificate; empty: `host`
  bool verify_server = true;
  /// URL of the proxy, scheme://[user[:password]@]host:port; empty: no proxy. As in client-go, it
  /// comes from `proxy-url` in the kubeconfig, or else from the environment variables HTTPS_PROXY,
  /// HTTP_PROXY and NO_PROXY.
  std::string proxy;
  CredentialText authorities;  // PEM; if not given, the authorities that the system trusts
  CredentialText token;
  CredentialText certificate;  // PEM: the client certificate, then its chain
  CredentialText key;          // PEM
};

/// Reads the current context of a kubeconfig. Relative paths in it start from the folder of the
/// kubeconfig file.
[[nodiscard]] base::Result<ApiEndpoint> load_kubeconfig(const std::string& path,
                                                        const base::Limits& limits);

inline constexpr const char* kServiceAccountFolder =
    "/var/run/secrets/kubernetes.io/serviceaccount";

/// Returns the API server of the cluster in which this pod runs, from KUBERNETES_SERVICE_HOST,
/// KUBERNETES_SERVICE_PORT and the service account's files in `folder`. `flags` are those that the
/// program takes outside of a pod, for the error.
[[nodiscard]] base::Result<ApiEndpoint> in_cluster(
    const base::Limits& limits, std::string_view flags,
    const std::string& folder = kServiceAccountFolder);

}  // namespace snug::kube
