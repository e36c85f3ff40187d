#include "sim/harness/asks.hpp"

#include <string>
#include <vector>

#include "sim/harness/objects.hpp"

namespace snug {
namespace {

const std::string& any_of(const std::vector<std::string>& texts, Random& random) {
  return random.pick(texts);
}

model::HostResources some_host(Random& random) {
  return {.cpu_milli = static_cast<std::int64_t>(100 * random.below(40)),
          .memory_bytes = static_cast<std::int64_t>(random.below(64)) << 26};
}

void add_containers(model::PodFacts& pod, Random& random) {
  const auto add = [&](const char* name, model::ContainerType kind) {
    pod.containers.push_back(
        {.name = name, .type = kind, .gpu_resources = {}, .host = some_host(random)});
  };
  const bool several = random.chance(40);
  if (several && random.chance(25)) add("early", model::ContainerType::kSidecar);
  if (several && random.chance(60)) add("prepare", model::ContainerType::kInit);
  if (several && random.chance(25)) add("late", model::ContainerType::kSidecar);
  if (several && random.chance(15)) add("migrate", model::ContainerType::kInit);
  add("main", model::ContainerType::kApp);
  if (several && random.chance(50)) add("beside", model::ContainerType::kApp);
  if (random.chance(20)) pod.overhead = some_host(random);
}

/// Adds optional annotations to the request of a share: count, compute, isolation.
void refine(model::PodFacts& pod, const std::string& suffix, model::ContainerType kind,
            Random& random) {
  if (random.chance(15)) pod.annotations["gpu-count" + suffix] = random.chance(80) ? "2" : "3";
  if (random.chance(15)) {
    pod.annotations["gpu-compute" + suffix] = any_of({"1", "10", "40", "100"}, random);
  }
  // An init container uses GPUs of later containers, so it sets no isolation of its own.
  if (kind != model::ContainerType::kInit && random.chance(25)) {
    pod.annotations["gpu-isolation" + suffix] =
        any_of({"time-slicing", "mps", "mps", "any", "mig"}, random);
  }
}

void ask_by_annotation(model::PodFacts& pod, const std::string& suffix, model::ContainerType kind,
                       bool whole, Random& random) {
  if (whole) {
    pod.annotations["gpu-fraction" + suffix] = random.chance(65) ? "1" : "2";
  } else {
    if (random.chance(60)) {
      pod.annotations["gpu-fraction" + suffix] =
          any_of({"0.1", "0.25", "0.3", "0.333", "0.5", "0.75", "0.999"}, random);
    } else {
      pod.annotations["gpu-memory" + suffix] =
          any_of({"4096", "8Gi", "12000", "20000", "40Gi", "1"}, random);
    }
    refine(pod, suffix, kind, random);
  }
  if (random.chance(15)) {
    pod.annotations["gpu-model" + suffix] =
        any_of({"*A100*", "!*t4", "tesla-T?", "*H100*,*a100*", "*100*,!*H100*"}, random);
  }
}

void ask_malformed(model::PodFacts& pod, Random& random) {
  if (random.chance(30)) {
    pod.annotations["gpu-count"] = "2";
  } else {
    pod.annotations["gpu-fraction"] = random.chance(50) ? "1.5" : "4000m";
  }
}

void ask_each(model::PodFacts& pod, Random& random) {
  const bool whole = random.chance(25);
  for (const model::ContainerFacts& container : pod.containers) {
    const bool main = container.name == "main";
    if (!main && random.chance(35)) continue;
    // An init container may request whole GPUs only if all containers of the pod do. So all of them
    // make the same kind of request, but half of the init containers request a share.
    const bool share_first = container.type == model::ContainerType::kInit && random.chance(50);
    const std::string suffix = main && random.chance(70) ? "" : "." + container.name;
    ask_by_annotation(pod, suffix, container.type, whole && !share_first, random);
  }
}

/// Adds optional annotations to the request of a share or slice, in a cluster with MIG slices.
void refine_slice(model::PodFacts& pod, const std::string& suffix, Random& random) {
  if (random.chance(15)) pod.annotations["gpu-count" + suffix] = random.chance(80) ? "2" : "3";
  if (random.chance(25)) pod.annotations["gpu-isolation" + suffix] = "mig";
  if (random.chance(15)) {
    pod.annotations["gpu-model" + suffix] =
        any_of({"*A100*", "!*a100*", "*A30", "*RTX*,*a30*", "!tesla*"}, random);
  }
}

const std::string& any_profile(Random& random) {
  static const std::vector<std::string> kProfiles{
      "1g.5gb",     "1g.5gb",         "1g.5gb+me", "1g.10gb",    "2g.10gb",    "2c.2g.10gb",
      "3g.20gb",    "4g.20gb",        "7g.40gb",   "1g.6gb",     "1g.6gb+me",  "2g.12gb",
      "2g.12gb+me", "4g.24gb",        "1g.24gb",   "1g.24gb+me", "1g.24gb-me", "2g.48gb",
      "2g.48gb-me", "1g.24gb+me.all", "4g.96gb",   "9g.99gb"};
  return random.pick(kProfiles);
}

void ask_sliced(model::PodFacts& pod, Random& random) {
  const std::string profile = any_profile(random);
  const bool named = random.chance(45);
  const bool same = random.chance(50);
  for (const model::ContainerFacts& container : pod.containers) {
    const bool main = container.name == "main";
    const bool init = container.type == model::ContainerType::kInit;
    if (!main && random.chance(35)) continue;
    const std::string suffix = main && random.chance(70) ? "" : "." + container.name;
    // An init container may name only the profile that all other containers name.
    if (named && (!init || (same && random.chance(60)))) {
      pod.annotations["gpu-mig-profile" + suffix] = same ? profile : any_profile(random);
    } else if (random.chance(50)) {
      pod.annotations["gpu-fraction" + suffix] =
          any_of({"0.1", "0.125", "0.2", "0.25", "0.3", "0.5", "0.75"}, random);
      if (random.chance(15)) pod.annotations["gpu-compute" + suffix] = any_of({"10", "30"}, random);
    } else {
      pod.annotations["gpu-memory" + suffix] =
          any_of({"1", "4096", "5Gi", "8Gi", "12000", "20000", "23Gi"}, random);
    }
    refine_slice(pod, suffix, random);
  }
}

}  // namespace

void ask_something_sliced(model::PodFacts& pod, Random& random) {
  if (random.chance(30)) {
    ask_something(pod, random);
    return;
  }
  add_containers(pod, random);
  ask_sliced(pod, random);
}

void ask_something(model::PodFacts& pod, Random& random) {
  add_containers(pod, random);
  const std::size_t drawn = random.below(100);
  if (drawn < 74) {
    ask_each(pod, random);
  } else if (drawn < 87) {
    for (model::ContainerFacts& container : pod.containers) {
      if (container.name != "main" && random.chance(60)) continue;
      container.gpu_resources[kGpuUnits] = random.chance(60) ? "1" : "2";
    }
  } else if (drawn < 90) {
    ask_malformed(pod, random);
  }
  if (random.chance(4)) {
    pod.annotations["snug.dev/reservation"] =
        R"({"version":1,"uid":"another","node":"n0","containers":[{"name":"main","request":"",)"
        R"("devices":[{"index":0,"mode":"whole","memoryMiB":1,"computeMilli":1}]}]})";
  }
}

}  // namespace snug
