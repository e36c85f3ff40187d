#include "ctl/connection.hpp"

#include <algorithm>
#include <utility>

#include "ctl/commands.hpp"
#include "snug/base/limits.hpp"
#include "snug/codec/repack_codec.hpp"
#include "snug/config/files.hpp"

namespace snug::ctl {
namespace {

constexpr const char* kDefaultServer = "http://127.0.0.1:8889";
constexpr const char* kFlagGroup = "How to reach Snug";
constexpr const char* kLivePath = "/livez";
constexpr int kHttpOk = 200;
constexpr int kHttpBadRequest = 400;
constexpr int kHttpUnauthorized = 401;
constexpr int kHttpNotFound = 404;

struct KubectlFlagRow {
  const char* name;
  const char* placeholder;
  const char* help;
  bool repeatable;
};
/// The flags of kubectl that are passed on to it unchanged.
constexpr KubectlFlagRow kKubectlFlags[] = {
    {"--context", "NAME", "the context of the kubeconfig file to use", false},
    {"--kubeconfig", "FILE", "the kubeconfig file to use", false},
    {"--cluster", "NAME", "the cluster of the kubeconfig file to use", false},
    {"--user", "NAME", "the user of the kubeconfig file to use", false},
    {"--as", "NAME", "the user to impersonate", false},
    {"--as-group", "NAME", "a group to impersonate; may be repeated", true},
};

/// Whether the Snug behind the connection decides, as GET /readyz says; `reply` receives the body.
bool decides(AdminConnection& connection, std::string& reply) {
  const base::Result<std::string> body = connection.get("/readyz");
  reply = body ? *body : "";
  return reply == "ok\n";
}

/// How to reach the server; its URL is empty if it is to be reached by a port-forward.
base::Result<http::AdminTarget> target_of(const ConnectionFlags& flags) {
  http::AdminTarget target{.url = flags.server.value_or(flags.use_kubectl() ? "" : kDefaultServer),
                           .ca_file = flags.ca_file,
                           .checks_certificate = !flags.skips_verification};
  if (flags.token_file.empty()) return target;
  base::Result<std::string> token = config::read_token_file(flags.token_file, base::Limits{});
  if (!token) return base::fail(token.error().code, "--token-file: " + token.error().message);
  target.token = *std::move(token);
  return target;
}

}  // namespace

bool ConnectionFlags::use_kubectl() const {
  return is_plugin() || !of_kubectl.empty() || snug_namespace != ConnectionFlags{}.snug_namespace;
}

KubectlFlags ConnectionFlags::kubectl_flags() const {
  KubectlFlags flags{.words = {}, .snug_namespace = snug_namespace};
  for (const auto& [name, values] : of_kubectl) {
    for (const std::string& value : values) {
      std::string& word = flags.words.emplace_back(name);
      word.append("=").append(value);
    }
  }
  return flags;
}

ServerOptions add_server_flags(CLI::App& command, ConnectionFlags& flags,
                               const std::string& server_help) {
  return {.server = command.add_option("--server", flags.server, server_help)->type_name("URL"),
          .of_server = {
              command
                  .add_option("--token-file", flags.token_file,
                              "a file with the token that Snug's admin port asks for (adminAuth)")
                  ->type_name("FILE"),
              command
                  .add_option("--ca-file", flags.ca_file,
                              "for https: the authorities (PEM) that may have signed Snug's "
                              "certificate; default: those that the system trusts")
                  ->type_name("FILE"),
              command.add_flag("--insecure-skip-tls-verify", flags.skips_verification,
                               "for https: accept any certificate")}};
}

void add_connection_flags(CLI::App& command, ConnectionFlags& flags) {
  const ServerOptions options = add_server_flags(
      command, flags,
      is_plugin() ? "URL of Snug's admin port; without this flag, Snug is reached by a kubectl "
                    "port-forward to its pod"
                  : std::string("URL of Snug's admin port; without this flag and those of "
                                "kubectl, ") +
                        kDefaultServer);
  options.server->group(kFlagGroup);
  for (CLI::Option* option : options.of_server) option->group(kFlagGroup);
  command
      .add_option("--snug-namespace", flags.snug_namespace,
                  "the namespace of Snug's pods, for the port-forward")
      ->type_name("NAME")
      ->capture_default_str()
      ->group(kFlagGroup);
  for (const KubectlFlagRow& row : kKubectlFlags) {
    CLI::Option* option = command.add_option_function<std::vector<std::string>>(
        row.name,
        [&flags, name = row.name](const std::vector<std::string>& values) {
          flags.of_kubectl[name] = values;
        },
        row.help);
    option->type_name(row.placeholder)->allow_extra_args(false)->group(kFlagGroup);
    if (!row.repeatable) option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  }
}

base::Result<std::string> default_namespace(const ConnectionFlags& flags) {
  if (!flags.use_kubectl()) return "default";
  return namespace_of_context(flags.kubectl_flags());
}

AdminConnection::AdminConnection(PortForward forward, http::AdminTarget target,
                                 const std::string& snug_namespace)
    : target_(std::move(target)),
      name_("pod " + snug_namespace + "/" + forward.pod.name),
      forward_(std::move(forward)) {
  target_.url = (forward_->pod.has_tls ? "https://127.0.0.1:" : "http://127.0.0.1:") +
                std::to_string(forward_->port);
  // The API server and the kubelet have authenticated the pod, whose certificate names no address
  // of this machine.
  target_.checks_certificate = false;
}

base::Result<AdminConnection> AdminConnection::open(const ConnectionFlags& flags) {
  base::Result<http::AdminTarget> target = target_of(flags);
  if (!target) return std::unexpected(target.error());
  if (!target->url.empty()) return AdminConnection(*std::move(target));
  if (!target->ca_file.empty()) {
    return base::fail(base::ErrorCode::kInvalid,
                      "--ca-file has no effect over a port-forward, which checks no certificate; "
                      "remove it, or name the port with --server");
  }
  const KubectlFlags kubectl = flags.kubectl_flags();
  base::Result<std::vector<SnugPod>> pods = list_snug_pods(kubectl);
  if (!pods) return std::unexpected(pods.error());
  // A standby names the leader, by its pod's uid.
  std::string reply;
  for (std::size_t i = 0; i < pods->size(); ++i) {
    const auto named = std::find_if(pods->begin() + static_cast<std::ptrdiff_t>(i), pods->end(),
                                    [&](const SnugPod& pod) { return reply.contains(pod.uid); });
    if (named != pods->end()) std::iter_swap(pods->begin() + static_cast<std::ptrdiff_t>(i), named);
    base::Result<PortForward> forward = start_port_forward(kubectl, (*pods)[i]);
    if (!forward && pods->size() == 1) return std::unexpected(forward.error());
    if (!forward) continue;
    AdminConnection connection(*std::move(forward), *target, flags.snug_namespace);
    if (pods->size() == 1 || decides(connection, reply)) return connection;
  }
  // Nobody decides, so any replica that answers has the same to say.
  base::Result<PortForward> forward = start_port_forward(kubectl, pods->front());
  if (!forward) return std::unexpected(forward.error());
  return AdminConnection(*std::move(forward), *std::move(target), flags.snug_namespace);
}

base::Result<std::string> AdminConnection::get(const std::string& path, const Query& query) {
  if (forward_) {
    forward_->process.drain();
    forward_->process.forget_complaints();
  }
  return body_of(http::get_from_admin(target_, path, query), path);
}

base::Result<std::string> AdminConnection::body_of(const base::Result<http::AdminResponse>& reply,
                                                   const std::string& path) {
  if (!reply && forward_) {
    forward_->process.drain();
    const std::string complaint = complaint_text(forward_->process.first_complaint());
    return base::fail(base::ErrorCode::kUnavailable,
                      "kubectl port-forward to " + name_ + " does not reach Snug: " +
                          (complaint.empty() ? reply.error().message : complaint));
  }
  if (!reply) return std::unexpected(reply.error());
  if (reply->status == kHttpOk) return reply->body;
  std::string sentence = codec::read_error_sentence(reply->body);
  if (reply->status == kHttpUnauthorized && !sentence.empty())
    sentence += "; give it with --token-file";
  const bool has_endpoint = !sentence.empty() && !sentence.starts_with("unknown path");
  if (reply->status == kHttpNotFound && !has_endpoint && path != kLivePath)
    return base::fail(base::ErrorCode::kUnavailable, why_unknown_path(path));
  return base::fail(reply->status == kHttpBadRequest ? base::ErrorCode::kInvalid
                    : reply->status == kHttpNotFound ? base::ErrorCode::kNotFound
                                                     : base::ErrorCode::kUnavailable,
                    sentence.empty()
                        ? name_ + " answers with status " + std::to_string(reply->status)
                        : sentence);
}

/// Why the server has no such endpoint.
std::string AdminConnection::why_unknown_path(const std::string& path) {
  const base::Result<std::string> alive = get(kLivePath);
  if (alive && *alive == "ok\n")
    return name_ + " has no " + path + ": this Snug is older than this snugctl";
  return name_ +
         " is not the admin address of snug-extender (adminListen, whose port is 8889 by default)";
}

}  // namespace snug::ctl
