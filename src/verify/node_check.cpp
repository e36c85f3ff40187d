#include "snug/verify/node_check.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "snug/agent/container_terms.hpp"
#include "snug/base/text.hpp"
#include "snug/verify/verify_limits.hpp"

namespace snug::verify {
namespace {

using model::ShareLimits;

constexpr std::string_view kVisible = "NVIDIA_VISIBLE_DEVICES";
constexpr std::string_view kCapabilities = "nvidia-caps/";
constexpr std::ptrdiff_t kCapabilitiesOfSlice = 2;  // its GPU instance and its compute instance

Check make_check(std::string what, std::string expected, std::string seen, bool holds) {
  return {std::move(what), std::move(expected), std::move(seen),
          holds ? CheckVerdict::kOk : CheckVerdict::kFailed};
}

std::string joined(const std::vector<std::string>& words, std::string_view nothing) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? std::string(nothing) : text;
}

/// Whether the node is that of a GPU, and not one that all containers with GPUs have.
bool is_gpu(const SeenNode& node) {
  constexpr std::string_view kBegin = "nvidia";
  return node.name.starts_with(kBegin) && base::parse_integer(node.name.substr(kBegin.size()));
}

std::string nodes_text(const Observation& seen) {
  std::vector<std::string> names;
  names.reserve(seen.nodes.size());
  for (const SeenNode& node : seen.nodes)
    names.push_back(node.name + (node.denied ? " (denied)" : ""));
  return joined(names, "no device node");
}

std::string variable_text(const Observation& seen, std::string_view name) {
  const auto found = seen.variables.find(std::string(name));
  return std::string(name) + (found == seen.variables.end() ? " is not set" : "=" + found->second);
}

/// Why there is no observation of the pod.
std::string end_text(const PodResult& pod) {
  const char* const what = pod.end == PodEnd::kNotCreated   ? "the pod could not be created"
                           : pod.end == PodEnd::kDenied     ? "admission refused the pod"
                           : pod.end == PodEnd::kNotPlaced  ? "the pod got no node"
                           : pod.end == PodEnd::kHindered   ? "the kubelet could not run the pod"
                           : pod.end == PodEnd::kNotStarted ? "the container did not start"
                           : pod.end == PodEnd::kRunning
                               ? "the container still runs after the time was over"
                               : "the container failed";
  return what + (pod.reason.empty() ? std::string() : ": " + pod.reason);
}

/// Whether the node had no part in that end, so that it says nothing about the node.
bool is_of_others(PodEnd end) {
  return end == PodEnd::kNotCreated || end == PodEnd::kNotPlaced || end == PodEnd::kHindered;
}

/// Whether admission refused the pod for this word; for another reason it proves nothing.
bool is_denied_for(const PodResult& pod, std::string_view word) {
  return pod.end == PodEnd::kDenied && pod.reason.contains(word);
}

std::span<const model::ReservedDevice> devices_of(const PodResult& pod) {
  if (!pod.reservation) return {};
  const auto found = std::ranges::find(pod.reservation->containers, kObserveContainer,
                                       &model::ReservedContainer::name);
  if (found == pod.reservation->containers.end()) return {};
  return found->devices();
}

/// The variables by which the enforcer limits this share.
std::vector<agent::Variable> limit_variables(const model::ReservedDevice& device,
                                             ShareLimits limits) {
  if (limits == ShareLimits::kMps && device.mode == model::GpuMode::kMps)
    return {agent::mps_memory_limit(device.memory), agent::mps_compute_limit(device.compute)};
  if (limits == ShareLimits::kHamiCore && device.mode == model::GpuMode::kTimeSlicing)
    return {agent::hami_memory_limit(0, device.memory), agent::hami_compute_limit(device.compute)};
  return {};
}

Check check_nodes(const PodResult& share, const model::ReservedDevice& device) {
  const auto gpus = std::ranges::count_if(share.seen.nodes, is_gpu);
  const bool is_denied = std::ranges::any_of(share.seen.nodes, &SeenNode::denied);
  const bool has_control = std::ranges::any_of(
      share.seen.nodes, [](const SeenNode& node) { return node.name == "nvidiactl"; });
  const auto capabilities = std::ranges::count_if(
      share.seen.nodes, [](const SeenNode& node) { return node.name.starts_with(kCapabilities); });
  const bool is_slice = device.mode == model::GpuMode::kMig;
  return make_check(
      "share: devices",
      is_slice ? "one GPU, the two nodes of its slice, nvidiactl" : "one GPU, nvidiactl",
      nodes_text(share.seen),
      gpus == 1 && capabilities == (is_slice ? kCapabilitiesOfSlice : 0) && has_control &&
          !is_denied);
}

Check check_variables(const PodResult& share, const model::ReservedDevice& device,
                      ShareLimits limits) {
  std::vector<std::string> expected{std::string(kVisible) + "=void"};
  for (const auto& [name, value] : limit_variables(device, limits))
    expected.emplace_back(name).append("=").append(value);
  std::vector<std::string> seen;
  seen.reserve(expected.size());
  for (const std::string& each : expected)
    seen.push_back(variable_text(share.seen, each.substr(0, each.find('='))));
  return make_check("share: variables", joined(expected, ""), joined(seen, ""), expected == seen);
}

Check check_library(const Observation& seen) {
  const std::string folder(agent::kLibraryFolder);
  const bool is_agents = seen.cuda.library.starts_with(folder + "/");
  return make_check("share: libraries", "libcuda.so.1 in " + folder,
                    seen.cuda.library.empty() ? seen.cuda.problem : seen.cuda.library, is_agents);
}

/// The uuid as CUDA has it: without `GPU-` or `MIG-`.
std::string_view bare(std::string_view uuid) {
  return uuid.starts_with("GPU-") || uuid.starts_with("MIG-") ? uuid.substr(4) : uuid;
}

Check check_cuda(const SeenCuda& cuda, const model::ReservedDevice& device) {
  const std::string& uuid = device.slice ? device.slice->uuid : device.uuid;
  const std::string expected = "one device, " + (uuid.empty() ? "of any uuid" : uuid);
  if (!cuda.problem.empty()) return make_check("share: CUDA", expected, cuda.problem, false);
  const bool is_own = uuid.empty() || cuda.uuid.empty() || cuda.uuid == bare(uuid);
  const std::string number =
      cuda.devices == 1 ? "one device" : std::to_string(cuda.devices) + " devices";
  return make_check("share: CUDA", expected,
                    number + ", " + (cuda.uuid.empty() ? "uuid unknown" : cuda.uuid),
                    cuda.devices == 1 && is_own);
}

Check check_slice_memory(const SeenCuda& cuda, const model::ReservedDevice& device) {
  const std::string expected =
      "the card limits it to " + std::to_string(device.memory.value) + " MiB";
  if (cuda.total_mib == 0)
    return {"share: memory", expected, cuda.problem, CheckVerdict::kNotChecked};
  return make_check("share: memory", expected, std::to_string(cuda.total_mib) + " MiB in total",
                    cuda.total_mib <= device.memory.value);
}

Check check_memory(const Observation& seen, const model::ReservedDevice& device,
                   ShareLimits limits) {
  if (device.mode == model::GpuMode::kMig) return check_slice_memory(seen.cuda, device);
  if (!is_memory_limited(limits))
    return {"share: memory", "-", "nobody limits it", CheckVerdict::kNotEnforced};
  const SeenAllocation& allocation = seen.allocation;
  const std::string share = std::to_string(device.memory.value);
  const std::string expected = "out of memory within " + share + " MiB";
  const std::string got = std::to_string(allocation.got_mib) + " MiB";
  if (allocation.wanted_mib <= device.memory.value)
    return {"share: memory", expected, "no allocation was tried", CheckVerdict::kNotChecked};
  if (allocation.got_mib > device.memory.value)
    return make_check("share: memory", expected, "allocated " + got, false);
  if (!seen.cuda.problem.empty())
    return {"share: memory", expected, seen.cuda.problem, CheckVerdict::kNotChecked};
  if (!allocation.out_of_memory)
    return make_check("share: memory", expected, "ended after " + got, false);
  if (allocation.got_mib * 2 < device.memory.value) {
    return {"share: memory", expected,
            "out of memory after " + got + ", far below the share: the card may be full",
            CheckVerdict::kNotChecked};
  }
  return make_check("share: memory", expected, "out of memory after " + got, true);
}

std::vector<Check> check_share(const PodResult& share, const NodeClaims& claims) {
  const std::string what = "share";
  const std::string expected = "runs with its GPU";
  const bool has_node = share.end == PodEnd::kNotStarted || share.end == PodEnd::kFailed;
  if (share.end != PodEnd::kObserved) {
    return {{what, expected, end_text(share),
             has_node ? CheckVerdict::kFailed : CheckVerdict::kNotChecked}};
  }
  const auto devices = devices_of(share);
  if (devices.empty()) {
    return {{what, expected,
             "the pod has no reservation: its scheduler does not ask Snug (--scheduler-name)",
             CheckVerdict::kNotChecked}};
  }
  std::vector<Check> checks{check_nodes(share, devices.front()),
                            check_variables(share, devices.front(), claims.limits),
                            check_library(share.seen)};
  if (!share.seen.cuda.library.empty())
    checks.push_back(check_cuda(share.seen.cuda, devices.front()));
  checks.push_back(check_memory(share.seen, devices.front(), claims.limits));
  if (!limit_variables(devices.front(), claims.limits).empty()) {
    checks.push_back({"share: a process that sets its limit again", "-",
                      "it has the limit that it sets, by design", CheckVerdict::kNotEnforced});
  }
  return checks;
}

Check check_greedy(const PodResult& pod) {
  const std::string what = "no reservation: NVIDIA_VISIBLE_DEVICES=all";
  const std::string expected = "no GPU";
  if (is_denied_for(pod, kVisible)) return make_check(what, expected, end_text(pod), true);
  if (pod.end == PodEnd::kNotStarted) return make_check(what, expected, end_text(pod), false);
  if (pod.end != PodEnd::kObserved)
    return {what, expected, end_text(pod), CheckVerdict::kNotChecked};
  const bool is_void = variable_text(pod.seen, kVisible) == std::string(kVisible) + "=void";
  return make_check(what, expected,
                    nodes_text(pod.seen) + ", " + variable_text(pod.seen, kVisible) +
                        (pod.seen.cuda.library.empty() ? "" : ", " + pod.seen.cuda.library),
                    pod.seen.nodes.empty() && is_void && pod.seen.cuda.library.empty());
}

Check check_forgery(const PodResult& pod, const std::string& key) {
  const std::string what = "no reservation: annotation " + key + "/…";
  const std::string expected = "refused";
  if (is_denied_for(pod, key)) return make_check(what, expected, end_text(pod), true);
  if (is_of_others(pod.end) || pod.end == PodEnd::kDenied || pod.end == PodEnd::kFailed)
    return {what, expected, end_text(pod), CheckVerdict::kNotChecked};
  if (pod.end == PodEnd::kObserved)
    return make_check(what, expected, "it runs, " + nodes_text(pod.seen), false);
  return make_check(what, expected, end_text(pod), pod.reason.contains(agent::kAsksByCdi));
}

}  // namespace

std::string isolation_to_ask(ShareLimits limits) {
  return limits == ShareLimits::kMps        ? "mps"
         : limits == ShareLimits::kHamiCore ? "time-slicing"
                                            : "";
}

bool is_memory_limited(ShareLimits limits) { return limits != ShareLimits::kNone; }

std::vector<Check> check_claims(const NodeClaims& claims) {
  const std::string label =
      claims.has_label ? "snug.dev/enforced=true" : "no label snug.dev/enforced";
  const std::string enforcement = (claims.fails_closed ? "fail-closed, " : "open, ") + label;
  Check closed = make_check("fails closed", "fail-closed, snug.dev/enforced=true", enforcement,
                            claims.fails_closed && claims.has_label);
  if (!claims.fails_closed && !claims.has_label) closed.verdict = CheckVerdict::kNotEnforced;
  const std::string limits(model::kShareLimitsNames[claims.limits]);
  return {make_check("heartbeat of the agent", "alive", claims.is_alive ? "alive" : "away",
                     claims.is_alive),
          std::move(closed),
          {"limits", "-", limits,
           is_memory_limited(claims.limits) ? CheckVerdict::kOk : CheckVerdict::kNotEnforced}};
}

std::vector<Check> check_pods(const NodeClaims& claims, const PodResults& results) {
  std::vector<Check> checks = check_share(results.share, claims);
  checks.push_back(check_greedy(results.greedy));
  checks.push_back(check_forgery(results.cdi, "cdi.k8s.io"));
  checks.push_back(check_forgery(results.toolkits_cdi, "nvidia.cdi.k8s.io"));
  return checks;
}

}  // namespace snug::verify
