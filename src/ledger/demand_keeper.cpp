#include "snug/ledger/demand_keeper.hpp"

#include <memory>
#include <unordered_set>

namespace snug {

void DemandKeeper::seen(const Seen& pod) {
  const std::lock_guard lock(mutex_);
  began_ = true;
  if (supply_.gpus == 0) supply_ = supply_of(*ledger_.snapshot());
  learner_.arrived(pod.uid, pod.shape, supply_);
  if (pod.placed) learner_.placed(pod.uid);
  publish();
}

void DemandKeeper::listed(std::span<const Seen> pods) {
  const std::lock_guard lock(mutex_);
  supply_ = supply_of(*ledger_.snapshot());
  std::unordered_set<std::string_view> living;
  for (const Seen& pod : pods) living.insert(pod.uid);
  learner_.keep_only(living);
  for (const Seen& pod : pods) {
    if (began_) {
      learner_.arrived(pod.uid, pod.shape, supply_);
    } else {
      learner_.was_there(pod.uid, pod.shape, supply_);
    }
    if (pod.placed) learner_.placed(pod.uid);
  }
  began_ = true;
  publish();
}

void DemandKeeper::placed(std::string_view uid) {
  const std::lock_guard lock(mutex_);
  learner_.placed(uid);
}

void DemandKeeper::gone(std::string_view uid) {
  const std::lock_guard lock(mutex_);
  learner_.gone(uid);
}

void DemandKeeper::publish() {
  const bool due = learner_.tables_due();
  const int churn = learner_.churn();
  if (!due && churn == churn_) return;
  if (due) {
    supply_ = supply_of(*ledger_.snapshot());
    learner_.build_tables(supply_);
  }
  churn_ = churn;
  auto demand = std::make_shared<Demand>(learner_.demand(churn));
  demand->version = ++version_;
  ledger_.put_demand(std::move(demand));
}

}  // namespace snug
