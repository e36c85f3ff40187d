#include "sim/harness/users.hpp"

#include <algorithm>
#include <utility>

#include "sim/harness/asks.hpp"
#include "sim/harness/plain_policy.hpp"

namespace snug {
namespace {

constexpr int kMaxNominated = 4;

std::string spell(const model::PodFacts& pod) {
  std::string text;
  for (const auto& [key, value] : pod.annotations) text += " " + key + "=" + value;
  for (const model::ContainerFacts& container : pod.containers) {
    for (const auto& [key, value] : container.gpu_resources) {
      text += " " + container.name + ": " + key + "=" + value;
    }
  }
  return text.empty() ? " for nothing" : text;
}

}  // namespace

void Users::put_first_nodes() {
  for (int i = 0; i < shape_.nodes; ++i) world_.put_node(first_node(shape_.cluster, i));
}

void Users::create_pod() {
  if (world_.pods().size() >= shape_.pods) return;
  static const std::vector<std::int32_t> kPriorities{0, 0, 0, 10, 100};
  model::PodFacts pod;
  pod.name_space = random_.pick(sim_namespaces());
  // There are few names, so that names of deleted pods are used again.
  pod.name = "p" + std::to_string(random_.below(shape_.pods));
  if (world_.find(pod.name_space, pod.name) != nullptr) return;
  pod.uid = "uid-" + std::to_string(++last_uid_);
  pod.scheduler_name = "snug";
  pod.priority = random_.pick(kPriorities);
  const std::string second = std::to_string(10'000 + last_uid_ / 4);  // four pods per second
  pod.creation_timestamp = "2026-01-01T0" + second.substr(1, 1) + ":" + second.substr(2, 1) +
                           "0:" + second.substr(3, 2) + "Z";
  if (shape_.cluster == SimCluster::kSlices) {
    ask_something_sliced(pod, random_);
  } else {
    ask_something(pod, random_);
  }
  note_("  " + pod.uid + " is " + pod.name_space + "/" + pod.name + " of priority " +
        std::to_string(pod.priority) + " and asks" + spell(pod));
  world_.create_pod(std::move(pod));
}

void Users::bind_by_hand() {
  const auto uid = any_pod(false);
  if (!uid || world_.pods().at(*uid).facts.terminating) return;
  const std::string node = any_node();
  note_("  " + *uid + " to " + node);
  world_.bind_by_hand(*uid, node);
}

void Users::delete_pod() {
  const auto uid = any_pod(random_.chance(55));
  if (!uid) return;
  const bool terminating = world_.pods().at(*uid).facts.terminating;
  const bool at_once = terminating || random_.chance(40);
  note_("  " + *uid + (at_once ? " is gone" : " is terminating"));
  if (at_once) {
    world_.remove_pod(*uid);
  } else {
    world_.mark_terminating(*uid);
  }
}

void Users::finish_pod() {
  const auto uid = any_pod(random_.chance(90));
  if (!uid || world_.pods().at(*uid).facts.finished) return;
  note_("  " + *uid);
  world_.finish(*uid);
}

/// kube-scheduler nominates a pod to a node and evicts some pods there, or it withdraws a
/// nomination.
void Users::nominate_pod() {
  const auto uid = any_pod(false);
  if (!uid || !world_.pods().at(*uid).waits()) return;
  const model::PodFacts& pod = world_.pods().at(*uid).facts;
  if (!pod.nominated_node_name.empty() && random_.chance(60)) {
    note_("  " + *uid + " no more");
    world_.nominate(*uid, "");
    return;
  }
  const auto nominated = std::ranges::count_if(world_.pods(), [](const auto& row) {
    return row.second.waits() && !row.second.facts.nominated_node_name.empty();
  });
  if (nominated >= kMaxNominated) return;
  const std::string node = any_node();
  note_("  " + *uid + " to " + node);
  ++nominated_;
  world_.nominate(*uid, node);
  std::vector<std::string> victims;
  for (const auto& [other, held] : world_.pods()) {
    if (held.holds() && held.facts.node_name == node && held.facts.priority < pod.priority &&
        !held.facts.terminating && victims.size() < 2 && random_.chance(60)) {
      victims.push_back(other);
    }
  }
  for (const std::string& victim : victims) {
    note_("  " + victim + " is terminating");
    world_.mark_terminating(victim);
  }
}

/// Changes the CPU and memory requests of a running container.
void Users::resize_pod() {
  const auto uid = any_pod(true);
  if (!uid) return;
  note_("  " + *uid);
  world_.resize(*uid, {.cpu_milli = static_cast<std::int64_t>(100 * random_.below(40)),
                       .memory_bytes = static_cast<std::int64_t>(random_.below(64)) << 26});
}

void Users::change_node(const std::function<void()>& between) {
  const std::string name = any_node();
  const auto found = world_.nodes().find(name);
  if (found == world_.nodes().end()) {
    SimNode node = absent_.at(name);
    if (random_.chance(30)) replace_gpus(node, ++last_serial_);
    note_("  " + name + " is back");
    absent_.erase(name);
    world_.put_node(std::move(node));
    return;
  }
  SimNode node = found->second;
  const std::size_t drawn = random_.below(100);
  if (drawn < 8) {
    note_("  " + name + " goes");
    world_.remove_node(name);
    absent_[name] = std::move(node);
    return;
  }
  if (drawn < 16) {
    note_("  " + name + " goes and comes back");
    world_.remove_node(name);
    if (random_.chance(40)) replace_gpus(node, ++last_serial_);
    for (int i = 0; random_.chance(50) && i < 3; ++i) between();
  } else {
    note_("  " + name + " " + change_something(node, random_, ++last_serial_));
  }
  world_.put_node(std::move(node));
}

std::optional<std::string> Users::any_pod(bool bound) {
  std::vector<std::string> uids;
  for (const auto& [uid, pod] : world_.pods()) {
    if (pod.bound() == bound) uids.push_back(uid);
  }
  if (uids.empty()) return std::nullopt;
  return random_.pick(uids);
}

std::string Users::any_node() {
  return "n" + std::to_string(random_.below(static_cast<std::size_t>(shape_.nodes)));
}

std::vector<std::string> Users::some_nodes() {
  std::vector<std::string> names;
  for (int i = 0; i < shape_.nodes; ++i) {
    if (random_.chance(80)) names.push_back("n" + std::to_string(i));
  }
  if (names.empty()) names.emplace_back("n0");
  return names;
}

}  // namespace snug
