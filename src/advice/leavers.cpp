#include "advice/leavers.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "snug/base/limits.hpp"
#include "snug/plan/apart.hpp"
#include "snug/plan/host_room.hpp"

namespace snug {
namespace {

std::vector<std::size_t> gpus_of(const NodeState& node, const Holding& pod) {
  GpuMarks marks;
  mark_gpus(node, pod, marks);
  std::vector<std::size_t> gpus;
  for (std::size_t gpu = 0; gpu < marks.size(); ++gpu) {
    if (marks[gpu]) gpus.push_back(gpu);
  }
  return gpus;
}

bool meet(const std::vector<std::size_t>& a, const std::vector<std::size_t>& b) {
  return std::ranges::any_of(a,
                             [&](std::size_t gpu) { return std::ranges::find(b, gpu) != b.end(); });
}

std::vector<std::size_t> either(const std::vector<std::size_t>& a,
                                const std::vector<std::size_t>& b) {
  std::vector<std::size_t> both;
  std::ranges::set_union(a, b, std::back_inserter(both));
  return both;
}

}  // namespace

Leavers::Leavers(RepackCluster& cluster, Slot slot, const Asking& asking)
    : cluster_(cluster),
      node_(*cluster.state(slot)),
      nominations_(cluster.nominations(slot)),
      asking_(asking),
      movers_(cluster.movers(slot)) {
  for (const HoldingPtr& pod : node_.holdings) {
    const bool moves = std::ranges::any_of(
        movers_, [&](const Mover& mover) { return mover.pod.get() == pod.get(); });
    if (!moves && !pod->of_host_alone()) others_.push_back(pod);
  }
  for (std::size_t i = 0; i < movers_.size(); ++i) {
    gpus_.push_back(gpus_of(node_, *movers_[i].pod));
    std::optional<std::size_t>& twin = twin_.emplace_back();
    for (std::size_t before = i; before-- > 0 && !twin;) {
      const bool alike =
          movers_[before].kind == movers_[i].kind && gpus_[before] == gpus_[i] &&
          movers_[before].pod->reservation.containers == movers_[i].pod->reservation.containers;
      if (alike) twin = before;
    }
  }
}

std::vector<Mover> Leavers::of(const MoverSet& set) const {
  std::vector<Mover> some;
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (set[i]) some.push_back(movers_[i]);
  }
  return some;
}

ReasonCode Leavers::reason_without_all() { return reason_without(all()); }

bool Leavers::host_fits_without_all() const { return host_fits(all()); }

/// Namespace usage stays as it is now: a pod that moves holds the same amount on another node.
ReasonCode Leavers::reason_without(const MoverSet& gone) {
  std::vector<HoldingPtr> left = others_;
  for (std::size_t i = 0; i < gone.size(); ++i) {
    if (!gone[i]) left.push_back(movers_[i].pod);
  }
  const NodeStatePtr state = cluster_.with_holdings_on(node_, std::move(left));
  if (nominations_ != nullptr) {
    const std::int64_t before = asking_.memo.work();
    const NodeChoice choice = choose_with(
        asking_.memo, *state, asking_.claim,
        {.held = cluster_.held(), .nominations = nominations_, .demand = cluster_.demand()});
    cluster_.count_work(asking_.memo.work() - before);
    return choice.reason;
  }
  PlacementList options;
  return cluster_.fit_on(*state, asking_.tenant, asking_.memo, options);
}

bool Leavers::host_fits(const MoverSet& gone) const {
  HostAmounts used = node_.host_used;
  std::int64_t pods = node_.pods;
  for (std::size_t i = 0; i < gone.size(); ++i) {
    if (!gone[i]) continue;
    used.cpu_milli -= movers_[i].pod->host.cpu_milli;
    used.memory_bytes -= movers_[i].pod->host.memory_bytes;
    --pods;
  }
  return host_has_room(node_.inventory->host, used, pods, asking_.claim.host);
}

bool Leavers::fits(const MoverSet& gone) {
  const auto [found, is_new] = known_.try_emplace(gone, false);
  if (is_new) found->second = host_fits(gone) && reason_without(gone) == ReasonCode::kNone;
  return found->second;
}

/// A cheap necessary condition: if the departure of all pods on these GPUs is not sufficient, no
/// subset is.
bool Leavers::fits_without_all_on(const Gpus& gpus) {
  MoverSet gone(movers_.size());
  for (std::size_t i = 0; i < gone.size(); ++i) gone[i] = meet(gpus_[i], gpus);
  return fits(gone);
}

/// Breaks the symmetry of identical pods, of which the first ones leave: true if the set contains
/// `mover` without the identical pod before it. Such a set is equivalent to one that is tried.
bool Leavers::told_by_twin(std::size_t mover, const MoverSet& set) const {
  const std::optional<std::size_t> twin = twin_[mover];
  return twin && !set[*twin];
}

/// A cheap necessary condition: `pods` pods free at most the GPUs that they use, so the request
/// minus that number of GPUs must fit now.
bool Leavers::may_do(std::int64_t pods) {
  const GpuRequest& request = asking_.claim.request;
  if (request.containers.size() > 1 || request.kubelet_assigned()) return true;
  std::size_t widest = 0;
  for (const Gpus& gpus : gpus_) widest = std::max(widest, gpus.size());
  GpuRequest others = request;
  std::int64_t& count = others.containers.front().count;
  count -= pods * static_cast<std::int64_t>(widest);
  if (count <= 0) return true;
  FitMemo memo(others);
  PlacementList options;
  Tenant tenant = asking_.tenant;
  tenant.cap_left = kNoCap;
  return cluster_.fit_on(node_, tenant, memo, options) == ReasonCode::kNone;
}

std::vector<MoverSet> Leavers::singles() {
  std::vector<MoverSet> found;
  enough_alone_.assign(movers_.size(), false);
  if (!may_do(1)) return found;
  for (std::size_t i = 0; i < movers_.size(); ++i) {
    if (const std::optional<std::size_t> twin = twin_[i]) {
      enough_alone_[i] = enough_alone_[*twin];
      continue;
    }
    MoverSet gone(movers_.size());
    gone[i] = true;
    if (!fits_without_all_on(gpus_[i]) || !fits(gone)) continue;
    enough_alone_[i] = true;
    found.push_back(std::move(gone));
  }
  return found;
}

std::vector<MoverSet> Leavers::pairs() {
  std::vector<MoverSet> found;
  if (movers_.size() > kMostPodsForPairs || !may_do(2)) return found;
  for (std::size_t i = 0; i < movers_.size(); ++i) {
    for (std::size_t j = i + 1; j < movers_.size(); ++j) {
      if (enough_alone_[i] || enough_alone_[j]) continue;
      MoverSet gone(movers_.size());
      gone[i] = gone[j] = true;
      if (told_by_twin(i, gone) || told_by_twin(j, gone)) continue;
      if (fits_without_all_on(either(gpus_[i], gpus_[j])) && fits(gone)) {
        found.push_back(std::move(gone));
      }
    }
  }
  return found;
}

/// The GPUs with movers, one group for each, in descending order of pods, then of milli-GPU.
std::vector<Leavers::Gpus> Leavers::groups() const {
  std::map<std::size_t, std::pair<std::int64_t, std::int64_t>> crowds;  // pods and milli, negative
  for (std::size_t i = 0; i < movers_.size(); ++i) {
    for (const std::size_t gpu : gpus_[i]) {
      --crowds[gpu].first;
      crowds[gpu].second -= movers_[i].milli;
    }
  }
  std::vector<std::pair<std::pair<std::int64_t, std::int64_t>, std::size_t>> sorted;
  sorted.reserve(crowds.size());
  for (const auto& [gpu, crowd] : crowds) sorted.emplace_back(crowd, gpu);
  std::ranges::sort(sorted);
  std::vector<Gpus> groups;
  groups.reserve(sorted.size());
  for (const auto& [crowd, gpu] : sorted) groups.push_back({gpu});
  return groups;
}

/// Removes from `gone` the pods that can stay: first all pods of a GPU at once, then single pods.
MoverSet Leavers::reprieved(MoverSet gone, const std::vector<Gpus>& groups, bool large_first) {
  const auto keep = [&](MoverSet kept) {
    if (fits(kept)) gone = std::move(kept);
  };
  for (const Gpus& gpus : groups) {
    MoverSet kept = gone;
    for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = gone[i] && !meet(gpus_[i], gpus);
    keep(std::move(kept));
  }
  for (std::size_t n = 0; n < movers_.size(); ++n) {
    const std::size_t i = large_first ? n : movers_.size() - 1 - n;
    if (!gone[i]) continue;
    MoverSet kept = gone;
    kept[i] = false;
    keep(std::move(kept));
  }
  return gone;
}

std::vector<MoverSet> Leavers::several(const MoverSet& preferred) {
  std::vector<MoverSet> found;
  const MoverSet gone = fits(preferred) ? preferred : all();
  if (!fits(gone)) return found;
  const std::vector<Gpus> crowded_first = groups();
  for (std::size_t last = 0; last < crowded_first.size(); ++last) {
    std::vector<Gpus> order = crowded_first;
    std::rotate(order.begin() + static_cast<std::ptrdiff_t>(last),
                order.begin() + static_cast<std::ptrdiff_t>(last) + 1, order.end());
    for (const bool large_first : {false, true})
      found.push_back(reprieved(gone, order, large_first));
  }
  std::ranges::sort(found);
  const auto twice = std::ranges::unique(found);
  found.erase(twice.begin(), twice.end());
  return found;
}

}  // namespace snug
