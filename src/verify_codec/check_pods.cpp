#include "snug/verify_codec/check_pods.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "snug/agent/container_terms.hpp"
#include "snug/base/limits.hpp"
#include "snug/codec/reservation_codec.hpp"
#include "snug/verify_codec/observation_codec.hpp"

namespace snug::verify_codec {
namespace {

using PodJson = nlohmann::json;

/// Meets Pod Security `restricted` unless its user is 0, so that every namespace takes the pods.
PodJson container_of(const CheckSettings& settings, bool allocates) {
  PodJson arguments = PodJson::array({"--result=/dev/termination-log"});
  if (allocates && settings.allocate_mib > 0)
    arguments.push_back("--allocate-mib=" + std::to_string(settings.allocate_mib));
  return {{"name", verify::kObserveContainer},
          {"image", settings.image},
          {"imagePullPolicy", "IfNotPresent"},
          {"command", {"/usr/bin/snug-observe"}},
          {"args", std::move(arguments)},
          {"resources",
           {{"requests", {{"cpu", "10m"}, {"memory", "64Mi"}}}, {"limits", {{"memory", "2Gi"}}}}},
          {"securityContext",
           {{"allowPrivilegeEscalation", false},
            {"readOnlyRootFilesystem", true},
            {"capabilities", {{"drop", {"ALL"}}}}}}};
}

/// Places the pod with a share by its scheduler, which asks Snug, and the others at once.
void place(PodJson& spec, const CheckSettings& settings, bool has_share) {
  if (!has_share) {
    spec["nodeName"] = settings.node;
    return;
  }
  const PodJson name = {{"key", "metadata.name"}, {"operator", "In"}, {"values", {settings.node}}};
  const PodJson term = {{"matchFields", PodJson::array({name})}};
  spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
      ["nodeSelectorTerms"] = PodJson::array({term});
  if (!settings.scheduler.empty()) spec["schedulerName"] = settings.scheduler;
}

std::string text_at(const PodJson& json, const PodJson::json_pointer& path) {
  const PodJson value = json.value(path, PodJson(""));
  return value.is_string() ? value.get<std::string>() : "";
}

/// The state of the container that observes: an object with `running`, `waiting` or `terminated`.
PodJson state_of(const PodJson& pod) {
  for (const PodJson& container :
       pod.value("status", PodJson::object()).value("containerStatuses", PodJson::array())) {
    if (container.value("name", "") == verify::kObserveContainer)
      return container.value("state", PodJson::object());
  }
  return PodJson::object();
}

/// Reasons for which the kubelet does not even ask the runtime for the container.
bool is_hindrance(const std::string& reason) {
  return reason == "ErrImagePull" || reason == "ImagePullBackOff" || reason == "InvalidImageName" ||
         reason == "ErrImageNeverPull" || reason == "CreateContainerConfigError";
}

void read_waiting(const PodJson& waiting, PodProgress& progress) {
  const std::string reason = waiting.value("reason", "");
  verify::PodResult& result = progress.result;
  result.end = is_hindrance(reason) ? verify::PodEnd::kHindered : verify::PodEnd::kNotStarted;
  result.reason = waiting.value("message", reason);
  progress.is_final = result.reason.contains(agent::kAsksByCdi);
}

void read_reservation(const PodJson& pod, verify::PodResult& result) {
  using namespace nlohmann::literals;
  const std::string text = text_at(pod, "/metadata/annotations/snug.dev~1reservation"_json_pointer);
  if (text.empty()) return;
  if (auto parsed = codec::read_reservation(text, base::Limits{}))
    result.reservation = std::move(parsed->reservation);
}

void read_end(const PodJson& terminated, verify::PodResult& result) {
  const std::string message = terminated.value("message", "");
  if (auto seen = read_observation(message)) {
    result.end = verify::PodEnd::kObserved;
    result.seen = *std::move(seen);
    return;
  }
  result.end = verify::PodEnd::kFailed;
  result.reason = terminated.value("reason", "") + ", exit code " +
                  std::to_string(terminated.value("exitCode", std::int64_t{-1})) +
                  (message.empty() ? "" : ": " + message);
}

/// Why the pod has no node, as its scheduler says.
std::string placing_text(const PodJson& pod) {
  for (const PodJson& condition :
       pod.value("status", PodJson::object()).value("conditions", PodJson::array())) {
    if (condition.value("type", "") == "PodScheduled") return condition.value("message", "");
  }
  return "no scheduler has tried it (--scheduler-name)";
}

PodProgress progress_of(const PodJson& pod) {
  using namespace nlohmann::literals;
  PodProgress progress{.name = pod.at("metadata").at("name").get<std::string>()};
  verify::PodResult& result = progress.result;
  read_reservation(pod, result);
  const PodJson state = state_of(pod);
  if (state.contains("terminated")) {
    progress.is_final = true;
    read_end(state["terminated"], result);
  } else if (text_at(pod, "/spec/nodeName"_json_pointer).empty()) {
    result.end = verify::PodEnd::kNotPlaced;
    result.reason = placing_text(pod);
  } else if (text_at(pod, "/status/phase"_json_pointer) == "Failed") {
    progress.is_final = true;
    result.end = verify::PodEnd::kHindered;
    result.reason = text_at(pod, "/status/reason"_json_pointer) + ": " +
                    text_at(pod, "/status/message"_json_pointer);
  } else if (state.contains("running")) {
    result.end = verify::PodEnd::kRunning;
  } else {
    read_waiting(state.value("waiting", PodJson::object()), progress);
  }
  return progress;
}

}  // namespace

std::string pod_name(const CheckSettings& settings, std::string_view kind) {
  return "snug-verify-" + settings.run + "-" + std::string(kind);
}

std::string write_check_pod(const CheckSettings& settings, std::string_view kind) {
  const bool has_share = kind == kSharePod;
  PodJson annotations = PodJson::object();
  PodJson container = container_of(settings, has_share);
  if (has_share) {
    annotations["gpu-memory"] = std::to_string(settings.memory_mib) + "Mi";
    if (!settings.isolation.empty()) annotations["gpu-isolation"] = settings.isolation;
  } else if (kind == kCdiPod) {
    annotations["cdi.k8s.io/snug-verify"] = "nvidia.com/gpu=all";
  } else if (kind == kToolkitsCdiPod) {
    annotations["nvidia.cdi.k8s.io/container.observe"] = "nvidia.com/gpu=all";
  } else {
    container["env"] = PodJson::array({{{"name", "NVIDIA_VISIBLE_DEVICES"}, {"value", "all"}}});
  }
  PodJson context = {{"runAsNonRoot", settings.user.value_or(1) != 0},
                     {"seccompProfile", {{"type", "RuntimeDefault"}}}};
  if (settings.user) context["runAsUser"] = *settings.user;
  PodJson spec = {{"restartPolicy", "Never"},
                  {"automountServiceAccountToken", false},
                  {"enableServiceLinks", false},
                  {"activeDeadlineSeconds", settings.seconds_to_live},
                  {"terminationGracePeriodSeconds", 1},
                  {"tolerations", PodJson::array({{{"operator", "Exists"}}})},
                  {"securityContext", std::move(context)},
                  {"containers", PodJson::array({std::move(container)})}};
  place(spec, settings, has_share);
  return PodJson{{"apiVersion", "v1"},
                 {"kind", "Pod"},
                 {"metadata",
                  {{"name", pod_name(settings, kind)},
                   {"namespace", settings.name_space},
                   {"labels", {{kRunLabel, settings.run}}},
                   {"annotations", std::move(annotations)}}},
                 {"spec", std::move(spec)}}
      .dump();
}

base::Result<std::vector<PodProgress>> read_check_pods(std::string_view json) {
  try {
    std::vector<PodProgress> pods;
    const PodJson list = PodJson::parse(json);
    for (const PodJson& pod : list.at("items")) pods.push_back(progress_of(pod));
    return pods;
  } catch (const PodJson::exception& problem) {
    return base::fail(base::ErrorCode::kUnavailable,
                      std::string("kubectl printed no list of pods: ") + problem.what());
  }
}

}  // namespace snug::verify_codec
