// kubectl, the program through which snugctl reaches a cluster: with its own flags, and so with the
// rights, logins and proxies of the person who runs it. The functions that read what kubectl prints
// are pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/child_process.hpp"
#include "snug/base/result.hpp"

namespace snug::ctl {

/// How a kubectl command names the cluster and the user.
struct KubectlFlags {
  std::vector<std::string> words;  // as on kubectl's command line: --context=prod, --as=jane
  std::string snug_namespace = "snug";
  TimeLimit limit;                                     // of output_of_kubectl() and create_object()
  TerminalSignals signals = TerminalSignals::kHeeded;  // of output_of_kubectl()
};

/// A pod that may be a Snug, as `kubectl get pods` shows it.
struct SnugPod {
  std::string name;
  std::string uid;
  std::string port;  // of its port named `admin`, or the default one
  bool is_ready = false;
  bool has_tls = false;  // on this port, as its readiness probe says
};

/// kubectl's port-forward to the admin port of one Snug.
struct PortForward {
  BackgroundProcess process;
  SnugPod pod;
  int port = 0;  // on 127.0.0.1
};

/// Reads the lines that `kubectl get pods` prints for list_snug_pods(). Pods that are ending are
/// left out; ready pods come first.
[[nodiscard]] std::vector<SnugPod> read_pod_lines(std::string_view output);
/// The port in kubectl's line `Forwarding from 127.0.0.1:PORT -> 8889`; nullopt for other lines.
[[nodiscard]] std::optional<int> forwarded_port(std::string_view line);

/// What kubectl complains of, without the time and place with which a line of its log begins.
[[nodiscard]] std::string complaint_text(const std::string& line);

/// Runs kubectl and returns its output. kubectl itself tells people on stderr why it failed; the
/// error says that it `could not PURPOSE`.
[[nodiscard]] base::Result<std::string> output_of_kubectl(const KubectlFlags& flags,
                                                          std::vector<std::string> words,
                                                          const std::string& purpose);
/// Creates an object from its manifest. The error message is what kubectl complains of.
[[nodiscard]] base::Result<void> create_object(const KubectlFlags& flags,
                                               const std::string& manifest);

/// Lists the pods of Snug. Fails if there is none.
[[nodiscard]] base::Result<std::vector<SnugPod>> list_snug_pods(const KubectlFlags& flags);
[[nodiscard]] base::Result<PortForward> start_port_forward(const KubectlFlags& flags,
                                                           const SnugPod& pod);
/// The namespace of the context; `default` if it sets none.
[[nodiscard]] base::Result<std::string> namespace_of_context(const KubectlFlags& flags);
/// The names of the nodes that a label selector matches, in bytewise order.
[[nodiscard]] base::Result<std::vector<std::string>> select_nodes_by_label(
    const KubectlFlags& flags, const std::string& selector);

}  // namespace snug::ctl
