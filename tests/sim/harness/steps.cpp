// What users, nodes and the API server do in a simulation.
#include <algorithm>
#include <utility>

#include "sim/harness/simulation.hpp"

namespace snug {
namespace {

constexpr std::size_t kMostPods = 28;

void ask(PodFacts& pod, Random& random) {
  static const std::vector<std::string> kFractions{"0.1", "0.25", "0.3", "0.5", "0.75", "0.999"};
  static const std::vector<std::string> kMemories{"4096", "8Gi", "20000", "40Gi", "1"};
  const std::size_t drawn = random.below(100);
  if (drawn < 40) {
    pod.annotations["gpu-fraction"] = random.pick(kFractions);
  } else if (drawn < 60) {
    pod.annotations["gpu-memory"] = random.pick(kMemories);
  } else if (drawn < 78) {
    pod.annotations["gpu-fraction"] = random.chance(60) ? "1" : "2";
  } else if (drawn < 90) {
    pod.containers.front().gpu_resources[kGpuUnits] = random.chance(60) ? "1" : "2";
  } else if (drawn < 93) {
    pod.annotations["gpu-fraction"] = random.chance(50) ? "1.5" : "4000m";
  }
  if (random.chance(4)) {
    pod.annotations["snug.dev/reservation"] =
        R"({"version":1,"uid":"another","node":"n0","containers":[{"name":"main","request":"",)"
        R"("devices":[{"index":0,"mode":"whole","memoryMiB":1,"computeMilli":1}]}]})";
  }
}

}  // namespace

void Simulation::create_pod() {
  if (world_.pods().size() >= kMostPods) return;
  PodFacts pod;
  pod.name_space = kSimNamespace;
  // Few names, so that pods of one name follow each other.
  pod.name = "p" + std::to_string(random_.below(2 * kMostPods));
  if (world_.find(pod.name) != nullptr) return;
  pod.uid = "uid-" + std::to_string(++last_uid_);
  pod.scheduler_name = "snug";
  pod.containers.push_back({.name = "main", .kind = ContainerKind::kApp, .gpu_resources = {}});
  ask(pod, random_);
  note("  " + pod.uid + " is " + pod.name);
  world_.create_pod(std::move(pod));
}

void Simulation::bind_by_hand() {
  const auto uid = any_pod(false);
  if (!uid || world_.pods().at(*uid).facts.terminating) return;
  const std::string node = "n" + std::to_string(random_.below(4));
  note("  " + *uid + " to " + node);
  world_.bind_by_hand(*uid, node);
}

void Simulation::delete_pod() {
  const auto uid = any_pod(random_.chance(70));
  if (!uid) return;
  const bool terminating = world_.pods().at(*uid).facts.terminating;
  const bool at_once = terminating || random_.chance(40);
  note("  " + *uid + (at_once ? " is gone" : " is terminating"));
  if (at_once) {
    world_.remove_pod(*uid);
  } else {
    world_.mark_terminating(*uid);
  }
}

void Simulation::finish_pod() {
  const auto uid = any_pod(random_.chance(90));
  if (!uid || world_.pods().at(*uid).facts.finished) return;
  note("  " + *uid);
  world_.finish(*uid);
}

/// Somebody edits what Snug wrote: the running Snug goes on with what was bound.
void Simulation::edit_pod() {
  const auto uid = any_pod(true);
  if (!uid || !world_.pods().at(*uid).by_snug || !feed_.told_bound().contains(*uid)) return;
  StringMap annotations;
  if (random_.chance(50)) {
    annotations = world_.pods().at(*uid).facts.annotations;
    annotations["snug.dev/reservation"] = random_.chance(50) ? "" : "{";
  }
  note("  " + *uid);
  world_.edit_annotations(*uid, std::move(annotations));
}

void Simulation::change_node() {
  const std::string name = "n" + std::to_string(random_.below(4));
  const auto found = world_.nodes().find(name);
  if (found == world_.nodes().end()) return;
  SimNode node = found->second;
  const std::size_t drawn = random_.below(100);
  if (drawn < 15) {
    note("  " + name + " goes and comes back");
    world_.remove_node(name);
    if (!node.labels_only && random_.chance(40)) {
      for (SimGpu& gpu : node.gpus) gpu.uuid += "x";
    }
    for (int i = 0; random_.chance(50) && i < 3; ++i) feed_.deliver_node_event();
  } else if (drawn < 35) {
    static const std::vector<std::string> kPools{"auto", "auto", "shares", "whole"};
    node.pool = random_.pick(kPools);
    note("  " + name + " is in the pool " + node.pool);
  } else {
    change_gpus(node);
  }
  world_.put_node(std::move(node));
}

void Simulation::change_gpus(SimNode& node) {
  note("  GPUs of " + node.name + " change");
  SimGpu& gpu = node.gpus[random_.below(node.gpus.size())];
  if (node.labels_only || random_.chance(60)) {
    gpu.healthy = !gpu.healthy;
    return;
  }
  if (random_.chance(50)) {
    std::swap(gpu.uuid, node.gpus.front().uuid);
    return;
  }
  // Some GPU falls off the bus, comes back, or is replaced.
  if (node.gpus.size() > 1 && random_.chance(50)) {
    node.gpus.pop_back();
    return;
  }
  const int index = node.gpus.back().index + 1;
  std::string uuid = "GPU-" + node.name + "-" + std::to_string(index);
  const bool known = std::ranges::find(node.gpus, uuid, &SimGpu::uuid) != node.gpus.end();
  if (known || random_.chance(30)) uuid += "-" + std::to_string(++last_uid_);
  if (node.gpus.size() < 4) {
    node.gpus.push_back({.index = index, .uuid = uuid, .memory = sim_gpu_memory(node.name)});
  }
}

void Simulation::deliver_pods() {
  for (std::size_t i = 1 + random_.below(4); i > 0; --i) feed_.deliver_pod_event();
}

void Simulation::deliver_nodes() { feed_.deliver_node_event(); }

void Simulation::progress_list() {
  switch (feed_.phase()) {
    case Feed::ListPhase::kNone:
      // Lists are rare once the first is in.
      if (!quiet_ && feed_.ready() && random_.chance(70)) return;
      if (!feed_.nodes_listed()) feed_.list_nodes(world_.nodes());
      ++tally_.lists;
      feed_.begin_list();
      return;
    case Feed::ListPhase::kBegun: {
      std::vector<PodFacts> pods;
      for (const auto& [uid, pod] : world_.pods()) {
        if (!pod.facts.finished) pods.push_back(pod.facts);
      }
      feed_.take_list(std::move(pods));
      return;
    }
    case Feed::ListPhase::kTaken:
      feed_.finish_list();
      return;
  }
}

void Simulation::list_nodes() { feed_.list_nodes(world_.nodes()); }

void Simulation::pass_time() { world_.advance(std::chrono::milliseconds(random_.below(3'000))); }

void Simulation::pass_long_time() {
  world_.advance(std::chrono::milliseconds(random_.below(80'000)));
}

}  // namespace snug
