#include "ctl/connection.hpp"

#include <algorithm>
#include <utility>

#include "ctl/commands.hpp"
#include "snug/codec/repack_codec.hpp"

namespace snug::ctl {
namespace {

constexpr const char* kDefaultServer = "http://127.0.0.1:8889";
constexpr const char* kFlagGroup = "How to reach Snug";
constexpr const char* kLivePath = "/livez";
constexpr int kHttpOk = 200;
constexpr int kHttpBadRequest = 400;
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

void add_connection_flags(CLI::App& command, ConnectionFlags& flags) {
  command
      .add_option("--server", flags.server,
                  is_plugin() ? "URL of Snug's admin port; without this flag, Snug is reached by "
                                "a kubectl port-forward to its pod"
                              : std::string("URL of Snug's admin port; without this flag and those "
                                            "of kubectl, ") +
                                    kDefaultServer)
      ->type_name("URL")
      ->group(kFlagGroup);
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

AdminConnection::AdminConnection(PortForward forward, const std::string& snug_namespace)
    : server_("http://127.0.0.1:" + std::to_string(forward.port)),
      name_("pod " + snug_namespace + "/" + forward.pod.name),
      forward_(std::move(forward)) {}

base::Result<AdminConnection> AdminConnection::open(const ConnectionFlags& flags) {
  if (flags.server) return AdminConnection(*flags.server);
  if (!flags.use_kubectl()) return AdminConnection(kDefaultServer);
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
    AdminConnection connection(*std::move(forward), flags.snug_namespace);
    if (pods->size() == 1 || decides(connection, reply)) return connection;
  }
  // Nobody decides, so any replica that answers has the same to say.
  base::Result<PortForward> forward = start_port_forward(kubectl, pods->front());
  if (!forward) return std::unexpected(forward.error());
  return AdminConnection(*std::move(forward), flags.snug_namespace);
}

base::Result<std::string> AdminConnection::get(const std::string& path, const Query& query) {
  if (forward_) {
    forward_->process.drain();
    forward_->process.forget_complaints();
  }
  return body_of(http::get_from_admin(server_, path, query), path);
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
  const std::string sentence = codec::read_error_sentence(reply->body);
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
