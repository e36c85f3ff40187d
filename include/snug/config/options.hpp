// The settings of snug-extender: each is a key of the configuration file (--config, YAML) and a
// flag of the same name; flags win. An error names the flag, or the file's line and column, and
// says what is allowed. Only the command line and the configuration file are read: whether other
// files exist is checked where they are opened.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "snug/adapters/obs/log.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/leader/lease.hpp"
#include "snug/service/options.hpp"

namespace snug {

struct HostPort {
  std::string host;  // without brackets
  int port = 0;      // 0: the kernel picks one

  friend bool operator==(const HostPort&, const HostPort&) = default;
};

struct Options {
  /// Not empty: print this and exit 0 (--help, --version).
  std::string show;

  HostPort listen{"127.0.0.1", 8888};
  HostPort admin_listen{"127.0.0.1", 8889};
  std::string policy;                // file; empty: the policy that is compiled in
  std::string kubeconfig;            // file; empty: in-cluster
  std::vector<std::string> cluster;  // files; not empty: the embedded mode
  AnswerMode answer = AnswerMode::kAuto;
  int kubernetes_minor = 36;
  std::vector<std::string> scheduler_names;  // empty: serves all
  std::chrono::milliseconds api_timeout{1000};
  bool leader_elect = true;  // not in the embedded mode
  LeaseName lease{"snug", "snug-extender"};
  /// The Lease of the kube-scheduler that calls this Snug; both empty: Snug may lead on any host.
  LeaseName scheduler_lease;
  std::string tls_cert;  // file; empty: plain HTTP
  std::string tls_key;
  std::string client_ca;
  LogOptions log;
  Limits limits;
  /// Where the file last sets a limit on which a reservation's size depends, as
  /// `FILE:LINE:COLUMN: `; empty: nowhere, or a flag overrides it.
  std::string reservation_place;
};

/// Errors are kInvalid or kTooLarge, and mean exit code 2.
[[nodiscard]] Result<Options> read_options(int argc, const char* const* argv);
/// The configuration file alone. `source` names the text in messages; what the text does not set
/// stays as it is.
[[nodiscard]] Result<void> read_config(std::string_view yaml, std::string_view source,
                                       Options& options);

/// As the setting `answer` spells it.
[[nodiscard]] std::string_view answer_word(AnswerMode answer);
/// Whether the extender port can be reached from other machines without a client certificate.
[[nodiscard]] bool open_to_all(const Options& options);

}  // namespace snug
