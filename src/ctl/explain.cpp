#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ctl/commands.hpp"
#include "ctl/connection.hpp"
#include "ctl/explain_text.hpp"
#include "snug/base/limits.hpp"
#include "snug/codec/explain_codec.hpp"
#include "snug/codec/pod_templates.hpp"
#include "snug/config/files.hpp"

namespace snug::ctl {
namespace {

constexpr const char* kExplainPath = "/v1/explain";
constexpr std::string_view kPodPrefix = "pod/";  // as `snugctl top pods -o name` prints it

struct ExplainFlags {
  std::string pod;  // POD or NAMESPACE/POD, perhaps behind kPodPrefix
  std::string file;
  std::optional<std::string> name_space;
  std::string output;
  ConnectionFlags connection;
};

std::unexpected<base::Error> other_namespace(const std::string& pod, const ExplainFlags& flags) {
  return base::fail(base::ErrorCode::kInvalid, pod + ", but --namespace is " +
                                                   flags.name_space.value_or("") +
                                                   "; expected the same namespace");
}

AdminConnection::Query with_nodes(AdminConnection::Query query, const ExplainFlags& flags) {
  if (flags.output == "wide" || flags.output == "json") query.emplace("nodes", "true");
  return query;
}

/// The length of the request target with this query, percent-encoded.
std::size_t target_bytes(const AdminConnection::Query& query) {
  constexpr std::string_view kUnreserved =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::size_t bytes = std::string_view(kExplainPath).size();
  for (const auto& [key, value] : query) {
    bytes += 2 + key.size();  // ?key=
    for (const char c : value) {
      bytes += kUnreserved.contains(c) ? 1 : 3;
    }
  }
  return bytes;
}

/// A question about one pod, and what the answer does not say.
struct Question {
  AdminConnection::Query query;
  std::string note;  // may be empty
};

/// The questions about the pods of the file, one for each. Warns of annotations in the wrong place.
base::Result<std::vector<Question>> questions_for_file(const ExplainFlags& flags,
                                                       const std::string& default_namespace) {
  const base::Limits limits;
  const auto text =
      config::read_file(flags.file == "-" ? "/dev/stdin" : flags.file, limits.max_config_bytes);
  if (!text) return std::unexpected(text.error());
  const auto pods = codec::read_pod_templates(*text, flags.file, default_namespace, limits);
  if (!pods) return std::unexpected(pods.error());
  std::vector<Question> questions;
  questions.reserve(pods->size());
  for (const auto& [pod, workload, misplaced_keys] : *pods) {
    if (flags.name_space && *flags.name_space != pod.name_space) {
      return other_namespace(
          flags.file + ": " + pod.name + " is of the namespace " + pod.name_space, flags);
    }
    const Question& question = questions.emplace_back(
        Question{with_nodes({{"manifest", codec::write_pod_manifest(pod)}}, flags),
                 workload.empty() ? "" : "this is about one pod of the " + workload});
    if (const std::size_t bytes = target_bytes(question.query); bytes > base::kMaxTargetBytes) {
      return base::fail(base::ErrorCode::kTooLarge,
                        flags.file + ": the pod " + pod.name_space + "/" + pod.name +
                            " is too large: a request about it has " + std::to_string(bytes) +
                            " bytes; Snug reads at most " + std::to_string(base::kMaxTargetBytes));
    }
    for (const std::string& sentence : misplaced_keys) warn(flags.file + ": " + sentence);
  }
  return questions;
}

/// The questions about the pods that the flags name, one for each.
base::Result<std::vector<Question>> questions_for(const ExplainFlags& flags) {
  const bool has_prefix = flags.pod.starts_with(kPodPrefix);
  const std::string pod = flags.pod.substr(has_prefix ? kPodPrefix.size() : 0);
  const std::size_t slash = pod.find('/');
  std::string name_space = flags.name_space.value_or("");
  if (slash != std::string::npos) {
    const std::string in_name = pod.substr(0, slash);
    if (flags.name_space && *flags.name_space != in_name)
      return other_namespace("the pod is given as " + flags.pod, flags);
    name_space = in_name;
  } else if (!flags.name_space) {
    auto from_context = default_namespace(flags.connection);
    if (!from_context) return std::unexpected(from_context.error());
    name_space = *std::move(from_context);
  }
  if (flags.file.empty()) {
    const std::string name = slash == std::string::npos ? pod : pod.substr(slash + 1);
    if (name.empty() || name_space.empty()) {
      return base::fail(base::ErrorCode::kInvalid,
                        "the pod is given as " + flags.pod + "; expected NAMESPACE/POD");
    }
    return std::vector{Question{with_nodes({{"namespace", name_space}, {"pod", name}}, flags), ""}};
  }
  return questions_for_file(flags, name_space);
}

int run(const ExplainFlags& flags) {
  if (flags.pod.empty() == flags.file.empty()) {
    return report_error(kExitUsage,
                        "explain takes a pod (NAMESPACE/POD) or --filename, and not both; see "
                        "--help");
  }
  const auto questions = questions_for(flags);
  if (!questions) return report_error(questions.error());
  base::Result<AdminConnection> snug = AdminConnection::open(flags.connection);
  if (!snug) return report_error(snug.error());
  std::string text;
  for (const auto& [query, note] : *questions) {
    const base::Result<std::string> body = snug->get(kExplainPath, query);
    if (!body) return report_error(body.error());
    const base::Result<codec::ExplainReply> reply = codec::read_explanation(*body);
    if (!reply) return report_error(kExitFailure, snug->name() + ": " + reply.error().message);
    if (flags.output == "json") {
      text += *body + "\n";
    } else {
      text += (text.empty() ? "" : "\n") + explain_text(*reply, flags.output == "wide");
      if (!note.empty()) text += "note: " + note + "\n";
    }
  }
  const auto printed = print(text);
  return printed ? kExitOk : report_error(kExitFailure, printed.error().message);
}

}  // namespace

void add_explain(CLI::App& app, Action& chosen_action) {
  CLI::App* command = app.add_subcommand(
      "explain",
      "Explains why a pod is pending and what would make it fit, or why it is on its node");
  const auto flags = std::make_shared<ExplainFlags>();
  command->add_option("pod", flags->pod, "the pod")->type_name("[NAMESPACE/]POD");
  command
      ->add_option("-f,--filename", flags->file,
                   "instead of a pod, a manifest of one that need not exist: a Pod, or a workload "
                   "such as a Deployment or a Job (YAML or JSON; - for stdin)")
      ->type_name("FILE");
  command
      ->add_option("-n,--namespace", flags->name_space,
                   "the namespace of the pod; default: that of kubectl's context")
      ->type_name("NAME");
  add_choice(*command, "-o,--output", flags->output, "wide|json",
             "wide: also the reason of each node; json: the reply unchanged");
  add_connection_flags(*command, flags->connection);
  command->callback([flags, &chosen_action] { chosen_action = [flags] { return run(*flags); }; });
}

}  // namespace snug::ctl
