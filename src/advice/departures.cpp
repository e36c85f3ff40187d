#include "advice/departures.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "snug/base/limits.hpp"
#include "snug/plan/gpu_marks.hpp"
#include "snug/plan/node_resources_fit.hpp"

namespace snug::advice {
namespace {

std::vector<std::size_t> gpus_of(const model::NodeState& node, const model::Holding& pod) {
  plan::GpuMarks marks;
  plan::mark_gpus(node, pod, marks);
  std::vector<std::size_t> gpus;
  for (std::size_t gpu = 0; gpu < marks.size(); ++gpu) {
    if (marks[gpu]) gpus.push_back(gpu);
  }
  return gpus;
}

bool share_a_gpu(const std::vector<std::size_t>& a, const std::vector<std::size_t>& b) {
  return std::ranges::any_of(a,
                             [&](std::size_t gpu) { return std::ranges::find(b, gpu) != b.end(); });
}

std::vector<std::size_t> united_gpus(const std::vector<std::size_t>& a,
                                     const std::vector<std::size_t>& b) {
  std::vector<std::size_t> both;
  std::ranges::set_union(a, b, std::back_inserter(both));
  return both;
}

}  // namespace

DepartureSearch::DepartureSearch(RepackCluster& cluster, Slot slot, const plan::FitQuery& query)
    : cluster_(cluster),
      node_(*cluster.state(slot)),
      nominations_(cluster.nominations(slot)),
      query_(query),
      movable_pods_(cluster.movable_pods(slot)) {
  for (const model::HoldingPtr& pod : node_.holdings) {
    const bool moves = std::ranges::any_of(
        movable_pods_, [&](const MovablePod& movable) { return movable.pod.get() == pod.get(); });
    if (!moves && !pod->is_cpu_only()) staying_pods_.push_back(pod);
  }
  for (std::size_t i = 0; i < movable_pods_.size(); ++i) {
    gpus_.push_back(gpus_of(node_, *movable_pods_[i].pod));
    std::optional<std::size_t>& twin = earlier_twin_.emplace_back();
    for (std::size_t before = i; before-- > 0 && !twin;) {
      const bool alike = movable_pods_[before].pod_class == movable_pods_[i].pod_class &&
                         gpus_[before] == gpus_[i] &&
                         movable_pods_[before].pod->reservation.containers ==
                             movable_pods_[i].pod->reservation.containers;
      if (alike) twin = before;
    }
  }
}

std::vector<MovablePod> DepartureSearch::pods_in(const DepartureSet& departing) const {
  std::vector<MovablePod> some;
  for (std::size_t i = 0; i < departing.size(); ++i) {
    if (departing[i]) some.push_back(movable_pods_[i]);
  }
  return some;
}

model::ReasonCode DepartureSearch::reason_without_all() { return reason_without(all_movable()); }

bool DepartureSearch::host_fits_without_all() const { return host_fits(all_movable()); }

/// Why the request does not fit after these pods have left; kNone: it fits. Namespace usage is not
/// changed, because a pod that moves holds the same amount on another node.
model::ReasonCode DepartureSearch::reason_without(const DepartureSet& departed) {
  std::vector<model::HoldingPtr> remaining_pods = staying_pods_;
  for (std::size_t i = 0; i < departed.size(); ++i) {
    if (!departed[i]) remaining_pods.push_back(movable_pods_[i].pod);
  }
  const model::NodeStatePtr state =
      cluster_.counted_with_holdings(node_, std::move(remaining_pods));
  if (nominations_ != nullptr) {
    const std::int64_t before = query_.memo.work();
    const plan::NodeChoice choice =
        plan::choose_placement_with(query_.memo, *state, query_.incoming,
                                    {.namespace_usage = cluster_.namespace_usage(),
                                     .nominations = nominations_,
                                     .demand = cluster_.demand()});
    cluster_.count_work(query_.memo.work() - before);
    return choice.reason;
  }
  model::PlacementList options;
  return cluster_.counted_fit(*state, query_.tenant, query_.memo, options);
}

bool DepartureSearch::host_fits(const DepartureSet& departed) const {
  model::HostResources used = node_.host_used;
  std::int64_t pods = node_.pod_count;
  for (std::size_t i = 0; i < departed.size(); ++i) {
    if (!departed[i]) continue;
    used.cpu_milli -= movable_pods_[i].pod->host.cpu_milli;
    used.memory_bytes -= movable_pods_[i].pod->host.memory_bytes;
    --pods;
  }
  return plan::node_resources_fit(node_.inventory->host, used, pods, query_.incoming.host);
}

bool DepartureSearch::fits(const DepartureSet& departed) {
  const auto [cached_fit, is_new] = fits_without_.try_emplace(departed, false);
  if (is_new)
    cached_fit->second =
        host_fits(departed) && reason_without(departed) == model::ReasonCode::kNone;
  return cached_fit->second;
}

/// Whether the request fits after all movable pods on `gpus` have left. If it does not, the
/// departure of only some of these pods is not sufficient either.
bool DepartureSearch::fits_without_all_on(const Gpus& gpus) {
  DepartureSet departed(movable_pods_.size());
  for (std::size_t i = 0; i < departed.size(); ++i) departed[i] = share_a_gpu(gpus_[i], gpus);
  return fits(departed);
}

/// Whether `departing`, which contains `mover`, lacks the identical pod that precedes `mover`. Such
/// a set is skipped, because an equivalent set has that pod in place of `mover`.
bool DepartureSearch::is_redundant_twin(std::size_t mover, const DepartureSet& departing) const {
  const std::optional<std::size_t> twin = earlier_twin_[mover];
  return twin && !departing[*twin];
}

/// A cheap check of whether the departure of `pods` pods can be sufficient. These pods free at most
/// the GPUs that they use, so the request's other GPUs must be available without any departure.
bool DepartureSearch::could_suffice(std::int64_t pods) {
  const model::GpuRequest& request = query_.incoming.request;
  if (request.containers.size() > 1 || request.is_kubelet_assigned()) return true;
  std::size_t widest = 0;
  for (const Gpus& gpus : gpus_) widest = std::max(widest, gpus.size());
  model::GpuRequest smaller_request = request;
  std::int64_t& count = smaller_request.containers.front().count;
  count -= pods * static_cast<std::int64_t>(widest);
  if (count <= 0) return true;
  fit::FitMemo memo(smaller_request);
  model::PlacementList options;
  fit::Tenant tenant = query_.tenant;
  tenant.cap_remaining = fit::kNoCap;
  return cluster_.counted_fit(node_, tenant, memo, options) == model::ReasonCode::kNone;
}

std::vector<DepartureSet> DepartureSearch::singles() {
  std::vector<DepartureSet> sufficient_sets;
  sufficient_alone_.assign(movable_pods_.size(), false);
  if (!could_suffice(1)) return sufficient_sets;
  for (std::size_t i = 0; i < movable_pods_.size(); ++i) {
    if (const std::optional<std::size_t> twin = earlier_twin_[i]) {
      sufficient_alone_[i] = sufficient_alone_[*twin];
      continue;
    }
    DepartureSet departed(movable_pods_.size());
    departed[i] = true;
    if (!fits_without_all_on(gpus_[i]) || !fits(departed)) continue;
    sufficient_alone_[i] = true;
    sufficient_sets.push_back(std::move(departed));
  }
  return sufficient_sets;
}

std::vector<DepartureSet> DepartureSearch::pairs() {
  std::vector<DepartureSet> sufficient_sets;
  if (movable_pods_.size() > base::kMaxPodsForPairs || !could_suffice(2)) return sufficient_sets;
  for (std::size_t i = 0; i < movable_pods_.size(); ++i) {
    for (std::size_t j = i + 1; j < movable_pods_.size(); ++j) {
      if (sufficient_alone_[i] || sufficient_alone_[j]) continue;
      DepartureSet departed(movable_pods_.size());
      departed[i] = departed[j] = true;
      if (is_redundant_twin(i, departed) || is_redundant_twin(j, departed)) continue;
      if (fits_without_all_on(united_gpus(gpus_[i], gpus_[j])) && fits(departed)) {
        sufficient_sets.push_back(std::move(departed));
      }
    }
  }
  return sufficient_sets;
}

/// The GPUs that hold movable pods, each as a group of its own. They are sorted by the number of
/// these pods, then by the milli-GPU of these pods, both descending.
std::vector<DepartureSearch::Gpus> DepartureSearch::gpus_by_crowding() const {
  // For each GPU, the number of its movable pods and their milli-GPU, both negated for the
  // ascending sort.
  std::map<std::size_t, std::pair<std::int64_t, std::int64_t>> crowds;
  for (std::size_t i = 0; i < movable_pods_.size(); ++i) {
    for (const std::size_t gpu : gpus_[i]) {
      --crowds[gpu].first;
      crowds[gpu].second -= movable_pods_[i].held_milli;
    }
  }
  std::vector<std::pair<std::pair<std::int64_t, std::int64_t>, std::size_t>> crowded_gpus;
  crowded_gpus.reserve(crowds.size());
  for (const auto& [gpu, crowd] : crowds) crowded_gpus.emplace_back(crowd, gpu);
  std::ranges::sort(crowded_gpus);
  std::vector<Gpus> gpu_groups;
  gpu_groups.reserve(crowded_gpus.size());
  for (const auto& [crowd, gpu] : crowded_gpus) gpu_groups.push_back({gpu});
  return gpu_groups;
}

/// Returns `departed` without the pods that need not leave. First tries to keep all pods of a group
/// of GPUs at once, then single pods.
DepartureSet DepartureSearch::after_reprieve(DepartureSet departed,
                                             const std::vector<Gpus>& gpu_groups,
                                             bool large_first) {
  const auto keep = [&](DepartureSet reprieved) {
    if (fits(reprieved)) departed = std::move(reprieved);
  };
  for (const Gpus& gpus : gpu_groups) {
    DepartureSet reprieved = departed;
    for (std::size_t i = 0; i < reprieved.size(); ++i)
      reprieved[i] = departed[i] && !share_a_gpu(gpus_[i], gpus);
    keep(std::move(reprieved));
  }
  for (std::size_t n = 0; n < movable_pods_.size(); ++n) {
    const std::size_t i = large_first ? n : movable_pods_.size() - 1 - n;
    if (!departed[i]) continue;
    DepartureSet reprieved = departed;
    reprieved[i] = false;
    keep(std::move(reprieved));
  }
  return departed;
}

std::vector<DepartureSet> DepartureSearch::larger_sets(const DepartureSet& preferred) {
  std::vector<DepartureSet> sufficient_sets;
  const DepartureSet departed = fits(preferred) ? preferred : all_movable();
  if (!fits(departed)) return sufficient_sets;
  const std::vector<Gpus> crowded_first = gpus_by_crowding();
  for (std::size_t last = 0; last < crowded_first.size(); ++last) {
    std::vector<Gpus> order = crowded_first;
    std::rotate(order.begin() + static_cast<std::ptrdiff_t>(last),
                order.begin() + static_cast<std::ptrdiff_t>(last) + 1, order.end());
    for (const bool large_first : {false, true})
      sufficient_sets.push_back(after_reprieve(departed, order, large_first));
  }
  std::ranges::sort(sufficient_sets);
  const auto twice = std::ranges::unique(sufficient_sets);
  sufficient_sets.erase(twice.begin(), twice.end());
  return sufficient_sets;
}

}  // namespace snug::advice
