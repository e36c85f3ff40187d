// The settings of snug-extender. Each setting is a key of the configuration file (--config, YAML)
// in camelCase and a flag in kebab-case. A flag overrides the file. An error message names the
// flag, or the file's line and column, and says what is allowed. read_options() opens only the
// configuration file. If another file that a setting names is missing, the error comes later, from
// the code that opens it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "snug/adapters/obs/log.hpp"
#include "snug/admission/pod_defaults.hpp"
#include "snug/base/result.hpp"
#include "snug/leader/lease.hpp"
#include "snug/service/service_options.hpp"

namespace snug::config {

struct HostPort {
  std::string host;  // an IPv6 host has no brackets
  int port = 0;      // 0: the kernel chooses a port

  friend bool operator==(const HostPort&, const HostPort&) = default;
};

/// What a client of the admin port must show.
enum class AdminAuth : std::uint8_t {
  kNone,
  kToken,       // the token in a file
  kKubernetes,  // a token that the API server accepts, of a user with the rights
};

/// All settings of the program. The base class has those that the service reads.
struct Options : service::ServiceOptions {
  /// The text of --help or --version. If it is not empty, the program prints it and exits with 0.
  std::string print_and_exit;

  HostPort listen{"127.0.0.1", 8888};
  HostPort admin_listen{"127.0.0.1", 8889};
  HostPort webhook_listen;  // empty host: there is no webhook
  std::vector<std::string> pod_tolerations = admission::PodDefaults{}.tolerations;
  std::string pod_runtime_class;     // empty: none
  std::string policy;                // path; empty: the built-in policy
  std::string kubeconfig;            // path; empty: in-cluster configuration
  std::vector<std::string> cluster;  // paths of manifests; not empty: the embedded mode
  bool leader_elect = true;          // ignored in the embedded mode
  leader::LeaseName lease{"snug", "snug-extender"};
  /// The Lease of the kube-scheduler that calls this Snug. If namespace and name are empty, this
  /// Snug can lead on any host.
  leader::LeaseName scheduler_lease;
  std::string tls_cert;  // path; empty: plain HTTP
  std::string tls_key;
  std::string client_ca;
  std::vector<std::string> client_names;  // of clients' certificates; empty: any name
  /// Path; empty: plain HTTP, or, if admin_auth is not kNone, a certificate that Snug signs itself.
  std::string admin_tls_cert;
  std::string admin_tls_key;
  AdminAuth admin_auth = AdminAuth::kNone;
  std::string admin_token_file;  // path; for AdminAuth::kToken
  bool admin_tenants = false;    // for AdminAuth::kKubernetes
  bool remove_mirrors = false;   // remove what mirrors shares from the cluster, and exit
  obs::LogOptions log;
  bool gpu_metrics = true;  // whether each GPU has metrics of its own
};

/// Reads the settings from the command line and from the file that --config names. An error is
/// kInvalid or kTooLarge, and the program exits with code 2.
[[nodiscard]] base::Result<Options> read_options(int argc, const char* const* argv);
/// Sets in `options` the settings that a configuration file with the text `yaml` has. Other
/// settings keep their values. Error messages call the text `source`.
[[nodiscard]] base::Result<void> read_config(std::string_view yaml, std::string_view source,
                                             Options& options);

/// Returns the value of the setting `answer` that selects this mode, like `winner`.
[[nodiscard]] std::string_view answer_mode_name(service::AnswerMode answer);
/// Returns whether the extender port accepts requests from other machines without a client
/// certificate.
[[nodiscard]] bool is_reachable_unauthenticated(const Options& options);

}  // namespace snug::config
