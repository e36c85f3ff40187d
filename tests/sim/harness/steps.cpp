// The actions of the operator, the agents and the API server in a simulation.
#include <algorithm>
#include <utility>

#include "sim/harness/simulation.hpp"

namespace snug {

/// Somebody edits or removes the annotations of a bound pod. The running Snug must keep the
/// original reservation.
void Simulation::edit_pod() {
  const auto uid = users_.any_pod(true);
  if (!uid || !world_.pods().at(*uid).by_snug || !feed_.told_bound().contains(*uid)) return;
  model::StringMap annotations;
  if (random_.chance(50)) {
    annotations = world_.pods().at(*uid).facts.annotations;
    annotations["snug.dev/reservation"] = random_.chance(50) ? "" : "{";
  }
  note("  " + *uid);
  world_.edit_annotations(*uid, std::move(annotations));
}

void Simulation::change_policy() {
  policy_ = random_policy(random_);
  note("  " + policy_.yaml());
  model_.set_policy(policy_);
  snug_->change_policy(policy_.yaml());
}

void Simulation::change_node() {
  users_.change_node([this] { feed_.deliver_node_event(); });
}

void Simulation::agent_acts() {
  const std::string name = users_.any_node();
  note("  of " + name);
  agents_.act(name);
  if (random_.chance(70)) agents_.publish(name);
}

/// An agent publishes its inventory, perhaps long after it has acted.
void Simulation::agent_publishes() { agents_.publish(users_.any_node()); }

void Simulation::deliver_pods() {
  for (std::size_t i = 1 + random_.below(4); i > 0; --i) feed_.deliver_pod_event();
}

void Simulation::deliver_nodes() { feed_.deliver_node_event(); }

void Simulation::progress_list() {
  switch (feed_.phase()) {
    case Feed::ListPhase::kNone:
      // After the first list, lists are rare.
      if (!quiet_ && feed_.ready() && random_.chance(45)) return;
      if (!feed_.nodes_listed()) feed_.list_nodes(world_.nodes());
      ++tally_.lists;
      feed_.begin_list();
      return;
    case Feed::ListPhase::kBegun: {
      std::vector<model::PodFacts> pods;
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
