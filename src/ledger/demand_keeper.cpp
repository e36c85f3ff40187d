#include "snug/ledger/demand_keeper.hpp"

#include <memory>
#include <unordered_set>
#include <utility>

namespace snug {

void DemandKeeper::seen(const Seen& pod) {
  const MutexLock lock(mutex_);
  began_ = true;
  look_at_nodes();
  learner_.arrived(pod.uid, pod.shape, supply_);
  if (pod.placed) learner_.placed(pod.uid);
  publish();
}

void DemandKeeper::listed(std::span<const Seen> pods) {
  const MutexLock lock(mutex_);
  look_at_nodes();
  std::unordered_set<std::string_view> living;
  for (const Seen& pod : pods) living.insert(pod.uid);
  learner_.keep_only(living, supply_);
  for (const Seen& pod : pods) {
    if (began_) {
      learner_.arrived(pod.uid, pod.shape, supply_);
    } else {
      learner_.was_there(pod.uid, pod.shape);
    }
    if (pod.placed) learner_.placed(pod.uid);
  }
  began_ = true;
  publish();
}

void DemandKeeper::nodes_listed() {
  const MutexLock lock(mutex_);
  look_at_nodes();
  publish();
}

void DemandKeeper::placed(std::string_view uid) {
  const MutexLock lock(mutex_);
  learner_.placed(uid);
}

void DemandKeeper::gone(std::string_view uid) {
  const MutexLock lock(mutex_);
  learner_.gone(uid, supply_);
}

void DemandKeeper::look_at_nodes() {
  if (ledger_.inventories() == known_) return;
  const SnapshotPtr snapshot = ledger_.snapshot();
  known_ = snapshot->inventories;
  Supply supply = supply_of(*snapshot);
  // An agent reports each slice that it creates, which does not change the supply.
  if (supply == supply_) return;
  supply_ = std::move(supply);
  nodes_changed_ = true;
}

void DemandKeeper::publish() {
  const bool due = nodes_changed_ || learner_.tables_due();
  const bool same_regime =
      learner_.churn() == published_->churn && learner_.saturation() == published_->saturation;
  if (!due && same_regime) return;
  if (due) learner_.build_tables(supply_);
  nodes_changed_ = false;
  auto demand = std::make_shared<Demand>(learner_.demand());
  demand->version = published_->version;
  if (*demand == *published_) return;  // results cached with it remain valid
  ++demand->version;
  published_ = std::move(demand);
  ledger_.put_demand(published_);
}

}  // namespace snug
