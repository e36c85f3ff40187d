#include "ctl/kubectl.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "snug/base/limits.hpp"
#include "snug/base/text.hpp"

namespace snug::ctl {
namespace {

constexpr const char* kPodLabel = "app.kubernetes.io/name=snug";
constexpr const char* kDefaultAdminPort = "8889";
// One line for each pod: name, uid, admin port, status of the condition Ready, time of deletion,
// scheme of the probe of the admin port.
constexpr const char* kPodColumns =
    "jsonpath={range .items[*]}{.metadata.name}{\"\\t\"}{.metadata.uid}{\"\\t\"}"
    "{.spec.containers[*].ports[?(@.name==\"admin\")].containerPort}{\"\\t\"}"
    "{.status.conditions[?(@.type==\"Ready\")].status}{\"\\t\"}"
    "{.metadata.deletionTimestamp}{\"\\t\"}"
    "{.spec.containers[?(@.name==\"extender\")].readinessProbe.httpGet.scheme}{\"\\n\"}{end}";

std::vector<std::string> kubectl_command(const KubectlFlags& flags,
                                         std::vector<std::string> words) {
  words.insert(words.begin(), "kubectl");
  words.insert(words.end(), flags.words.begin(), flags.words.end());
  return words;
}

std::string request_timeout() {
  return "--request-timeout=" + std::to_string(base::kKubectlTimeoutMs / 1'000) + "s";
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace

std::vector<SnugPod> read_pod_lines(std::string_view output) {
  std::vector<SnugPod> pods;
  for (const std::string_view line : split(output, '\n')) {
    const std::vector<std::string_view> fields = split(line, '\t');
    const bool is_ending = fields.size() > 4 && !fields[4].empty();
    if (fields.size() < 2 || is_ending) continue;
    const bool has_port = fields.size() > 2 && base::parse_integer(fields[2]).has_value();
    pods.push_back({.name = std::string(fields[0]),
                    .uid = std::string(fields[1]),
                    .port = std::string(has_port ? fields[2] : kDefaultAdminPort),
                    .is_ready = fields.size() > 3 && fields[3] == "True",
                    .has_tls = fields.size() > 5 && fields[5] == "HTTPS"});
  }
  std::ranges::stable_partition(pods, &SnugPod::is_ready);
  return pods;
}

std::optional<int> forwarded_port(std::string_view line) {
  constexpr std::string_view kBegin = "Forwarding from 127.0.0.1:";
  if (!line.starts_with(kBegin)) return std::nullopt;
  line.remove_prefix(kBegin.size());
  const auto port = base::parse_integer(line.substr(0, line.find(' ')));
  if (!port || *port < 1 || *port > 65'535) return std::nullopt;
  return static_cast<int>(*port);
}

std::string complaint_text(const std::string& line) {
  const bool is_log_line =
      line.size() > 6 && std::string_view("IWEF").contains(line.front()) &&
      std::all_of(line.begin() + 1, line.begin() + 5, [](char c) { return c >= '0' && c <= '9'; });
  const std::size_t end_of_header = line.find("] ");
  return is_log_line && end_of_header != std::string::npos ? line.substr(end_of_header + 2) : line;
}

base::Result<std::string> output_of_kubectl(const KubectlFlags& flags,
                                            std::vector<std::string> words,
                                            const std::string& purpose) {
  words.push_back(request_timeout());
  base::Result<FinishedProcess> finished =
      run_to_end(kubectl_command(flags, std::move(words)), flags.limit, flags.signals);
  if (!finished) return std::unexpected(finished.error());
  if (finished->exit_code == 0) return std::move(finished->output);
  return base::fail(base::ErrorCode::kUnavailable, "kubectl could not " + purpose +
                                                       " (its exit code is " +
                                                       std::to_string(finished->exit_code) + ")");
}

base::Result<void> create_object(const KubectlFlags& flags, const std::string& manifest) {
  const base::Result<FinishedProcess> finished = run_with_input(
      kubectl_command(flags, {"create", "--filename=-", "--output=name", request_timeout()}),
      manifest, flags.limit);
  if (!finished) return std::unexpected(finished.error());
  if (finished->exit_code == 0) return {};
  std::string complaint;
  for (const std::string_view line : split(finished->output, '\n')) {
    if (!line.starts_with("Warning:"))
      complaint += (complaint.empty() ? "" : " ") + std::string(line);
  }
  return base::fail(base::ErrorCode::kUnavailable, complaint_text(complaint));
}

base::Result<std::vector<SnugPod>> list_snug_pods(const KubectlFlags& flags) {
  const base::Result<std::string> output = output_of_kubectl(
      flags,
      {"get", "pods", "--namespace=" + flags.snug_namespace, std::string("--selector=") + kPodLabel,
       "--field-selector=status.phase=Running", std::string("--output=") + kPodColumns},
      "list the pods of namespace " + flags.snug_namespace);
  if (!output) return std::unexpected(output.error());
  std::vector<SnugPod> pods = read_pod_lines(*output);
  if (!pods.empty()) return pods;
  return base::fail(base::ErrorCode::kNotFound,
                    "namespace " + flags.snug_namespace + " has no running pod with the label " +
                        kPodLabel + "; if Snug runs in another one, name it with --snug-namespace");
}

base::Result<PortForward> start_port_forward(const KubectlFlags& flags, const SnugPod& pod) {
  base::Result<BackgroundProcess> process = BackgroundProcess::start(
      kubectl_command(flags, {"port-forward", "--namespace=" + flags.snug_namespace,
                              "--address=127.0.0.1", "pod/" + pod.name, ":" + pod.port}));
  if (!process) return std::unexpected(process.error());
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(base::kKubectlTimeoutMs);
  const auto time_left = [&] {
    return std::chrono::ceil<std::chrono::milliseconds>(deadline -
                                                        std::chrono::steady_clock::now());
  };
  while (const std::optional<std::string> line = process->next_line(time_left())) {
    if (const auto port = forwarded_port(*line))
      return PortForward{*std::move(process), pod, *port};
  }
  const std::string complaint = complaint_text(process->last_complaint());
  return base::fail(
      base::ErrorCode::kUnavailable,
      "kubectl port-forward to pod " + flags.snug_namespace + "/" + pod.name + " " +
          (!complaint.empty() ? "failed: " + complaint
           : time_left().count() > 0
               ? "ended without a word"
               : "was not ready within " + std::to_string(base::kKubectlTimeoutMs / 1'000) + " s"));
}

base::Result<std::string> namespace_of_context(const KubectlFlags& flags) {
  base::Result<std::string> output =
      output_of_kubectl(flags, {"config", "view", "--minify", "--output=jsonpath={..namespace}"},
                        "tell the namespace of the context");
  if (output && output->empty()) return "default";
  return output;
}

base::Result<std::vector<std::string>> select_nodes_by_label(const KubectlFlags& flags,
                                                             const std::string& selector) {
  const base::Result<std::string> output =
      output_of_kubectl(flags,
                        {"get", "nodes", "--selector=" + selector,
                         "--output=jsonpath={range .items[*]}{.metadata.name}{\"\\n\"}{end}"},
                        "list the nodes with the labels " + base::in_quotes(selector));
  if (!output) return std::unexpected(output.error());
  std::vector<std::string> names;
  for (const std::string_view line : split(*output, '\n')) names.emplace_back(line);
  std::ranges::sort(names);
  return names;
}

}  // namespace snug::ctl
