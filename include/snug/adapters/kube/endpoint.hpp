// Where the API server is and how to prove who we are: read from a kubeconfig or from the files
// that a pod finds in its container. Plain data; what stands in files is read again when it rotates
// (adapters/kube/credentials). Exec plug-ins, auth providers, passwords, impersonation and proxies
// are refused with one sentence. Reading checks that every file, certificate and key is usable.
#pragma once

#include <cstdint>
#include <string>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"

namespace snug {

/// A text given in place, or a file that holds it and may change. Both empty: not given.
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
  CredentialText authorities;  // PEM; not given: the system's
  CredentialText token;
  CredentialText certificate;  // PEM, the chain behind it included
  CredentialText key;          // PEM
};

/// The current context of a kubeconfig. Relative paths in it are relative to it.
[[nodiscard]] Result<ApiEndpoint> load_kubeconfig(const std::string& path, const Limits& limits);

inline constexpr const char* kServiceAccountFolder =
    "/var/run/secrets/kubernetes.io/serviceaccount";

/// From KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT and the service account's files.
[[nodiscard]] Result<ApiEndpoint> in_cluster(const Limits& limits,
                                             const std::string& folder = kServiceAccountFolder);

}  // namespace snug
