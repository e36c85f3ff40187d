#include "snug/admission/pod_additions.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "snug/request/pod_request_parser.hpp"
#include "snug/request/quantity.hpp"

namespace snug::admission {
namespace {

using model::MirroredAmounts;
using Path = std::vector<std::string>;

bool tolerates(const PodToleration& toleration, std::string_view key) {
  return (!toleration.key || *toleration.key == key) && toleration.op == "Exists" &&
         (toleration.effect.empty() || toleration.effect == "NoSchedule");
}

void add_pod_fields(const AdmittedPod& pod, const PodDefaults& defaults,
                    std::vector<Addition>& additions) {
  if (!defaults.scheduler.empty() && defaults.scheduler != kDefaultScheduler &&
      (pod.facts.scheduler_name.empty() || pod.facts.scheduler_name == kDefaultScheduler)) {
    additions.push_back({{"spec", "schedulerName"}, defaults.scheduler});
  }
  if (!defaults.runtime_class.empty() && !pod.runtime_class) {
    additions.push_back({{"spec", "runtimeClassName"}, defaults.runtime_class});
  }
  if (!pod.tolerations) additions.push_back({{"spec", "tolerations"}, EmptyList{}});
  for (const std::string& key : defaults.tolerations) {
    const bool has_it =
        pod.tolerations &&
        std::ranges::any_of(*pod.tolerations, [&](const auto& t) { return tolerates(t, key); });
    if (!has_it) additions.push_back({{"spec", "tolerations", "-"}, NewToleration{key}});
  }
}

Path extended(Path path, std::string_view part) {
  path.emplace_back(part);
  return path;
}

void add_variables(const ContainerFields& container, const Path& path,
                   std::vector<Addition>& additions) {
  const Path env = extended(path, "env");
  if (!container.variables) additions.push_back({env, EmptyList{}});
  for (const DownwardVariable& variable : kDownwardVariables) {
    if (container.variables &&
        std::ranges::find(*container.variables, variable.name) != container.variables->end()) {
      continue;
    }
    std::string field = "metadata.annotations['";
    field.append(variable.annotation).append(".").append(container.name).append("']");
    additions.push_back(
        {extended(env, "-"), NewVariable{std::string(variable.name), std::move(field)}});
  }
}

bool has_amount(const std::optional<model::StringMap>& have, std::string_view resource,
                std::int64_t amount) {
  if (!have) return false;
  const auto found = have->find(resource);
  return found != have->end() && request::parse_quantity(found->second) == amount;
}

void add_amounts(const ContainerFields& container, const Path& path, const MirroredAmounts& amounts,
                 std::vector<Addition>& additions) {
  const Path resources = extended(path, "resources");
  if (!container.has_resources) additions.push_back({resources, EmptyObject{}});
  for (const auto& [kind, have] :
       {std::pair{"limits", &container.limits}, std::pair{"requests", &container.requests}}) {
    const Path list = extended(resources, kind);
    if (!*have) additions.push_back({list, EmptyObject{}});
    for (const auto& [resource, amount] :
         {std::pair{model::kMilliResource, amounts.milli.value},
          std::pair{model::kMemoryResource, amounts.memory.value}}) {
      if (has_amount(*have, resource, amount)) continue;
      additions.push_back({extended(list, resource), std::to_string(amount)});
    }
  }
}

/// Calls visit(container, path, request) for each container that asks for GPUs, first for those in
/// `containers`, then for those in `initContainers`.
template <typename Visit>
void each_asking_container(const AdmittedPod& pod, const model::GpuRequest& request, Visit visit) {
  for (const auto& [list, containers] : {std::pair{"containers", &pod.containers},
                                         std::pair{"initContainers", &pod.init_containers}}) {
    for (std::size_t i = 0; i < containers->size(); ++i) {
      const ContainerFields& container = (*containers)[i];
      const auto asked = std::ranges::find(request.containers, container.name,
                                           &model::ContainerRequest::container);
      if (asked == request.containers.end()) continue;
      visit(container, Path{"spec", list, std::to_string(i)}, *asked);
    }
  }
}

}  // namespace

bool asks_for_gpus(const AdmittedPod& pod) {
  return !pod.is_mirror_pod &&
         std::ranges::any_of(pod.facts.annotations, [](const auto& annotation) {
           return request::is_request_key(annotation.first);
         });
}

std::vector<Addition> pod_additions(const AdmittedPod& pod, const PodDefaults& defaults,
                                    const model::GpuRequest* request,
                                    const std::optional<CardRange>& cards) {
  std::vector<Addition> additions;
  // The API server refuses a pod without containers after its admission.
  if (!asks_for_gpus(pod) || pod.containers.empty()) return additions;
  add_pod_fields(pod, defaults, additions);
  if (request == nullptr || request->is_kubelet_assigned()) return additions;
  each_asking_container(pod, *request,
                        [&](const ContainerFields& container, const Path& path, const auto&) {
                          add_variables(container, path, additions);
                        });
  if (!cards) return additions;
  each_asking_container(pod, *request,
                        [&](const ContainerFields& container, const Path& path,
                            const model::ContainerRequest& asked) {
                          add_amounts(container, path, container_amounts(asked, *cards), additions);
                        });
  return additions;
}

std::vector<Addition> kept_tolerations(const AdmittedPod& pod,
                                       const std::vector<PodToleration>& before,
                                       const PodDefaults& defaults) {
  std::vector<Addition> additions;
  for (const std::string& key : defaults.tolerations) {
    const auto was_added = [&](const PodToleration& toleration) {
      return toleration.key == key && toleration.op == "Exists" && toleration.effect.empty();
    };
    if (std::ranges::none_of(before, was_added)) continue;
    if (pod.tolerations && std::ranges::any_of(*pod.tolerations, was_added)) continue;
    if (!pod.tolerations && additions.empty())
      additions.push_back({{"spec", "tolerations"}, EmptyList{}});
    additions.push_back({{"spec", "tolerations", "-"}, NewToleration{key}});
  }
  return additions;
}

}  // namespace snug::admission
