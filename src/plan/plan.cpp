#include "snug/plan/plan.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

#include "snug/base/check.hpp"
#include "snug/base/limits.hpp"
#include "snug/fit/usage.hpp"
#include "snug/plan/choice.hpp"

namespace snug {
namespace {

/// The difference of two scores may need 65 bits.
__extension__ using Wide = __int128;

/// The slice of the take, with its uuid if the slice exists already.
std::optional<Slice> slice_of(const GpuInfo& gpu, const DeviceTake& take) {
  if (take.mode != GpuMode::kMig) return std::nullopt;
  const MigProfile& profile = gpu.mig_table->profiles[take.slice.profile];
  Slice slice{.profile = profile.name, .start = take.slice.start, .size = profile.size, .uuid = {}};
  for (const Slice& known : gpu.mig_instances) {
    if (placement_of(*gpu.mig_table, known) == take.slice) slice = known;
  }
  return slice;
}

/// The devices or units that one container has in a placement.
std::variant<std::vector<ReservedDevice>, KubeletUnits> given(const NodeState& node,
                                                              const ContainerRequest& asked,
                                                              std::size_t container,
                                                              PlacementView placement) {
  if (const auto* kubelet = std::get_if<KubeletAsk>(&asked.ask)) {
    return KubeletUnits{kubelet->resource, asked.count};
  }
  std::vector<ReservedDevice> devices;
  for (const DeviceTake& take : placement.takes) {
    if (take.container != container) continue;
    const GpuInfo& gpu = *node.gpus[take.gpu].info;
    devices.push_back({.index = gpu.index,
                       .uuid = gpu.uuid,
                       .mode = take.mode,
                       .memory = take.memory,
                       .compute = take.compute,
                       .slice = slice_of(gpu, take)});
  }
  return devices;
}

class Planner {
 public:
  explicit Planner(const PlanInput& input)
      : input_(input),
        claim_(input.claim),
        tenant_(tenant_of(claim_.name_space, claim_.sharing, input.snapshot.held)),
        fit_memo_(claim_.request) {}

  /// By name; kNoSlot if the node is not in the snapshot.
  static std::vector<std::uint32_t> slots_of(const Snapshot& snapshot,
                                             std::span<const std::string_view> names) {
    std::vector<std::uint32_t> slots;
    slots.reserve(names.size());
    for (const std::optional<NodeIndex>& found : snapshot.names->find_all(names)) {
      slots.push_back(found.value_or(NodeIndex{kNoSlot}).value);
    }
    return slots;
  }

  /// `before` says whether the name of one candidate precedes that of another, both by position.
  template <typename Before>
  Plan run(std::vector<std::uint32_t> slots, const Before& before) {
    slots_ = std::move(slots);
    plan_.verdicts.resize(slots_.size());
    if (input_.memo != nullptr) input_.memo->learned(input_.snapshot.demand->version);
    recall(before);
    for (std::size_t n = 0; n < to_judge_.size(); ++n) {
      fetch_ahead(n);
      if (fit_memo_.steps() > kMostFitStepsOfCall) {
        plan_.verdicts[to_judge_[n]].reason = kNotJudged;
      } else {
        judge(to_judge_[n]);
        keep_if_best(to_judge_[n], plan_.verdicts[to_judge_[n]], before);
      }
    }
    if (plan_.winner) {
      judge(*plan_.winner);  // for its placement
      SNUG_CHECK(!options_.empty());
      plan_.placement = options_[best_].copy();
    }
    return std::move(plan_);
  }

 private:
  static constexpr std::uint32_t kNoSlot = UINT32_MAX;

  [[nodiscard]] const NodeState& state(std::size_t candidate) const {
    return *input_.snapshot.nodes[slots_[candidate]];
  }

  [[nodiscard]] const Intents* intents_on(std::size_t candidate) const {
    if (input_.snapshot.intents.empty()) return nullptr;
    const auto found = input_.snapshot.intents.find(slots_[candidate]);
    return found == input_.snapshot.intents.end() ? nullptr : &found->second;
  }

  [[nodiscard]] const Nominations* nominations_on(std::size_t candidate) const {
    if (input_.snapshot.nominations.empty()) return nullptr;
    const auto found = input_.snapshot.nominations.find(slots_[candidate]);
    return found == input_.snapshot.nominations.end() ? nullptr : &found->second;
  }

  /// Sets the verdicts that are cached; adds the other candidates to to_judge_.
  template <typename Before>
  void recall(const Before& before) {
    const NodeTable& nodes = input_.snapshot.nodes;
    const PlanMemo* const memo = input_.memo;
    const bool others = !input_.snapshot.intents.empty() || !input_.snapshot.nominations.empty();
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      const std::uint32_t slot = slots_[i];
      if (slot == kNoSlot) {
        plan_.verdicts[i].reason = ReasonCode::kUnknownNode;
        continue;
      }
      const bool by_state = !others || (intents_on(i) == nullptr && nominations_on(i) == nullptr);
      const PlanMemo::Known* const known =
          memo != nullptr && by_state ? memo->find(slot, nodes.version(slot)) : nullptr;
      if (known == nullptr) {
        to_judge_.push_back(i);
        continue;
      }
      plan_.verdicts[i] = {known->reason, known->score_class};
      keep_if_best(i, plan_.verdicts[i], before);
    }
  }

  /// Prefetches the states of the next candidates: the states of a large cluster exceed the
  /// processor's cache (bench/plan_bench).
  void fetch_ahead(std::size_t now) const {
    constexpr std::size_t kFar = 12;
    constexpr std::size_t kNear = 6;
    constexpr std::size_t kCacheLine = 64;
    if (now + kFar < to_judge_.size()) {
      const NodeState& node = state(to_judge_[now + kFar]);
      __builtin_prefetch(&node.inventory);  // the first and the last member that are read
      __builtin_prefetch(&node.annotated_gate);
    }
    if (now + kNear < to_judge_.size()) {
      const std::vector<GpuState>& gpus = state(to_judge_[now + kNear]).gpus;
      const auto* first = reinterpret_cast<const char*>(gpus.data());
      for (std::size_t at = 0; at < gpus.size() * sizeof(GpuState); at += kCacheLine) {
        __builtin_prefetch(first + at);
      }
    }
  }

  /// Sets the candidate's verdict; options_[best_] is its best placement.
  void judge(std::size_t candidate) {
    const NodeState& node = state(candidate);
    Verdict& verdict = plan_.verdicts[candidate];
    const Nominations* nominations = nominations_on(candidate);
    Offer offer(node, {claim_, tenant_, fit_memo_},
                Around{.held = input_.snapshot.held,
                       .nominations = nominations,
                       .intents = intents_on(candidate),
                       .demand = *input_.snapshot.demand},
                options_);
    const Offered offered = offer.find();
    verdict.reason = offered.reason;
    if (offered.reason == ReasonCode::kNone) {
      const NodeState& state = offered.later == nullptr ? node : *offered.later;
      const Best best = best_option(state, claim_, *input_.snapshot.demand, options_);
      verdict.score_class = best.score_class;
      best_ = best.option;
    }
    // Not cached if it depends on intents or nominations: the node's version does not change with
    // them.
    if (input_.memo != nullptr && nominations == nullptr && offered.later == nullptr) {
      const std::size_t slot = slots_[candidate];
      input_.memo->remember(slot, input_.snapshot.nodes.version(slot), verdict.reason,
                            verdict.score_class);
    }
  }

  template <typename Before>
  void keep_if_best(std::size_t candidate, const Verdict& verdict, const Before& before) {
    if (verdict.reason != ReasonCode::kNone) return;
    if (plan_.winner) {
      if (verdict.score_class < leader_) return;
      if (verdict.score_class == leader_ && !before(candidate, *plan_.winner)) return;
    }
    plan_.winner = candidate;
    leader_ = verdict.score_class;
  }

  const PlanInput& input_;
  const Claim& claim_;
  Tenant tenant_;
  Plan plan_;
  std::int64_t leader_ = 0;  // score class of the winner so far
  FitMemo fit_memo_;
  std::vector<std::uint32_t> slots_;   // of the candidates
  std::vector<std::size_t> to_judge_;  // candidates
  PlacementList options_;
  std::size_t best_ = 0;
};

}  // namespace

Plan plan(const PlanInput& input, std::span<const std::string_view> candidates) {
  return Planner(input).run(
      Planner::slots_of(input.snapshot, candidates),
      [&](std::size_t one, std::size_t other) { return candidates[one] < candidates[other]; });
}

Plan plan(const PlanInput& input, std::span<const NodeIndex> candidates) {
  std::vector<std::uint32_t> slots(candidates.size());
  std::ranges::transform(candidates, slots.begin(), &NodeIndex::value);
  return Planner(input).run(std::move(slots),
                            [](std::size_t one, std::size_t other) { return one < other; });
}

std::vector<int> advise(const Plan& plan) {
  std::vector<int> scores(plan.verdicts.size(), 0);
  if (!plan.winner) return scores;
  const Verdict& best = plan.verdicts[*plan.winner];
  std::int64_t lowest = best.score_class;
  for (const Verdict& verdict : plan.verdicts) {
    if (verdict.reason == ReasonCode::kNone) lowest = std::min(lowest, verdict.score_class);
  }
  const Wide range = Wide{best.score_class} - lowest;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const Verdict& verdict = plan.verdicts[i];
    if (verdict.reason != ReasonCode::kNone) continue;
    if (verdict.score_class == best.score_class) {
      scores[i] = kBestScore;
    } else {
      const Wide part = kBestScore * (Wide{verdict.score_class} - lowest) / range;
      scores[i] = std::min(kBestScore - 1, static_cast<int>(part));
    }
  }
  return scores;
}

std::shared_ptr<Holding> to_holding(const NodeState& node, const Claim& claim,
                                    PlacementView placement) {
  auto holding = std::make_shared<Holding>();
  holding->name_space = claim.name_space;
  holding->uid = claim.rank.uid;
  holding->written = true;
  holding->request = to_text(claim.request);
  holding->main_container = claim.request.main_container;
  holding->rank = claim.rank;
  holding->reservation = {.uid = claim.rank.uid, .node = node.name(), .containers = {}};
  for (std::size_t c = 0; c < claim.request.containers.size(); ++c) {
    const ContainerRequest& asked = claim.request.containers[c];
    holding->asks.emplace_back(asked);
    holding->kinds.push_back(asked.kind);
    holding->reservation.containers.push_back({.name = asked.container,
                                               .request = asked.text,
                                               .given = given(node, asked, c, placement)});
  }
  return holding;
}

}  // namespace snug
