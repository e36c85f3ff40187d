#include "plan/victim_search.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "snug/fit/tenant.hpp"

namespace snug::plan {
namespace {

using Pods = std::vector<std::size_t>;

// Limits of the exact search, in addition to kMaxEvictionWork. The search runs only if the pool has
// at most kMaxPodsForExactSearch pods. It then nearly always completes; otherwise the best result
// so far is used. With nominated pods the limit on steps is lower, because each step then costs
// more than ten times as much.
constexpr std::size_t kMaxPodsForExactSearch = 16;
constexpr int kMaxSteps = 500;
constexpr int kMaxStepsBesideNominated = 50;

/// The cost of evicting some pods, the most significant part first.
struct EvictionCost {
  std::size_t pods = 0;
  std::size_t not_preferred = 0;
  std::int64_t priorities = 0;            // the sum of the pods' priorities
  std::vector<std::string_view> created;  // creation times of the pods, oldest first
  std::vector<std::string_view> uids;     // uids of the pods, sorted
};

/// Whether creation time `a` is before `b`. An empty time is after all others.
bool is_older(std::string_view a, std::string_view b) { return !a.empty() && (b.empty() || a < b); }

bool is_cheaper(const EvictionCost& a, const EvictionCost& b) {
  if (a.pods != b.pods) return a.pods < b.pods;
  if (a.not_preferred != b.not_preferred) return a.not_preferred < b.not_preferred;
  if (a.priorities != b.priorities) return a.priorities < b.priorities;
  for (std::size_t i = 0; i < a.created.size(); ++i) {
    if (a.created[i] != b.created[i]) return is_older(b.created[i], a.created[i]);
  }
  return a.uids < b.uids;
}

class VictimSearch {
 public:
  explicit VictimSearch(VictimSearchInput input) : preemption_(std::move(input)) {}

  PodSet run() {
    drop_cpu_only_pods();
    take_indispensable();
    if (preemption_.after.fits(preemption_.evicted)) return preemption_.evicted;
    for (const Pods& order : orders()) keep_if_better(reprieved(order));
    try_each_gpu();
    if (preemption_.pool.size() <= kMaxPodsForExactSearch) {
      PodSet possible_victims = with(preemption_.evicted, preemption_.pool);
      PodSet chosen_victims = preemption_.evicted;
      branch(0, chosen_victims, possible_victims);
    }
    // best_ is empty only if the node has no pods.
    return best_.empty() ? with(preemption_.evicted, preemption_.pool) : std::move(best_);
  }

 private:
  [[nodiscard]] const model::Holding& holding_of(std::size_t pod) const {
    return *preemption_.node.holdings[pod];
  }

  static PodSet with(PodSet victims, const Pods& pods) {
    for (const std::size_t pod : pods) victims[pod] = true;
    return victims;
  }

  /// Removes CPU-only pods from the pool if CPU, memory and pod slots suffice without their
  /// eviction.
  void drop_cpu_only_pods() {
    if (!preemption_.after.host_fits(preemption_.evicted)) return;
    std::erase_if(preemption_.pool,
                  [&](std::size_t pod) { return !preemption_.after.has_gpus(pod); });
  }

  /// Moves the pods that must be evicted in any case from preemption_.pool to preemption_.evicted.
  void take_indispensable() {
    std::ranges::sort(preemption_.pool, [&](std::size_t a, std::size_t b) {
      return more_important(holding_of(a), holding_of(b));
    });
    PodSet all = with(preemption_.evicted, preemption_.pool);
    Pods dispensable_pods;
    for (const std::size_t pod : preemption_.pool) {
      all[pod] = false;
      if (preemption_.after.fits(all)) {
        dispensable_pods.push_back(pod);
      } else {
        preemption_.evicted[pod] = true;
      }
      all[pod] = true;
    }
    preemption_.pool = std::move(dispensable_pods);
  }

  /// The victims that remain if reprieve() is applied to the whole pool in this order.
  PodSet reprieved(const Pods& order) {
    PodSet victims = with(preemption_.evicted, preemption_.pool);
    reprieve(preemption_.after, order, victims);
    return victims;
  }

  /// The pool in ascending order of the key; among equal keys, the most important pod first.
  template <typename Key>
  [[nodiscard]] Pods sorted_by(Key key) const {
    std::vector<std::pair<std::int64_t, std::size_t>> keyed;
    keyed.reserve(preemption_.pool.size());
    for (std::size_t i = 0; i < preemption_.pool.size(); ++i)
      keyed.emplace_back(key(preemption_.pool[i]), i);
    std::ranges::sort(keyed);
    Pods order;
    order.reserve(keyed.size());
    for (const auto& [value, i] : keyed) order.push_back(preemption_.pool[i]);
    return order;
  }

  /// For each pod of the pool, by its position in NodeState::holdings: the number of pods of the
  /// pool on the least crowded GPU that the pod holds.
  [[nodiscard]] std::vector<std::size_t> fewest_pods_on_gpu() const {
    std::vector<std::size_t> on_gpu(preemption_.node.gpus.size(), 0);
    for (const std::size_t pod : preemption_.pool) {
      for (const std::size_t gpu : gpus_of(pod)) ++on_gpu[gpu];
    }
    std::vector<std::size_t> fewest(preemption_.node.holdings.size(),
                                    on_gpu.size() + preemption_.pool.size());
    for (const std::size_t pod : preemption_.pool) {
      for (const std::size_t gpu : gpus_of(pod)) {
        fewest[pod] = std::min(fewest[pod], on_gpu[gpu]);
      }
    }
    return fewest;
  }

  /// The orders in which reprieve() is tried. The first is the order of importance, as in
  /// kube-scheduler. Then come three orders by GPU compute, CPU and memory; each begins with the
  /// pods that hold the least of that resource. The last order begins with CPU-only pods, followed
  /// by the pods on the most crowded GPUs.
  [[nodiscard]] std::vector<Pods> orders() const {
    const std::vector<std::size_t> fewest = fewest_pods_on_gpu();
    const model::NodeInventory* inventory = preemption_.node.inventory.get();
    std::vector<Pods> all{preemption_.pool};
    all.push_back(sorted_by(
        [&](std::size_t i) { return fit::held_compute(holding_of(i), inventory).value; }));
    all.push_back(sorted_by([&](std::size_t i) { return holding_of(i).host.cpu_milli; }));
    all.push_back(sorted_by([&](std::size_t i) { return holding_of(i).host.memory_bytes; }));
    all.push_back(sorted_by([&](std::size_t i) {
      return -static_cast<std::int64_t>(preemption_.after.has_gpus(i) ? fewest[i] : fewest.size());
    }));
    return all;
  }

  [[nodiscard]] Pods gpus_of(std::size_t pod) const {
    Pods gpus;
    for (const model::ReservedContainer& container : holding_of(pod).reservation.containers) {
      for (const model::ReservedDevice& device : container.devices()) {
        const std::optional<std::size_t> gpu = preemption_.node.find_gpu(device);
        if (gpu && std::ranges::find(gpus, *gpu) == gpus.end()) gpus.push_back(*gpu);
      }
    }
    return gpus;
  }

  /// Tries each GPU on which the eviction of its pods frees enough GPU capacity. Reprieves the pods
  /// on other GPUs as far as CPU, memory and pod slots permit. Then reprieves those pods on this
  /// GPU that are unnecessary as victims.
  void try_each_gpu() {
    std::map<std::size_t, PodSet> holders;
    for (const std::size_t pod : preemption_.pool) {
      for (const std::size_t gpu : gpus_of(pod)) {
        holders.try_emplace(gpu, preemption_.node.holdings.size()).first->second[pod] = true;
      }
    }
    const model::NodeInventory* inventory = preemption_.node.inventory.get();
    const Pods by_size =
        sorted_by([&](std::size_t i) { return fit::held_compute(holding_of(i), inventory).value; });
    for (const auto& [gpu, gpu_holders] : holders) {
      for (const Pods& order : {preemption_.pool, by_size}) try_gpu(gpu_holders, order);
    }
  }

  void try_gpu(const PodSet& gpu_holders, const Pods& order) {
    Pods here;
    Pods elsewhere;
    for (const std::size_t pod : order) {
      (gpu_holders[pod] ? here : elsewhere).push_back(pod);
    }
    if (!preemption_.after.gpus_fit(with(preemption_.evicted, here))) return;
    PodSet victims = with(preemption_.evicted, preemption_.pool);
    for (const std::size_t pod : elsewhere) {
      victims[pod] = false;
      if (!preemption_.after.host_fits(victims)) victims[pod] = true;
    }
    reprieve(preemption_.after, here, victims);
    if (preemption_.after.fits(victims)) keep_if_better(std::move(victims));
  }

  [[nodiscard]] EvictionCost cost_of(const PodSet& victims) const {
    EvictionCost cost;
    for (const std::size_t pod : preemption_.pool) {
      if (!victims[pod]) continue;
      const model::PodRank& rank = holding_of(pod).rank;
      ++cost.pods;
      cost.not_preferred += preemption_.preferred[pod] ? 0 : 1;
      cost.priorities += rank.priority;
      cost.created.push_back(rank.created);
      cost.uids.push_back(holding_of(pod).uid);
    }
    std::ranges::sort(cost.created, is_older);
    std::ranges::sort(cost.uids);
    return cost;
  }

  void keep_if_better(PodSet victims) {
    EvictionCost cost = cost_of(victims);
    if (!best_.empty() && !is_cheaper(cost, best_cost_)) return;
    best_ = std::move(victims);
    best_cost_ = std::move(cost);
  }

  /// Branch and bound over the pods of the pool. The pods before position `next` of the pool are
  /// decided. `chosen_victims` contains the pods that are evicted. `possible_victims` contains
  /// these and the undecided pods; the eviction of `possible_victims` suffices. A branch ends if it
  /// would evict more pods than the best result, or if the eviction of `possible_victims` no longer
  /// suffices.
  void branch(std::size_t next, PodSet& chosen_victims, PodSet& possible_victims,
              std::size_t count = 0) {
    if (remaining_steps_-- <= 0) return;
    if (preemption_.after.fits(chosen_victims)) return keep_if_better(chosen_victims);
    if (next == preemption_.pool.size() || count + 1 > best_cost_.pods) return;
    const std::size_t pod = preemption_.pool[next];
    possible_victims[pod] = false;
    if (preemption_.after.fits(possible_victims))
      branch(next + 1, chosen_victims, possible_victims, count);
    possible_victims[pod] = true;
    chosen_victims[pod] = true;
    branch(next + 1, chosen_victims, possible_victims, count + 1);
    chosen_victims[pod] = false;
  }

  VictimSearchInput preemption_;
  PodSet best_;  // the best result so far; empty: none
  EvictionCost best_cost_;
  int remaining_steps_ = preemption_.after.has_nominations() ? kMaxStepsBesideNominated : kMaxSteps;
};

}  // namespace

PodSet search_victims(VictimSearchInput input) { return VictimSearch(std::move(input)).run(); }

void reprieve(EvictionCheck& eviction_check, const std::vector<std::size_t>& pods,
              PodSet& victims) {
  for (const std::size_t pod : pods) {
    victims[pod] = false;
    if (!eviction_check.fits(victims)) victims[pod] = true;
  }
}

}  // namespace snug::plan
