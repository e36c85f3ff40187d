// How snugctl's subcommands reach the admin port of Snug: by its URL (--server), or by a `kubectl
// port-forward` that the connection starts, and ends when it is destroyed. The plug-in of kubectl
// does the latter unless --server is given; snugctl does it if any of kubectl's flags is given.
#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ctl/kubectl.hpp"
#include "snug/adapters/http/admin_client.hpp"
#include "snug/base/result.hpp"

namespace snug::ctl {

/// The flags of a subcommand that asks Snug.
struct ConnectionFlags {
  std::optional<std::string> server;
  std::string token_file;
  std::string ca_file;
  bool skips_verification = false;
  std::map<std::string, std::vector<std::string>> of_kubectl;  // values by the name of the flag
  std::string snug_namespace = "snug";

  /// Whether kubectl is to be used at all: the program is its plug-in, or has one of its flags.
  [[nodiscard]] bool use_kubectl() const;
  [[nodiscard]] KubectlFlags kubectl_flags() const;
};

struct ServerOptions {
  CLI::Option* server;
  std::array<CLI::Option*, 3> of_server;  // its token and certificate
};

/// Adds the flags by which the server at a URL is reached: --server with this help text, and those
/// of its token and certificate. `flags` must live as long as the command.
ServerOptions add_server_flags(CLI::App& command, ConnectionFlags& flags,
                               const std::string& server_help);
/// Adds these and the flags of a port-forward.
void add_connection_flags(CLI::App& command, ConnectionFlags& flags);

/// The namespace of a pod for which none is given: that of kubectl's context if kubectl is used,
/// `default` otherwise.
[[nodiscard]] base::Result<std::string> default_namespace(const ConnectionFlags& flags);

class AdminConnection {
 public:
  using Query = std::multimap<std::string, std::string>;

  /// Finds Snug: of several replicas, the one that decides. Only starts a port-forward if there is
  /// no --server, and otherwise sends nothing.
  [[nodiscard]] static base::Result<AdminConnection> open(const ConnectionFlags& flags);

  /// The body of the reply to GET. Errors, each one sentence: kInvalid if a flag is wrong
  /// or if Snug refuses the query (status 400); kNotFound if Snug knows
  /// no such object (404); kUnavailable and others if there is no such reply.
  [[nodiscard]] base::Result<std::string> get(const std::string& path, const Query& query = {});
  /// How an error message names the server.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  explicit AdminConnection(http::AdminTarget target)
      : target_(std::move(target)), name_(target_.url) {}
  AdminConnection(PortForward forward, http::AdminTarget target, const std::string& snug_namespace);
  [[nodiscard]] base::Result<std::string> body_of(const base::Result<http::AdminResponse>& reply,
                                                  const std::string& path);
  [[nodiscard]] std::string why_unknown_path(const std::string& path);

  http::AdminTarget target_;
  std::string name_;
  std::optional<PortForward> forward_;
};

}  // namespace snug::ctl
