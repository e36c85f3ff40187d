#include "snug/ledger/demand_tracker.hpp"

#include <memory>
#include <unordered_set>
#include <utility>

namespace snug::ledger {

void DemandTracker::observe_pod(const ObservedPod& pod) {
  const base::MutexLock lock(mutex_);
  learning_started_ = true;
  update_supply();
  learner_.pod_arrived(pod.uid, pod.shape, supply_);
  if (pod.placed) learner_.pod_placed(pod.uid);
  publish_if_changed();
}

void DemandTracker::observe_pod_list(std::span<const ObservedPod> pods) {
  const base::MutexLock lock(mutex_);
  update_supply();
  std::unordered_set<std::string_view> living_uids;
  for (const ObservedPod& pod : pods) living_uids.insert(pod.uid);
  learner_.retain(living_uids, supply_);
  for (const ObservedPod& pod : pods) {
    if (learning_started_) {
      learner_.pod_arrived(pod.uid, pod.shape, supply_);
    } else {
      learner_.pod_was_present(pod.uid, pod.shape);
    }
    if (pod.placed) learner_.pod_placed(pod.uid);
  }
  learning_started_ = true;
  publish_if_changed();
}

void DemandTracker::observe_nodes() {
  const base::MutexLock lock(mutex_);
  update_supply();
  publish_if_changed();
}

void DemandTracker::pod_placed(std::string_view uid) {
  const base::MutexLock lock(mutex_);
  learner_.pod_placed(uid);
}

void DemandTracker::pod_left(std::string_view uid) {
  const base::MutexLock lock(mutex_);
  learner_.pod_left(uid, supply_);
}

void DemandTracker::update_supply() {
  if (ledger_.inventory_generation() == supply_generation_) return;
  const model::SnapshotPtr snapshot = ledger_.snapshot();
  supply_generation_ = snapshot->inventory_generation;
  demand::Supply supply = demand::supply_of(*snapshot);
  // An agent publishes a new inventory for each slice that it creates. That does not change the
  // supply.
  if (supply == supply_) return;
  supply_ = std::move(supply);
  nodes_changed_ = true;
}

void DemandTracker::publish_if_changed() {
  const bool due = nodes_changed_ || learner_.tables_due();
  const bool same_regime = learner_.churn() == published_demand_->churn &&
                           learner_.saturation() == published_demand_->saturation;
  if (!due && same_regime) return;
  if (due) learner_.build_tables(supply_);
  nodes_changed_ = false;
  auto demand = std::make_shared<model::Demand>(learner_.demand());
  demand->version = published_demand_->version;
  // Results cached for this version of the demand stay valid.
  if (*demand == *published_demand_) return;
  ++demand->version;
  published_demand_ = std::move(demand);
  ledger_.set_demand(published_demand_);
}

}  // namespace snug::ledger
