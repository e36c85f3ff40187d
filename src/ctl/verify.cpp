// `snugctl verify`: checks on a node what its agent enforces, by pods that it creates there.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "ctl/commands.hpp"
#include "ctl/connection.hpp"
#include "ctl/terminal.hpp"
#include "ctl/verify_pods.hpp"
#include "ctl/verify_text.hpp"
#include "snug/base/text.hpp"
#include "snug/codec/admin_replies.hpp"
#include "snug/verify/verify_limits.hpp"
#include "snug/verify_codec/observation_codec.hpp"

namespace snug::ctl {
namespace {

constexpr const char* kNodesPath = "/v1/nodes";
constexpr std::int64_t kLargestUser = 2'147'483'647;

struct VerifyFlags {
  std::string node;
  std::string name_space = "default";
  std::string agent_namespace = "snug-node";
  std::string image;
  std::string scheduler;
  std::int64_t memory_mib = 2'048;
  std::optional<std::int64_t> user;
  std::int64_t timeout_s = 90;
  std::string output;
  ConnectionFlags connection;
};

/// What Snug says of the node. Fails if the node has no agent.
base::Result<codec::ShownAgent> read_agent(const VerifyFlags& flags) {
  base::Result<AdminConnection> snug = AdminConnection::open(flags.connection);
  if (!snug) return std::unexpected(snug.error());
  const auto reply = snug->get(kNodesPath, {{"name", flags.node}});
  if (!reply) return std::unexpected(reply.error());
  const auto nodes = codec::read_nodes_reply(*reply);
  if (!nodes)
    return base::fail(base::ErrorCode::kUnavailable, snug->name() + ": " + nodes.error().message);
  if (nodes->size() == 1) {
    const auto& agent = nodes->front().agent;
    if (agent) return *agent;
  }
  return base::fail(base::ErrorCode::kNotFound,
                    "node " + flags.node +
                        " has no inventory of an agent, so there is nothing "
                        "to check; see docs/how-to/agent.md");
}

std::unexpected<base::Error> unknown_word(const std::string& key, const std::string& word) {
  return base::fail(base::ErrorCode::kUnavailable, "the inventory says " + key + " " + word +
                                                       ", which this snugctl does not know");
}

base::Result<verify::NodeClaims> read_claims(const VerifyFlags& flags,
                                             const KubectlFlags& kubectl) {
  const auto agent = read_agent(flags);
  if (!agent) return std::unexpected(agent.error());
  const auto label = output_of_kubectl(
      kubectl,
      {"get", "node", flags.node, "--output=jsonpath={.metadata.labels.snug\\.dev/enforced}"},
      "read the labels of the node");
  if (!label) return std::unexpected(label.error());
  const std::string& limits_name = agent->limits;
  const auto limits =
      limits_name.empty() ? model::ShareLimits::kNone : model::kShareLimitsNames.find(limits_name);
  if (!limits) return unknown_word("limits", limits_name);
  const auto enforcement = model::kEnforcementNames.find(agent->enforcement);
  if (!enforcement) return unknown_word("enforcement", agent->enforcement);
  return verify::NodeClaims{.is_alive = agent->alive,
                            .fails_closed = *enforcement == model::Enforcement::kFailClosed,
                            .has_label = *label == "true",
                            .limits = *limits};
}

/// That of the DaemonSet of agents, which the nodes have already.
base::Result<std::string> find_image(const VerifyFlags& flags, const KubectlFlags& kubectl) {
  if (!flags.image.empty()) return flags.image;
  auto image = output_of_kubectl(
      kubectl,
      {"get", "daemonset", "snug-agent", "--namespace=" + flags.agent_namespace,
       "--output=jsonpath={.spec.template.spec.containers[?(@.name==\"agent\")].image}"},
      "read the image of the DaemonSet snug-agent; name it with --image");
  if (!image) return std::unexpected(image.error());
  if (!image->empty()) return image;
  return base::fail(base::ErrorCode::kNotFound,
                    "the DaemonSet snug-agent has no container agent; name the image with --image");
}

std::string random_run() {
  constexpr const char* kDigits = "0123456789abcdef";
  std::random_device random;
  std::string run;
  for (int i = 0; i < 8; ++i) run += kDigits[random() % 16];
  return run;
}

base::Result<std::vector<verify::Check>> check_node(const VerifyFlags& flags) {
  const KubectlFlags kubectl = flags.connection.kubectl_flags();
  const auto claims = read_claims(flags, kubectl);
  if (!claims) return std::unexpected(claims.error());
  auto image = find_image(flags, kubectl);
  if (!image) return std::unexpected(image.error());
  const std::chrono::seconds limit(flags.timeout_s);
  const bool allocates = verify::is_memory_limited(claims->limits);
  const verify_codec::CheckSettings settings{
      .run = random_run(),
      .node = flags.node,
      .name_space = flags.name_space,
      .image = *std::move(image),
      .scheduler = flags.scheduler,
      .memory_mib = flags.memory_mib,
      .isolation = verify::isolation_to_ask(claims->limits),
      .allocate_mib = allocates ? flags.memory_mib + verify::kBeyondShareMib : 0,
      .user = flags.user,
      .seconds_to_live = flags.timeout_s + verify::kLeftPodSeconds};
  const auto results = run_check_pods(kubectl, settings, limit);
  if (!results) return std::unexpected(results.error());
  std::vector<verify::Check> checks = verify::check_claims(*claims);
  std::ranges::move(verify::check_pods(*claims, *results), std::back_inserter(checks));
  return checks;
}

int run_verify(const VerifyFlags& flags) {
  const auto checks = check_node(flags);
  if (!checks) {
    const bool is_usage = checks.error().code == base::ErrorCode::kInvalid;
    return report_error(is_usage ? kExitUsage : kExitNotChecked, checks.error().message);
  }
  TextStyle style = style_of_stdout("auto");
  style.width = 0;  // what was seen is never cut off
  const auto printed =
      print(flags.output == "json" ? verify_codec::write_checks(flags.node, *checks) + "\n"
                                   : verify_text(flags.node, *checks, style));
  return printed ? verify_exit_code(*checks) : report_error(printed.error());
}

/// Adds a flag with a whole number from `least` to `most`.
template <typename Number>
CLI::Option* add_number(CLI::App& command, const std::string& flag, Number& value,
                        std::int64_t least, std::int64_t most, const std::string& help) {
  const auto check = [least, most](const std::string& text) {
    const auto number = base::parse_integer(text);
    return number && *number >= least && *number <= most
               ? ""
               : "must be a whole number from " + std::to_string(least) + " to " +
                     std::to_string(most);
  };
  return command.add_option(flag, value, help)->check(CLI::Validator(check, ""));
}

void add_pod_flags(CLI::App& command, VerifyFlags& flags) {
  command.add_option("-n,--namespace", flags.name_space, "the namespace of the pods")
      ->type_name("NAME")
      ->capture_default_str();
  command
      .add_option("--image", flags.image,
                  "an image with /usr/bin/snug-observe; default: that of the DaemonSet snug-agent")
      ->type_name("IMAGE");
  command
      .add_option("--agent-namespace", flags.agent_namespace,
                  "the namespace of the DaemonSet snug-agent")
      ->type_name("NAME")
      ->capture_default_str();
  command
      .add_option("--scheduler-name", flags.scheduler,
                  "the scheduler that asks Snug, for clusters whose admission does not set it")
      ->type_name("NAME");
  add_number(command, "--memory-mib", flags.memory_mib, 1, verify::kLargestAllocationMib / 2,
             "the memory of the share, in MiB")
      ->type_name("N")
      ->capture_default_str();
  add_number(command, "--run-as-user", flags.user, 0, kLargestUser,
             "the user id of the pods, for nodes whose other pods use MPS as this user; "
             "default: that of the image")
      ->type_name("UID");
  add_number(command, "--timeout", flags.timeout_s, verify::kMinVerifySeconds,
             verify::kMaxVerifySeconds, "how many seconds to wait for the pods")
      ->type_name("SECONDS")
      ->capture_default_str();
}

}  // namespace

void add_verify(CLI::App& app, Action& chosen_action) {
  CLI::App* command = app.add_subcommand(
      "verify", "Checks what the agent of a node enforces, by pods that it creates there");
  const auto flags = std::make_shared<VerifyFlags>();
  command->add_option("node", flags->node, "the node")->type_name("NODE")->required();
  add_pod_flags(*command, *flags);
  add_choice(*command, "-o,--output", flags->output, "json", "json: the rows as JSON");
  add_connection_flags(*command, flags->connection);
  command->footer(
      "The exit code is 0 if all checks could be made and none failed, 1 if a check failed, 2 if a "
      "flag is wrong, and 3 if no check failed but one or more could not be made: their rows say "
      "`not checked`, or a message says why there are no rows, for instance because the node has "
      "no agent or Snug cannot be reached.");
  command->callback(
      [flags, &chosen_action] { chosen_action = [flags] { return run_verify(*flags); }; });
}

}  // namespace snug::ctl
