// The settings of snug-extender. Each is a key of the configuration file (--config, YAML) in
// camelCase and a flag in kebab-case; flags win. An error names the flag, or the file's line and
// column, and says what is allowed. Reads only the command line and that file: whoever opens the
// other files reports if one is missing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "snug/adapters/obs/log.hpp"
#include "snug/base/result.hpp"
#include "snug/leader/lease.hpp"
#include "snug/service/service_options.hpp"

namespace snug::config {

struct HostPort {
  std::string host;  // without brackets
  int port = 0;      // 0: the kernel picks one

  friend bool operator==(const HostPort&, const HostPort&) = default;
};

/// The settings that the service reads, and those of the program around it.
struct Options : service::ServiceOptions {
  /// Not empty: print this and exit 0 (--help, --version).
  std::string print_and_exit;

  HostPort listen{"127.0.0.1", 8888};
  HostPort admin_listen{"127.0.0.1", 8889};
  std::string policy;                // file; empty: the policy that is compiled in
  std::string kubeconfig;            // file; empty: in-cluster
  std::vector<std::string> cluster;  // files; not empty: the embedded mode
  bool leader_elect = true;          // not in the embedded mode
  leader::LeaseName lease{"snug", "snug-extender"};
  /// The Lease of the kube-scheduler that calls this Snug; both empty: Snug may lead on any host.
  leader::LeaseName scheduler_lease;
  std::string tls_cert;  // file; empty: plain HTTP
  std::string tls_key;
  std::string client_ca;
  obs::LogOptions log;
};

/// Errors are kInvalid or kTooLarge, and mean exit code 2.
[[nodiscard]] base::Result<Options> read_options(int argc, const char* const* argv);
/// The configuration file alone. `source` names the text in messages; what the text does not set
/// stays as it is.
[[nodiscard]] base::Result<void> read_config(std::string_view yaml, std::string_view source,
                                             Options& options);

/// As the setting `answer` spells it.
[[nodiscard]] std::string_view answer_mode_name(service::AnswerMode answer);
/// Whether the extender port can be reached from other machines without a client certificate.
[[nodiscard]] bool is_reachable_unauthenticated(const Options& options);

}  // namespace snug::config
