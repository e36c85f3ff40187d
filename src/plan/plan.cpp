#include "snug/plan/plan.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

#include "snug/base/check.hpp"
#include "snug/base/limits.hpp"
#include "snug/fit/node_usage.hpp"
#include "snug/plan/placement_finder.hpp"

namespace snug::plan {
namespace {

/// The difference of two scores may need 65 bits.
__extension__ using WideScore = __int128;

/// The slice that the allocation names, with its uuid if the slice exists already; nullopt: the
/// allocation is not a slice.
std::optional<model::Slice> reserved_slice(const model::GpuInfo& gpu,
                                           const model::DeviceAllocation& allocation) {
  if (allocation.mode != model::GpuMode::kMig) return std::nullopt;
  const model::MigProfile& profile = gpu.mig_table->profiles[allocation.slice.profile];
  model::Slice slice{
      .profile = profile.name, .start = allocation.slice.start, .size = profile.size, .uuid = {}};
  for (const model::Slice& existing_slice : gpu.mig_instances) {
    if (model::find_placement(*gpu.mig_table, existing_slice) == allocation.slice)
      slice = existing_slice;
  }
  return slice;
}

/// The devices or kubelet-assigned units that the placement gives to one container.
std::variant<std::vector<model::ReservedDevice>, model::KubeletUnits> assigned_to(
    const model::NodeState& node, const model::ContainerRequest& container_request,
    std::size_t container, model::PlacementView placement) {
  if (const auto* kubelet = std::get_if<model::KubeletRequest>(&container_request.device)) {
    return model::KubeletUnits{kubelet->resource, container_request.count};
  }
  std::vector<model::ReservedDevice> devices;
  for (const model::DeviceAllocation& allocation : placement.allocations) {
    if (allocation.container != container) continue;
    const model::GpuInfo& gpu = *node.gpus[allocation.gpu].info;
    devices.push_back({.index = gpu.index,
                       .uuid = gpu.uuid,
                       .mode = allocation.mode,
                       .memory = allocation.memory,
                       .compute = allocation.compute,
                       .slice = reserved_slice(gpu, allocation)});
  }
  return devices;
}

class Planner {
 public:
  explicit Planner(const PlanInput& input)
      : input_(input),
        incoming_(input.incoming),
        tenant_(fit::tenant_of(incoming_.name_space, incoming_.sharing,
                               input.snapshot.namespace_usage)),
        fit_memo_(incoming_.request) {}

  /// The slots of the nodes with these names; kNoSlot for a node that is not in the snapshot.
  static std::vector<std::uint32_t> slots_of(const model::Snapshot& snapshot,
                                             std::span<const std::string_view> names) {
    std::vector<std::uint32_t> slots;
    slots.reserve(names.size());
    for (const std::optional<base::NodeIndex>& node_index : snapshot.names->find_all(names)) {
      slots.push_back(node_index.value_or(base::NodeIndex{kNoSlot}).value);
    }
    return slots;
  }

  /// Decides about the candidates in these slots. `precedes_by_name(a, b)` returns whether the name
  /// of the candidate at position a precedes that of the candidate at position b.
  template <typename Before>
  Plan run(std::vector<std::uint32_t> slots, const Before& precedes_by_name) {
    slots_ = std::move(slots);
    plan_.verdicts.resize(slots_.size());
    if (input_.cache != nullptr)
      input_.cache->invalidate_if_demand_changed(input_.snapshot.demand->version);
    read_cached_verdicts(precedes_by_name);
    for (std::size_t n = 0; n < to_judge_.size(); ++n) {
      prefetch(n);
      if (fit_memo_.steps() > base::kMaxFitStepsPerCall) {
        plan_.verdicts[to_judge_[n]].reason = fit::kNotJudged;
      } else {
        judge(to_judge_[n]);
        keep_if_best(to_judge_[n], plan_.verdicts[to_judge_[n]], precedes_by_name);
      }
    }
    if (plan_.winner) {
      judge(*plan_.winner);  // computes the placement on the winner
      SNUG_CHECK(!options_.empty());
      plan_.placement = options_[best_option_].copy();
    }
    plan_.slots = std::move(slots_);
    return std::move(plan_);
  }

 private:
  [[nodiscard]] const model::NodeState& state(std::size_t candidate) const {
    return *input_.snapshot.nodes[slots_[candidate]];
  }

  [[nodiscard]] const model::Intents* intents_on(std::size_t candidate) const {
    return input_.snapshot.intents_on(slots_[candidate]);
  }

  [[nodiscard]] const model::Nominations* nominations_on(std::size_t candidate) const {
    return input_.snapshot.nominations_on(slots_[candidate]);
  }

  /// Sets the verdict of each candidate that is not in the snapshot or whose verdict is cached.
  /// Adds all other candidates to to_judge_.
  template <typename Before>
  void read_cached_verdicts(const Before& precedes_by_name) {
    const model::NodeTable& nodes = input_.snapshot.nodes;
    const VerdictCache* const cache = input_.cache;
    const bool others = !input_.snapshot.intents.empty() || !input_.snapshot.nominations.empty();
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      const std::uint32_t slot = slots_[i];
      if (slot == kNoSlot) {
        plan_.verdicts[i].reason = model::ReasonCode::kUnknownNode;
        continue;
      }
      const bool state_decides =
          !others || (intents_on(i) == nullptr && nominations_on(i) == nullptr);
      const VerdictCache::Entry* const cached_verdict =
          cache != nullptr && state_decides ? cache->find(slot, nodes.version(slot)) : nullptr;
      if (cached_verdict == nullptr) {
        to_judge_.push_back(i);
        continue;
      }
      plan_.verdicts[i] = {cached_verdict->reason, cached_verdict->score_class};
      keep_if_best(i, plan_.verdicts[i], precedes_by_name);
    }
  }

  /// Prefetches the node states of the next candidates, because the states of a large cluster
  /// exceed the processor's cache (measured by bench/plan_bench).
  void prefetch(std::size_t now) const {
    constexpr std::size_t kFar = 12;
    constexpr std::size_t kNear = 6;
    constexpr std::size_t kCacheLine = 64;
    if (now + kFar < to_judge_.size()) {
      const model::NodeState& node = state(to_judge_[now + kFar]);
      __builtin_prefetch(&node.inventory);  // the first and last member that a decision reads
      __builtin_prefetch(&node.annotated_refusal);
    }
    if (now + kNear < to_judge_.size()) {
      const std::vector<model::GpuState>& gpus = state(to_judge_[now + kNear]).gpus;
      const auto* first = reinterpret_cast<const char*>(gpus.data());
      for (std::size_t at = 0; at < gpus.size() * sizeof(model::GpuState); at += kCacheLine) {
        __builtin_prefetch(first + at);
      }
    }
  }

  /// Computes the verdict of the candidate. If it is feasible, its best placement is
  /// options_[best_option_].
  void judge(std::size_t candidate) {
    const model::NodeState& node = state(candidate);
    Verdict& verdict = plan_.verdicts[candidate];
    const model::Nominations* nominations = nominations_on(candidate);
    PlacementFinder finder(node, {incoming_, tenant_, fit_memo_},
                           NodeContext{.namespace_usage = input_.snapshot.namespace_usage,
                                       .nominations = nominations,
                                       .intents = intents_on(candidate),
                                       .demand = *input_.snapshot.demand},
                           options_);
    const FoundPlacements found_placements = finder.find();
    verdict.reason = found_placements.reason;
    if (found_placements.reason == model::ReasonCode::kNone) {
      const BestOption best_placement = finder.best(found_placements);
      verdict.score_class = best_placement.score_class;
      best_option_ = best_placement.option;
    }
    // A verdict that depends on intents or nominations is not cached, because they change without a
    // new version of the node state.
    if (input_.cache != nullptr && nominations == nullptr &&
        found_placements.with_intents == nullptr) {
      const std::size_t slot = slots_[candidate];
      input_.cache->put(slot, input_.snapshot.nodes.version(slot), verdict.reason,
                        verdict.score_class);
    }
  }

  template <typename Before>
  void keep_if_best(std::size_t candidate, const Verdict& verdict, const Before& precedes_by_name) {
    if (verdict.reason != model::ReasonCode::kNone) return;
    const auto beats = [&](std::size_t other, std::int64_t other_class) {
      return verdict.score_class != other_class ? verdict.score_class > other_class
                                                : precedes_by_name(candidate, other);
    };
    if (!plan_.winner || beats(*plan_.winner, best_class_)) {
      plan_.runner_up = plan_.winner;
      second_class_ = best_class_;
      plan_.winner = candidate;
      best_class_ = verdict.score_class;
    } else if (!plan_.runner_up || beats(*plan_.runner_up, second_class_)) {
      plan_.runner_up = candidate;
      second_class_ = verdict.score_class;
    }
  }

  const PlanInput& input_;
  const IncomingPod& incoming_;
  fit::Tenant tenant_;
  Plan plan_;
  std::int64_t best_class_ = 0;    // score class of plan_.winner
  std::int64_t second_class_ = 0;  // score class of plan_.runner_up
  fit::FitMemo fit_memo_;
  std::vector<std::uint32_t> slots_;   // the slots of the candidates
  std::vector<std::size_t> to_judge_;  // candidates without a cached verdict
  model::PlacementList options_;
  std::size_t best_option_ = 0;
};

}  // namespace

Plan plan(const PlanInput& input, std::span<const std::string_view> candidates) {
  return Planner(input).run(
      Planner::slots_of(input.snapshot, candidates),
      [&](std::size_t one, std::size_t other) { return candidates[one] < candidates[other]; });
}

Plan plan(const PlanInput& input, std::span<const base::NodeIndex> candidates) {
  std::vector<std::uint32_t> slots(candidates.size());
  std::ranges::transform(candidates, slots.begin(), &base::NodeIndex::value);
  return Planner(input).run(std::move(slots),
                            [](std::size_t one, std::size_t other) { return one < other; });
}

std::vector<int> extender_scores(const Plan& plan) {
  std::vector<int> scores(plan.verdicts.size(), 0);
  if (!plan.winner) return scores;
  const Verdict& best_verdict = plan.verdicts[*plan.winner];
  std::int64_t lowest = best_verdict.score_class;
  for (const Verdict& verdict : plan.verdicts) {
    if (verdict.reason == model::ReasonCode::kNone) lowest = std::min(lowest, verdict.score_class);
  }
  const WideScore range = WideScore{best_verdict.score_class} - lowest;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const Verdict& verdict = plan.verdicts[i];
    if (verdict.reason != model::ReasonCode::kNone) continue;
    if (verdict.score_class == best_verdict.score_class) {
      scores[i] = kMaxExtenderPriority;
    } else {
      const WideScore part =
          kMaxExtenderPriority * (WideScore{verdict.score_class} - lowest) / range;
      scores[i] = std::min(kMaxExtenderPriority - 1, static_cast<int>(part));
    }
  }
  return scores;
}

model::ReasonCode main_reason(std::span<const Verdict> verdicts) {
  const auto distance_of = [](model::ReasonCode reason) {
    return model::reason_row(reason).distance;
  };
  std::vector<std::size_t> counts(model::all_reasons().size(), 0);
  model::ReasonCode nearest = model::ReasonCode::kNone;
  for (const Verdict& verdict : verdicts) {
    ++counts[static_cast<std::size_t>(verdict.reason)];
    if (distance_of(verdict.reason) < distance_of(nearest)) nearest = verdict.reason;
  }
  // The reasons up to OtherKind are given only if the node's GPUs suit the pod.
  if (distance_of(nearest) <= distance_of(model::ReasonCode::kOtherKind)) return nearest;
  return static_cast<model::ReasonCode>(std::ranges::max_element(counts) - counts.begin());
}

std::shared_ptr<model::Holding> to_holding(const model::NodeState& node,
                                           const IncomingPod& incoming,
                                           model::PlacementView placement) {
  auto holding = std::make_shared<model::Holding>();
  holding->name_space = incoming.name_space;
  holding->uid = incoming.rank.uid;
  holding->reservation_written = true;
  holding->request_text = model::to_text(incoming.request);
  holding->main_container = incoming.request.main_container;
  holding->rank = incoming.rank;
  holding->reservation = {.uid = incoming.rank.uid, .node = node.name(), .containers = {}};
  for (std::size_t c = 0; c < incoming.request.containers.size(); ++c) {
    const model::ContainerRequest& container_request = incoming.request.containers[c];
    holding->container_requests.emplace_back(container_request);
    holding->container_types.push_back(container_request.type);
    holding->reservation.containers.push_back(
        {.name = container_request.container,
         .request_text = container_request.text,
         .assigned = assigned_to(node, container_request, c, placement)});
  }
  return holding;
}

}  // namespace snug::plan
