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
  explicit VictimSearch(VictimSearchInput input) : in_(std::move(input)) {}

  PodSet run() {
    drop_cpu_only_pods();
    take_indispensable();
    if (in_.after.fits(in_.evicted)) return in_.evicted;
    for (const Pods& order : orders()) keep_if_better(reprieved(order));
    try_each_gpu();
    if (in_.pool.size() <= kMaxPodsForExactSearch) {
      PodSet open = with(in_.evicted, in_.pool);
      PodSet chosen = in_.evicted;
      branch(0, chosen, open);
    }
    // best_ is empty only if the node has no pods.
    return best_.empty() ? with(in_.evicted, in_.pool) : std::move(best_);
  }

 private:
  [[nodiscard]] const model::Holding& pod(std::size_t position) const {
    return *in_.node.holdings[position];
  }

  static PodSet with(PodSet set, const Pods& pods) {
    for (const std::size_t position : pods) set[position] = true;
    return set;
  }

  /// Removes CPU-only pods from the pool if CPU, memory and pod slots suffice without their
  /// eviction.
  void drop_cpu_only_pods() {
    if (!in_.after.host_fits(in_.evicted)) return;
    std::erase_if(in_.pool, [&](std::size_t position) { return !in_.after.has_gpus(position); });
  }

  /// Moves the pods that must be evicted in any case from in_.pool to in_.evicted.
  void take_indispensable() {
    std::ranges::sort(in_.pool,
                      [&](std::size_t a, std::size_t b) { return more_important(pod(a), pod(b)); });
    PodSet all = with(in_.evicted, in_.pool);
    Pods others;
    for (const std::size_t position : in_.pool) {
      all[position] = false;
      if (in_.after.fits(all)) {
        others.push_back(position);
      } else {
        in_.evicted[position] = true;
      }
      all[position] = true;
    }
    in_.pool = std::move(others);
  }

  /// The victims that remain if reprieve() is applied to the whole pool in this order.
  PodSet reprieved(const Pods& order) {
    PodSet gone = with(in_.evicted, in_.pool);
    reprieve(in_.after, order, gone);
    return gone;
  }

  /// The pool in ascending order of the key; among equal keys, the most important pod first.
  template <typename Key>
  [[nodiscard]] Pods sorted_by(Key key) const {
    std::vector<std::pair<std::int64_t, std::size_t>> keyed;
    keyed.reserve(in_.pool.size());
    for (std::size_t i = 0; i < in_.pool.size(); ++i) keyed.emplace_back(key(in_.pool[i]), i);
    std::ranges::sort(keyed);
    Pods order;
    order.reserve(keyed.size());
    for (const auto& [value, i] : keyed) order.push_back(in_.pool[i]);
    return order;
  }

  /// For each pod of the pool, by its position in NodeState::holdings: the number of pods of the
  /// pool on the least crowded GPU that the pod holds.
  [[nodiscard]] std::vector<std::size_t> fewest_pods_on_gpu() const {
    std::vector<std::size_t> on_gpu(in_.node.gpus.size(), 0);
    for (const std::size_t position : in_.pool) {
      for (const std::size_t gpu : gpus_of(position)) ++on_gpu[gpu];
    }
    std::vector<std::size_t> fewest(in_.node.holdings.size(), on_gpu.size() + in_.pool.size());
    for (const std::size_t position : in_.pool) {
      for (const std::size_t gpu : gpus_of(position)) {
        fewest[position] = std::min(fewest[position], on_gpu[gpu]);
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
    const model::NodeInventory* inventory = in_.node.inventory.get();
    std::vector<Pods> all{in_.pool};
    all.push_back(
        sorted_by([&](std::size_t i) { return fit::held_compute(pod(i), inventory).value; }));
    all.push_back(sorted_by([&](std::size_t i) { return pod(i).host.cpu_milli; }));
    all.push_back(sorted_by([&](std::size_t i) { return pod(i).host.memory_bytes; }));
    all.push_back(sorted_by([&](std::size_t i) {
      return -static_cast<std::int64_t>(in_.after.has_gpus(i) ? fewest[i] : fewest.size());
    }));
    return all;
  }

  [[nodiscard]] Pods gpus_of(std::size_t position) const {
    Pods gpus;
    for (const model::ReservedContainer& container : pod(position).reservation.containers) {
      const auto* devices = std::get_if<std::vector<model::ReservedDevice>>(&container.assigned);
      if (devices == nullptr) continue;
      for (const model::ReservedDevice& device : *devices) {
        const std::optional<std::size_t> gpu = in_.node.find_gpu(device);
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
    for (const std::size_t position : in_.pool) {
      for (const std::size_t gpu : gpus_of(position)) {
        holders.try_emplace(gpu, in_.node.holdings.size()).first->second[position] = true;
      }
    }
    const model::NodeInventory* inventory = in_.node.inventory.get();
    const Pods by_size =
        sorted_by([&](std::size_t i) { return fit::held_compute(pod(i), inventory).value; });
    for (const auto& [gpu, on_it] : holders) {
      for (const Pods& order : {in_.pool, by_size}) try_gpu(on_it, order);
    }
  }

  void try_gpu(const PodSet& on_it, const Pods& order) {
    Pods here;
    Pods elsewhere;
    for (const std::size_t position : order) {
      (on_it[position] ? here : elsewhere).push_back(position);
    }
    if (!in_.after.gpus_fit(with(in_.evicted, here))) return;
    PodSet gone = with(in_.evicted, in_.pool);
    for (const std::size_t position : elsewhere) {
      gone[position] = false;
      if (!in_.after.host_fits(gone)) gone[position] = true;
    }
    reprieve(in_.after, here, gone);
    if (in_.after.fits(gone)) keep_if_better(std::move(gone));
  }

  [[nodiscard]] EvictionCost cost_of(const PodSet& gone) const {
    EvictionCost cost;
    for (const std::size_t position : in_.pool) {
      if (!gone[position]) continue;
      const model::PodRank& rank = pod(position).rank;
      ++cost.pods;
      cost.not_preferred += in_.preferred[position] ? 0 : 1;
      cost.priorities += rank.priority;
      cost.created.push_back(rank.created);
      cost.uids.push_back(pod(position).uid);
    }
    std::ranges::sort(cost.created, is_older);
    std::ranges::sort(cost.uids);
    return cost;
  }

  void keep_if_better(PodSet gone) {
    EvictionCost cost = cost_of(gone);
    if (!best_.empty() && !is_cheaper(cost, best_cost_)) return;
    best_ = std::move(gone);
    best_cost_ = std::move(cost);
  }

  /// Branch and bound over the pods of the pool. The pods before position `next` of the pool are
  /// decided. `chosen` contains the pods that are evicted. `open` contains these and the undecided
  /// pods; the eviction of `open` suffices. A branch ends if it would evict more pods than the best
  /// result, or if the eviction of `open` no longer suffices.
  void branch(std::size_t next, PodSet& chosen, PodSet& open, std::size_t count = 0) {
    if (remaining_steps_-- <= 0) return;
    if (in_.after.fits(chosen)) return keep_if_better(chosen);
    if (next == in_.pool.size() || count + 1 > best_cost_.pods) return;
    const std::size_t position = in_.pool[next];
    open[position] = false;
    if (in_.after.fits(open)) branch(next + 1, chosen, open, count);
    open[position] = true;
    chosen[position] = true;
    branch(next + 1, chosen, open, count + 1);
    chosen[position] = false;
  }

  VictimSearchInput in_;
  PodSet best_;  // the best result so far; empty: none
  EvictionCost best_cost_;
  int remaining_steps_ = in_.after.has_nominations() ? kMaxStepsBesideNominated : kMaxSteps;
};

}  // namespace

PodSet search_victims(VictimSearchInput input) { return VictimSearch(std::move(input)).run(); }

void reprieve(EvictionCheck& after, const std::vector<std::size_t>& pods, PodSet& gone) {
  for (const std::size_t position : pods) {
    gone[position] = false;
    if (!after.fits(gone)) gone[position] = true;
  }
}

}  // namespace snug::plan
