#include "sim_codec/other_systems.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "sim_codec/other_assignments.hpp"
#include "snug/base/text.hpp"
#include "snug/base/units.hpp"
#include "snug/request/other_systems.hpp"
#include "snug/request/pod_request_parser.hpp"
#include "snug/request/quantity.hpp"

namespace snug::sim_codec {
namespace {

using request::kGpushare;
using request::kHami;
using request::kKaiContainerPrefix;
using request::ResourceForm;

constexpr std::int64_t kMaxPercent = 100;

/// Resources that say how a system treats a request, not how much it asks for.
constexpr auto kIgnoredResources =
    std::to_array<std::string_view>({"nvidia.com/priority", "aliyun.com/gpu-count"});

/// The end of the annotations that begin with kKaiContainerPrefix.
constexpr std::string_view kFractionsSuffix = ".gpu-memory.request";

/// More than any node has. Larger amounts and those that cannot be read count as this one, so that
/// the pod is refused.
constexpr std::int64_t kTooMuch = 1'000'000'000;

/// The number under `key`; nullopt: there is none.
std::optional<std::int64_t> number_of(const model::StringMap& amounts, std::string_view key) {
  const auto amount = amounts.find(key);
  if (key.empty() || amount == amounts.end()) return std::nullopt;
  return std::min(request::parse_unit_count(amount->second).value_or(kTooMuch), kTooMuch);
}

bool uses(const ResourceForm& form, const model::StringMap& amounts) {
  // A count alone is Snug's own form of a request, in HAMi's case.
  const bool counts = &form != &kHami && !form.count.empty() && amounts.contains(form.count);
  return counts || amounts.contains(form.memory) || amounts.contains(form.percentage) ||
         amounts.contains(form.compute);
}

/// The annotations that ask for the same. Empty: the amounts ask for nothing.
model::StringMap annotations_for(const ResourceForm& form, const model::StringMap& amounts,
                                 const SystemsInUse& systems) {
  std::int64_t count = number_of(amounts, form.count).value_or(1);
  const std::int64_t unit = &form == &kGpushare ? systems.gpushare_unit_mib : 1;
  const std::int64_t memory = number_of(amounts, form.memory).value_or(0) * unit;
  std::int64_t percentage = number_of(amounts, form.percentage).value_or(0);
  const std::int64_t compute = number_of(amounts, form.compute).value_or(0);
  if (count <= 0) return {};
  if (percentage > kMaxPercent && percentage % kMaxPercent == 0) {
    count *= percentage / kMaxPercent;  // Koordinator: 200 % are two GPUs
    percentage = kMaxPercent;
  }
  model::StringMap annotations;
  if (memory > 0) {
    annotations["gpu-memory"] = std::to_string(memory);
  } else if (percentage > 0 && percentage < kMaxPercent) {
    annotations["gpu-fraction"] = "0." + std::to_string(kMaxPercent + percentage).substr(1);
  } else {
    annotations["gpu-fraction"] = std::to_string(count);
    return annotations;
  }
  if (count > 1) annotations["gpu-count"] = std::to_string(count);
  if (compute > 0 && compute <= kMaxPercent) annotations["gpu-compute"] = std::to_string(compute);
  return annotations;
}

const ResourceForm* form_of(const PodObject& object, const SystemsInUse& systems) {
  for (const ResourceForm& form : request::kResourceForms) {
    for (const auto& [container, amounts] : object.resources) {
      const bool hami_whole =
          systems.hami && &form == &kHami && number_of(amounts, form.count).value_or(0) > 0;
      if (hami_whole || uses(form, amounts)) return &form;
    }
  }
  return nullptr;
}

void translate_resources(const PodObject& object, const ResourceForm& form,
                         const SystemsInUse& systems, model::PodFacts& pod) {
  for (const auto& [container, amounts] : object.resources) {
    const bool asks = uses(form, amounts) || number_of(amounts, form.count).value_or(0) > 0;
    if (!asks) continue;
    for (const auto& [key, value] : annotations_for(form, amounts, systems))
      pod.annotations.insert_or_assign(std::string(key).append(".").append(container), value);
    const auto facts = std::ranges::find(pod.containers, container, &model::ContainerFacts::name);
    if (facts != pod.containers.end()) facts->gpu_resources.erase(std::string(form.count));
  }
}

/// Translates the annotations of NvFractions; returns whether there are any.
bool translate_fractions(const PodObject& object, model::PodFacts& pod) {
  bool found = false;
  for (const auto& [key, value] : object.annotations) {
    if (!key.starts_with(kKaiContainerPrefix) || !key.ends_with(kFractionsSuffix)) continue;
    const std::string container =
        key.substr(kKaiContainerPrefix.size(),
                   key.size() - kKaiContainerPrefix.size() - kFractionsSuffix.size());
    pod.annotations.insert_or_assign("gpu-memory." + container, value);
    found = true;
  }
  return found;
}

bool concerns_gpus(std::string_view resource) {
  const std::string_view name = resource.substr(resource.find('/') + 1);
  return resource.find("gpu") != std::string_view::npos || name.starts_with("mig-");
}

/// Sorts the resources that are neither Snug's nor those of `form`, which may be null.
void note_other_resources(const PodObject& object, const ResourceForm* form,
                          PodTranslation& translation) {
  std::vector<std::string>& names = translation.not_understood;
  for (const auto& [container, amounts] : object.resources) {
    for (const auto& [name, amount] : amounts) {
      const bool translated =
          form != nullptr && (name == form->count || name == form->memory ||
                              name == form->percentage || name == form->compute);
      if (translated || request::is_kubelet_gpu_resource(name) ||
          std::ranges::find(kIgnoredResources, name) != kIgnoredResources.end() ||
          request::parse_unit_count(amount) == 0) {
        continue;
      }
      if (!concerns_gpus(name)) {
        translation.needs_other_resources = true;
      } else if (std::ranges::find(names, name) == names.end()) {
        names.push_back(name);
      }
    }
  }
}

}  // namespace

bool is_annotation_of_other_system(std::string_view key) {
  constexpr auto kPrefixes = std::to_array<std::string_view>(
      {"hami.io/", "volcano.sh/", "ALIYUN_COM_GPU_MEM_", kKaiContainerPrefix});
  return std::ranges::any_of(kPrefixes,
                             [&](std::string_view prefix) { return key.starts_with(prefix); });
}

SystemsInUse systems_in_use(const ClusterObjects& objects) {
  constexpr std::int64_t kLargestGib = 1000;  // no GPU has more GiB; one of so many MiB is tiny
  SystemsInUse systems;
  for (const auto& [name, node] : objects.nodes) {
    if (node.annotations.contains(kHamiRegister)) systems.hami = true;
    const std::int64_t gpus = number_of(node.capacity, kGpushareCount).value_or(0);
    const std::int64_t memory = number_of(node.capacity, kGpushareMemory).value_or(0);
    if (gpus > 0 && memory / gpus > kLargestGib) systems.gpushare_unit_mib = 1;
  }
  return systems;
}

PodTranslation translate_pod(const PodObject& object, const SystemsInUse& systems,
                             model::PodFacts& pod) {
  PodTranslation translation;
  const auto app = pod.labels.find("app");
  if (app != pod.labels.end() && app->second == "kai-resource-reservation") {
    translation.is_placeholder = true;
    return translation;
  }
  const ResourceForm* form = form_of(object, systems);
  note_other_resources(object, form, translation);
  if (!translation.not_understood.empty()) return translation;
  if (form != nullptr) {
    translate_resources(object, *form, systems, pod);
    translation.system = form->system;
    translation.assignment = assigned_by_other_system(object, systems);
  } else if (translate_fractions(object, pod)) {
    translation.system = "KAI Scheduler (nvidia.com/container.*)";
  }
  return translation;
}

}  // namespace snug::sim_codec
