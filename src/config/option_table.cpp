#include "config/option_table.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "config/option_values.hpp"
#include "snug/codec/admission_policies.hpp"
#include "snug/codec/object_names.hpp"
#include "snug/leader/election.hpp"

namespace snug::config {
namespace {

constexpr std::array<EnumWord<service::AnswerMode>, 4> kAnswers{
    {{"winner", service::AnswerMode::kWinner},
     {"all", service::AnswerMode::kAll},
     {"advise", service::AnswerMode::kAdvise},
     {"auto", service::AnswerMode::kAuto}}};

std::string set_answer(Options& options, std::string_view value) {
  return set_enum(options.answer, value, kAnswers);
}

std::string set_log_level(Options& options, std::string_view value) {
  return set_level(options.log, value);
}

std::string set_log_format(Options& options, std::string_view value) {
  return set_format(options.log, value);
}

std::string set_admin_auth(Options& options, std::string_view value) {
  static constexpr std::array<EnumWord<AdminAuth>, 3> kWords{
      {{"none", AdminAuth::kNone},
       {"token", AdminAuth::kToken},
       {"kubernetes", AdminAuth::kKubernetes}}};
  return set_enum(options.admin_auth, value, kWords);
}

std::string set_minor(Options& options, std::string_view value) {
  const auto number = parse_number(value);
  if (!number || *number < 28 || *number > 99) {
    return "must be the minor version of Kubernetes, an integer from 28 to 99";
  }
  options.kubernetes_minor = static_cast<int>(*number);
  return "";
}

/// Sets one end of the range of cards. 0 is as if the setting were not given.
template <base::MebiBytes admission::CardRange::* end>
std::string set_card_memory(Options& options, std::string_view value) {
  const auto number = parse_number(value);
  if (!number || *number > base::kLargestQuantity) {
    return "must be the memory of a GPU in MiB, an integer from 0 to " +
           std::to_string(base::kLargestQuantity);
  }
  admission::CardRange cards = options.mirrored_cards.value_or(admission::CardRange{});
  cards.*end = {*number};
  options.mirrored_cards.reset();
  if (cards != admission::CardRange{}) options.mirrored_cards = cards;
  return "";
}

std::string set_api_timeout(Options& options, std::string_view value) {
  return set_duration(options.api_timeout, value);
}

template <bool Options::* member>
std::string set_boolean(Options& options, std::string_view value) {
  if (value != "true" && value != "false") return "must be true or false";
  options.*member = value == "true";
  return "";
}

template <leader::LeaseName Options::* member>
std::string set_object(Options& options, std::string_view value) {
  const auto slash = value.find('/');
  const std::string_view name_space = value.substr(0, slash);
  const std::string_view name = slash == value.npos ? "" : value.substr(slash + 1);
  if (!codec::is_object_name(name_space) || !codec::is_object_name(name)) {
    return "must be NAMESPACE/NAME of a Lease, like kube-system/kube-scheduler";
  }
  options.*member = {std::string(name_space), std::string(name)};
  return "";
}

std::string add_scheduler_name(Options& options, std::string_view value) {
  if (value.empty() || value.find_first_of(", \t\r\n") != value.npos)
    return "must be the name of one scheduler, without commas or blanks";
  options.scheduler_names.emplace_back(value);
  return "";
}

std::string add_client_name(Options& options, std::string_view value) {
  // OpenSSL would accept every name that ends with `.name`.
  if (value.empty() || value.front() == '.' || value.find_first_of(", \t\r\n") != value.npos)
    return "must be one name in the clients' certificates, without commas, blanks or a leading dot";
  options.client_names.emplace_back(value);
  return "";
}

std::string add_toleration(Options& options, std::string_view value) {
  if (!codec::is_taint_key(value))
    return "must be the key of one taint, like nvidia.com/gpu, without commas";
  options.pod_tolerations.emplace_back(value);
  return "";
}

std::string set_runtime_class(Options& options, std::string_view value) {
  if (!codec::is_object_name(value)) return "must be the name of a RuntimeClass, like nvidia";
  options.pod_runtime_class = value;
  return "";
}

using Set = std::string (*)(Options&, std::string_view);

template <HostPort Options::* member>
std::string set_host_port(Options& options, std::string_view value) {
  return set_address(options.*member, value);
}

template <std::string Options::* member>
std::string set_file(Options& options, std::string_view value) {
  return set_text(options.*member, value);
}

std::string add_cluster_file(Options& options, std::string_view value) {
  return set_text(options.cluster.emplace_back(), value);
}

constexpr bool kUnquoted = true;
constexpr bool kMayBeQuoted = false;

constexpr auto kRows = std::to_array<OptionRow>({
    {"listen", "HOST:PORT", "address of the extender port, which kube-scheduler calls",
     "127.0.0.1:8888", set_host_port<&Options::listen>},
    {"adminListen", "HOST:PORT", "address of the admin port: health, metrics and state",
     "127.0.0.1:8889", set_host_port<&Options::admin_listen>},
    {"webhookListen", "HOST:PORT", "address of the admission webhook, which the API server calls",
     "no webhook", set_host_port<&Options::webhook_listen>},
    {"podTolerations", "KEY", "the webhook adds tolerations of these taints to GPU pods",
     "nvidia.com/gpu, snug.dev/only", add_toleration, &Options::pod_tolerations},
    {"podRuntimeClass", "NAME", "the webhook gives GPU pods without a runtime class this one",
     "none", set_runtime_class},
    {"policy", "FILE", "the policy file", "the built-in policy", set_file<&Options::policy>},
    {"answer", "winner|all|advise|auto",
     "whether filter returns only the best node or all feasible nodes", "auto", set_answer},
    {"kubeconfig", "FILE", "kubeconfig of the API server", "in-cluster configuration",
     set_file<&Options::kubeconfig>},
    {"cluster", "FILE", "manifests for an API server in memory, which replaces a real one",
     "a real API server", add_cluster_file, &Options::cluster},
    {"kubernetesMinor", "N", "the scheduler's minor version, 28 to 99", "36", set_minor, nullptr,
     kUnquoted},
    {"schedulerNames", "NAME", "serve only pods of these schedulers", "all", add_scheduler_name,
     &Options::scheduler_names},
    {"apiTimeout", "DURATION",
     "timeout of a call to the API server; less than a third of the scheduler's httpTimeout", "1s",
     set_api_timeout},
    {"tlsCert", "FILE", "certificate chain (PEM) of the extender port", "plain HTTP",
     set_file<&Options::tls_cert>},
    {"tlsKey", "FILE", "private key of the certificate in tlsCert (PEM)", "",
     set_file<&Options::tls_key>},
    {"clientCA", "FILE", "CA (PEM) that must have signed the certificate of each client", "",
     set_file<&Options::client_ca>},
    {"clientNames", "NAME",
     "clients of the extender port: the common name or a DNS name of their certificates",
     "all that clientCA has signed", add_client_name, &Options::client_names, kMayBeQuoted,
     "must have at least one name; without clientNames, all clients that clientCA has signed are "
     "accepted"},
    {"adminTlsCert", "FILE", "certificate chain (PEM) of the admin port",
     "plain HTTP, or with adminAuth a certificate that Snug signs itself",
     set_file<&Options::admin_tls_cert>},
    {"adminTlsKey", "FILE", "private key of the certificate in adminTlsCert (PEM)", "",
     set_file<&Options::admin_tls_key>},
    {"adminAuth", "none|token|kubernetes",
     "what a client of the admin port must show, except for probes: nothing, the token in "
     "adminTokenFile, or a token of a Kubernetes user who may get the path",
     "none", set_admin_auth},
    {"adminTokenFile", "FILE", "the token that adminAuth token accepts; it may change at any time",
     "", set_file<&Options::admin_token_file>},
    {"adminTenants", "true|false",
     "with adminAuth kubernetes, users who may list the pods of a namespace may read what Snug "
     "says of these pods",
     "false", set_boolean<&Options::admin_tenants>, nullptr, kUnquoted},
    {"leaderElect", "true|false", "answer calls only while this Snug holds the Lease", "true",
     set_boolean<&Options::leader_elect>, nullptr, kUnquoted},
    {"lease", "NAMESPACE/NAME", "Lease that all Snugs of a cluster share", "snug/snug-extender",
     set_object<&Options::lease>},
    {"schedulerLease", "NAMESPACE/NAME",
     "Lease of the kube-scheduler that calls Snug; the Snug on the same host as the holder of this "
     "Lease leads",
     "", set_object<&Options::scheduler_lease>},
    {"smallestGpuMib", "N",
     "memory in MiB of the cluster's smallest GPU; with largestGpuMib, nodes show GPU shares as "
     "extended resources",
     "0", set_card_memory<&admission::CardRange::smallest>, nullptr, kUnquoted},
    {"largestGpuMib", "N", "memory in MiB of the cluster's largest GPU", "0",
     set_card_memory<&admission::CardRange::largest>, nullptr, kUnquoted},
    {"removeMirrors", "true|false",
     "remove the resources that mirror shares from all nodes, and the object MirrorParameters; "
     "then exit. No other Snug may decide while this one runs",
     "false", set_boolean<&Options::remove_mirrors>, nullptr, kUnquoted},
    {"logLevel", "debug|info|warn|error", "lowest level that is logged", "info", set_log_level},
    {"logFormat", "text|json", "format of the log on standard error", "text", set_log_format},
    {"gpuMetrics", "true|false", "whether each GPU has metrics of its own", "true",
     set_boolean<&Options::gpu_metrics>, nullptr, kUnquoted},
});

}  // namespace

std::span<const OptionRow> option_rows() { return kRows; }

std::string_view answer_mode_name(service::AnswerMode answer) {
  return std::ranges::find(kAnswers, answer, &EnumWord<service::AnswerMode>::value)->text;
}

std::string set_limit(Options& options, std::string_view key, std::string_view value) {
  const auto rows = base::limit_rows();
  const auto row = std::ranges::find(rows, key, &base::LimitRow::key);
  if (row == rows.end()) {
    std::string allowed;
    for (const base::LimitRow& limit_row : rows) {
      allowed += (allowed.empty() ? "" : ", ") + std::string(limit_row.key);
    }
    return "is not a limit; the limits are " + allowed;
  }
  const auto number = parse_number(value);
  if (!number || *number < row->smallest || *number > row->largest) {
    return "must be an integer from " + std::to_string(row->smallest) + " to " +
           std::to_string(row->largest);
  }
  options.limits.*row->field = *number;
  return "";
}

namespace {

/// Checks that a leader's last bind always ends before another Snug can acquire the Lease, and that
/// a watch without events ends before it counts as silent.
base::Result<void> check_durations(const Options& options) {
  const base::Limits& limits = options.limits;
  const std::int64_t window = leader::unanswered_window(options.api_timeout, limits).count();
  const bool election = options.leader_elect && options.cluster.empty();
  if (election && limits.renew_deadline_ms + window > limits.lease_duration_ms) {
    return base::fail(
        base::ErrorCode::kInvalid,
        "leaseDurationMs (" + std::to_string(limits.lease_duration_ms) +
            ") must be at least renewDeadlineMs + 2 * apiTimeout + " +
            std::to_string(limits.clock_skew_ms) + " ms (" +
            std::to_string(limits.renew_deadline_ms + window) +
            "), so that a leader's last bind ends before another Snug can lead; raise "
            "leaseDurationMs, or lower apiTimeout");
  }
  if (limits.watch_silence_s <= 2 * limits.watch_timeout_s) {
    return base::fail(
        base::ErrorCode::kInvalid,
        "watchSilenceS must be above twice watchTimeoutS: a watch without events may send its "
        "first byte only when it ends");
  }
  return {};
}

/// Returns an error if schedulerLease would have no effect or names Snug's own Lease.
base::Result<void> check_election(const Options& options) {
  if (options.scheduler_lease.name.empty()) return {};
  if (!options.leader_elect) {
    return base::fail(
        base::ErrorCode::kInvalid,
        "schedulerLease has no effect without leader election; remove it, or set leaderElect "
        "to true");
  }
  if (options.scheduler_lease == options.lease) {
    return base::fail(base::ErrorCode::kInvalid,
                      "schedulerLease must be the Lease of the scheduler, like "
                      "kube-system/kube-scheduler, and not Snug's own");
  }
  return {};
}

base::Result<void> check_admin_access(const Options& options) {
  if (options.admin_tls_cert.empty() != options.admin_tls_key.empty()) {
    return base::fail(base::ErrorCode::kInvalid,
                      "adminTlsCert and adminTlsKey belong together; give both or neither");
  }
  if ((options.admin_auth == AdminAuth::kToken) == options.admin_token_file.empty()) {
    return base::fail(base::ErrorCode::kInvalid,
                      "adminTokenFile and adminAuth token belong together; give both or neither");
  }
  const bool asks_kubernetes = options.admin_auth == AdminAuth::kKubernetes;
  if (asks_kubernetes && !options.cluster.empty()) {
    return base::fail(base::ErrorCode::kInvalid,
                      "adminAuth kubernetes needs an API server, which the embedded mode lacks; "
                      "set it to none or token");
  }
  if (options.admin_tenants && !asks_kubernetes) {
    return base::fail(base::ErrorCode::kInvalid,
                      "adminTenants has no effect without adminAuth kubernetes; remove it");
  }
  return {};
}

base::Result<void> check_removal(const Options& options) {
  if (!options.remove_mirrors) return {};
  if (!options.cluster.empty() || !options.leader_elect || options.mirrored_cards) {
    return base::fail(base::ErrorCode::kInvalid,
                      "removeMirrors works on a real cluster, with leader election, and without "
                      "smallestGpuMib and largestGpuMib; remove the other settings");
  }
  return {};
}

base::Result<void> check_cards(const Options& options) {
  if (!options.mirrored_cards) return {};
  const auto [smallest, largest] = *options.mirrored_cards;
  if (smallest.value == 0 || largest.value == 0) {
    return base::fail(base::ErrorCode::kInvalid,
                      "smallestGpuMib and largestGpuMib belong together; give both or neither");
  }
  if (smallest > largest) {
    return base::fail(base::ErrorCode::kInvalid, "smallestGpuMib (" +
                                                     std::to_string(smallest.value) +
                                                     ") must be at most largestGpuMib (" +
                                                     std::to_string(largest.value) + ")");
  }
  return {};
}

}  // namespace

base::Result<void> check_consistency(const Options& options) {
  if (!options.kubeconfig.empty() && !options.cluster.empty()) {
    return base::fail(
        base::ErrorCode::kInvalid,
        "kubeconfig and cluster cannot both be set: the objects come from an API server or "
        "from files; give one of the two");
  }
  if (!options.webhook_listen.host.empty() && !options.cluster.empty()) {
    return base::fail(base::ErrorCode::kInvalid,
                      "webhookListen has no effect in the embedded mode, where no API server calls "
                      "a webhook; remove it");
  }
  if (options.tls_cert.empty() != options.tls_key.empty()) {
    return base::fail(base::ErrorCode::kInvalid,
                      "tlsCert and tlsKey belong together; give both or neither");
  }
  if (!options.client_ca.empty() && options.tls_cert.empty()) {
    return base::fail(base::ErrorCode::kInvalid,
                      "clientCA needs tlsCert and tlsKey; give them or remove it");
  }
  if (!options.client_names.empty() && options.client_ca.empty()) {
    return base::fail(base::ErrorCode::kInvalid,
                      "clientNames needs clientCA; give it, or remove clientNames");
  }
  if (base::Result<void> access = check_admin_access(options); !access) return access;
  if (base::Result<void> removal = check_removal(options); !removal) return removal;
  if (base::Result<void> cards = check_cards(options); !cards) return cards;
  if (base::Result<void> durations = check_durations(options); !durations) return durations;
  return check_election(options);
}

bool is_reachable_unauthenticated(const Options& options) {
  const std::string& host = options.listen.host;
  in_addr address{};
  const bool is_ipv4 = inet_pton(AF_INET, host.c_str(), &address) == 1;
  const bool loopback =
      host == "localhost" || host == "::1" || (is_ipv4 && host.starts_with("127."));
  return !loopback && options.client_ca.empty();
}

}  // namespace snug::config
