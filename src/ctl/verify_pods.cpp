#include "ctl/verify_pods.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "ctl/commands.hpp"
#include "ctl/delayed_signals.hpp"
#include "snug/verify/verify_limits.hpp"

namespace snug::ctl {
namespace {

using verify::PodResult;
using verify::PodResults;
using verify_codec::CheckSettings;
using verify_codec::PodProgress;

/// Where the result of a pod belongs.
struct PodRow {
  const char* kind;
  PodResult PodResults::* result;
};
constexpr std::array kPodRows{PodRow{verify_codec::kSharePod, &PodResults::share},
                              PodRow{verify_codec::kGreedyPod, &PodResults::greedy},
                              PodRow{verify_codec::kCdiPod, &PodResults::cdi},
                              PodRow{verify_codec::kToolkitsCdiPod, &PodResults::toolkits_cdi}};

std::string selector_of(const CheckSettings& settings) {
  return "--selector=" + std::string(verify_codec::kRunLabel) + "=" + settings.run;
}

/// Policies and webhooks say that they denied the request; a lack of rights and the credential
/// plug-ins of kubectl say otherwise.
verify::PodEnd end_of_refusal(const std::string& complaint) {
  const bool is_denied =
      complaint.contains("denied request") || complaint.contains("denied the request");
  return is_denied ? verify::PodEnd::kDenied : verify::PodEnd::kNotCreated;
}

/// Creates the pods, and returns the number of those that the API server has taken.
std::size_t create_pods(const KubectlFlags& kubectl, const CheckSettings& settings,
                        const DelayedSignals& signals, PodResults& results) {
  std::size_t created = 0;
  for (const PodRow& row : kPodRows) {
    if (signals.has_come()) break;
    const auto done = create_object(kubectl, verify_codec::write_check_pod(settings, row.kind));
    if (done) {
      ++created;
    } else {
      results.*row.result = {.end = end_of_refusal(done.error().message),
                             .reason = done.error().message};
    }
  }
  return created;
}

base::Result<std::vector<PodProgress>> look_at_pods(const KubectlFlags& kubectl,
                                                    const CheckSettings& settings) {
  const auto output = output_of_kubectl(
      kubectl,
      {"get", "pods", "--namespace=" + settings.name_space, selector_of(settings), "--output=json"},
      "list the pods of the check");
  if (!output) return std::unexpected(output.error());
  return verify_codec::read_check_pods(*output);
}

void take_results(const std::vector<PodProgress>& pods, const CheckSettings& settings,
                  PodResults& results) {
  for (const PodProgress& pod : pods) {
    for (const PodRow& row : kPodRows) {
      if (pod.name == verify_codec::pod_name(settings, row.kind)) results.*row.result = pod.result;
    }
  }
}

/// Waits until all pods have ended or the time is over.
base::Result<void> wait_for_pods(const KubectlFlags& kubectl, const CheckSettings& settings,
                                 std::chrono::milliseconds limit, DelayedSignals& signals,
                                 PodResults& results) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!signals.has_come()) {
    const auto pods = look_at_pods(kubectl, settings);
    if (!pods) return std::unexpected(pods.error());
    take_results(*pods, settings, results);
    if (std::ranges::all_of(*pods, &PodProgress::is_final)) return {};
    if (std::chrono::steady_clock::now() >= deadline) return {};
    signals.wait(std::chrono::milliseconds(verify::kVerifyLookMs));
  }
  return base::fail(base::ErrorCode::kUnavailable, "interrupted");
}

/// Also where a pod may have been created and the reply was lost. A further Ctrl-C does not stop
/// it.
void remove_pods(KubectlFlags kubectl, const CheckSettings& settings) {
  kubectl.limit = std::chrono::milliseconds(verify::kVerifyRemoveMs);
  kubectl.signals = TerminalSignals::kIgnored;
  const std::string name_space = "--namespace=" + settings.name_space;
  const auto removed = output_of_kubectl(
      kubectl,
      {"delete", "pods", name_space, selector_of(settings), "--grace-period=1", "--wait=false"},
      "remove the pods of the check");
  if (removed) return;
  warn(removed.error().message + ": their containers end within " +
       std::to_string(settings.seconds_to_live) +
       " s of their start; remove them with `kubectl delete pods " + name_space + " " +
       selector_of(settings) + "`");
}

}  // namespace

base::Result<PodResults> run_check_pods(const KubectlFlags& flags, const CheckSettings& settings,
                                        std::chrono::milliseconds limit) {
  KubectlFlags kubectl = flags;
  kubectl.limit = std::chrono::milliseconds(verify::kVerifyKubectlMs);
  DelayedSignals signals;
  PodResults results;
  const std::size_t created = create_pods(kubectl, settings, signals, results);
  base::Result<void> waited;
  if (created > 0 || signals.has_come())
    waited = wait_for_pods(kubectl, settings, limit, signals, results);
  if (signals.has_come()) {
    warn("snugctl removes the pods of the check, which takes at most " +
         std::to_string(verify::kVerifyRemoveMs / 1'000) + " s");
  }
  remove_pods(kubectl, settings);
  if (!waited) return std::unexpected(waited.error());
  return results;
}

}  // namespace snug::ctl
