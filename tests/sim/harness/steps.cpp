// What users, nodes and the API server do in a simulation.
#include <algorithm>
#include <utility>

#include "sim/harness/asks.hpp"
#include "sim/harness/sim_nodes.hpp"
#include "sim/harness/simulation.hpp"

namespace snug {
namespace {

constexpr std::size_t kMostPods = 36;
constexpr int kMostNominated = 4;

std::string spell(const PodFacts& pod) {
  std::string text;
  for (const auto& [key, value] : pod.annotations) text += " " + key + "=" + value;
  for (const ContainerFacts& container : pod.containers) {
    for (const auto& [key, value] : container.gpu_resources) {
      text += " " + container.name + ": " + key + "=" + value;
    }
  }
  return text.empty() ? " for nothing" : text;
}

}  // namespace

void Simulation::create_pod() {
  if (world_.pods().size() >= kMostPods) return;
  static const std::vector<std::int32_t> kPriorities{0, 0, 0, 10, 100};
  PodFacts pod;
  pod.name_space = random_.pick(sim_namespaces());
  // Few names, so that pods of one name follow each other.
  pod.name = "p" + std::to_string(random_.below(kMostPods));
  if (world_.find(pod.name_space, pod.name) != nullptr) return;
  pod.uid = "uid-" + std::to_string(++last_uid_);
  pod.scheduler_name = "snug";
  pod.priority = random_.pick(kPriorities);
  const std::string second = std::to_string(10'000 + last_uid_ / 4);  // some have the same
  pod.creation_timestamp = "2026-01-01T0" + second.substr(1, 1) + ":" + second.substr(2, 1) +
                           "0:" + second.substr(3, 2) + "Z";
  if (cluster_ == SimCluster::kSlices) {
    ask_something_sliced(pod, random_);
  } else {
    ask_something(pod, random_);
  }
  note("  " + pod.uid + " is " + pod.name_space + "/" + pod.name + " of priority " +
       std::to_string(pod.priority) + " and asks" + spell(pod));
  world_.create_pod(std::move(pod));
}

void Simulation::bind_by_hand() {
  const auto uid = any_pod(false);
  if (!uid || world_.pods().at(*uid).facts.terminating) return;
  const std::string node = any_node();
  note("  " + *uid + " to " + node);
  world_.bind_by_hand(*uid, node);
}

void Simulation::delete_pod() {
  const auto uid = any_pod(random_.chance(55));
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

/// kube-scheduler evicts some pods, so that this one has room on a node; or it thinks better of it.
void Simulation::nominate_pod() {
  const auto uid = any_pod(false);
  if (!uid || !world_.pods().at(*uid).waits()) return;
  const PodFacts& pod = world_.pods().at(*uid).facts;
  if (!pod.nominated_node_name.empty() && random_.chance(60)) {
    note("  " + *uid + " no more");
    world_.nominate(*uid, "");
    return;
  }
  const auto nominated = std::ranges::count_if(world_.pods(), [](const auto& row) {
    return row.second.waits() && !row.second.facts.nominated_node_name.empty();
  });
  if (nominated >= kMostNominated) return;
  const std::string node = any_node();
  note("  " + *uid + " to " + node);
  ++tally_.nominated;
  world_.nominate(*uid, node);
  std::vector<std::string> victims;
  for (const auto& [other, held] : world_.pods()) {
    if (held.holds() && held.facts.node_name == node && held.facts.priority < pod.priority &&
        !held.facts.terminating && victims.size() < 2 && random_.chance(60)) {
      victims.push_back(other);
    }
  }
  for (const std::string& victim : victims) {
    note("  " + victim + " is terminating");
    world_.mark_terminating(victim);
  }
}

/// A container's requests change while it runs.
void Simulation::resize_pod() {
  const auto uid = any_pod(true);
  if (!uid) return;
  note("  " + *uid);
  world_.resize(*uid, {.cpu_milli = static_cast<std::int64_t>(100 * random_.below(40)),
                       .memory_bytes = static_cast<std::int64_t>(random_.below(64)) << 26});
}

void Simulation::change_policy() {
  policy_ = random_policy(random_);
  note("  " + policy_.yaml());
  model_.set_policy(policy_);
  snug_->change_policy(policy_.yaml());
}

void Simulation::change_node() {
  const std::string name = any_node();
  const auto found = world_.nodes().find(name);
  if (found == world_.nodes().end()) {
    SimNode node = absent_.at(name);
    if (random_.chance(30)) replace_gpus(node, ++last_serial_);
    note("  " + name + " is back");
    absent_.erase(name);
    world_.put_node(std::move(node));
    return;
  }
  SimNode node = found->second;
  const std::size_t drawn = random_.below(100);
  if (drawn < 8) {
    note("  " + name + " goes");
    world_.remove_node(name);
    absent_[name] = std::move(node);
    return;
  }
  if (drawn < 16) {
    note("  " + name + " goes and comes back");
    world_.remove_node(name);
    if (random_.chance(40)) replace_gpus(node, ++last_serial_);
    for (int i = 0; random_.chance(50) && i < 3; ++i) feed_.deliver_node_event();
  } else {
    note("  " + name + " " + change_something(node, random_, ++last_serial_));
  }
  world_.put_node(std::move(node));
}

void Simulation::agent_acts() {
  const std::string name = any_node();
  note("  of " + name);
  agents_.act(name);
  if (random_.chance(70)) agents_.publish(name);
}

/// Some time after it acted, perhaps.
void Simulation::agent_publishes() { agents_.publish(any_node()); }

void Simulation::deliver_pods() {
  for (std::size_t i = 1 + random_.below(4); i > 0; --i) feed_.deliver_pod_event();
}

void Simulation::deliver_nodes() { feed_.deliver_node_event(); }

void Simulation::progress_list() {
  switch (feed_.phase()) {
    case Feed::ListPhase::kNone:
      // Lists are rare once the first is in.
      if (!quiet_ && feed_.ready() && random_.chance(45)) return;
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
