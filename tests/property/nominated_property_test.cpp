// Room that is kept for nominated pods, against all ways to place them, on small nodes; and what
// evictions change about it.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "many.hpp"
#include "nominated_oracle.hpp"
#include "random_cluster.hpp"
#include "snug/plan/choose_victims.hpp"
#include "support/owned_incoming_pod.hpp"

namespace snug::nominated_property_test {
namespace {

using Mask = std::uint32_t;

OracleAsk draw_ask(int gpus) {
  const int count = one_in(4) ? 1 + draw(gpus) : 1;
  if (one_in(4)) return {1000, count};
  return {100 * (1 + draw(one_in(2) ? 9 : 5)), count};
}

model::GpuRequest request_of(const OracleAsk& ask) {
  if (ask.thousandths == 1000) return make_whole(ask.count);
  model::GpuRequest request = make_fraction(ask.thousandths);
  request.containers.front().count = ask.count;
  return request;
}

std::string text_of(const OraclePod& pod) {
  return pod.rank.uid + " of " + pod.name_space + " priority " + std::to_string(pod.rank.priority) +
         " asks " + std::to_string(pod.ask.count) + " x " + std::to_string(pod.ask.thousandths);
}

/// One node with its pods, those that are nominated to it, and one that asks.
struct Scene {
  NominatedOracle::Node node;
  std::vector<OraclePod> nominated;
  OraclePod asking;
  bool mirrored = false;  // the node and all pods state the resource that mirrors compute

  /// Whether the sum of that resource suffices, counted as kube-scheduler does.
  [[nodiscard]] bool sum_suffices(Mask gone) const {
    if (!mirrored) return true;
    int sum = milli_of(asking);
    for (const OracleHolder& holder : without(gone).holders) sum += milli_of(holder.pod);
    for (const OraclePod& pod : nominated) {
      if (pod.rank.priority >= asking.rank.priority) sum += milli_of(pod);
    }
    return sum <= 1000 * node.gpus;
  }
  [[nodiscard]] Scene with_started(const std::vector<OracleHolder>& started) const {
    Scene scene = *this;
    for (const OracleHolder& holder : started) {
      scene.node.holders.push_back(holder);
      std::erase_if(scene.nominated,
                    [&](const OraclePod& pod) { return pod.rank.uid == holder.pod.rank.uid; });
    }
    return scene;
  }
  /// What kube-scheduler chooses by that sum: all lower pods but those that it can spare, the most
  /// important ones first. Nothing: the sum suffices as it is, or for no set of victims.
  [[nodiscard]] Mask chosen_by_sum() const {
    Mask gone = may_go();
    if (sum_suffices(0) || !sum_suffices(gone)) return 0;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < node.holders.size(); ++i) {
      if ((gone >> i & 1U) != 0) order.push_back(i);
    }
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
      return node.holders[a].pod.rank.outranks(node.holders[b].pod.rank);
    });
    for (const std::size_t i : order) {
      const Mask spared = gone & ~(Mask{1} << i);
      if (sum_suffices(spared)) gone = spared;
    }
    return gone;
  }

  [[nodiscard]] static int milli_of(const OraclePod& pod) {
    return pod.ask.thousandths * pod.ask.count;
  }
  [[nodiscard]] NominatedOracle::Node without(Mask gone) const {
    NominatedOracle::Node left{.gpus = node.gpus, .cap = node.cap, .holders = {}};
    for (std::size_t i = 0; i < node.holders.size(); ++i) {
      if ((gone >> i & 1U) == 0) left.holders.push_back(node.holders[i]);
    }
    return left;
  }
  [[nodiscard]] Mask may_go() const {
    Mask all = 0;
    for (std::size_t i = 0; i < node.holders.size(); ++i) {
      all |= Mask{node.holders[i].pod.rank.priority < asking.rank.priority} << i;
    }
    return all;
  }
};

OraclePod draw_oracle_pod(const std::string& uid, int priority, int gpus) {
  return {.name_space = one_in(2) ? "a" : "b",
          .rank = {.priority = priority, .created = "2026", .uid = uid},
          .ask = draw_ask(gpus)};
}

Scene draw_scene(int most_gpus, int most_holders, int most_nominated) {
  Scene scene;
  scene.node.gpus = one_in(6) ? 1 : 1 + draw(most_gpus);
  scene.node.cap = one_in(3) ? 1000 + 100 * draw(20) : 1'000'000;
  std::vector<int> used(static_cast<std::size_t>(scene.node.gpus));
  const int holders = draw(most_holders + 1);
  for (int i = 0; i < holders; ++i) {
    OracleHolder holder{.pod = draw_oracle_pod("h" + std::to_string(i), draw(4), scene.node.gpus)};
    holder.terminating = one_in(4);
    int count = 0;
    for (int tries = 0; tries < 4 && count < holder.pod.ask.count; ++tries) {
      const auto gpu = static_cast<std::size_t>(draw(scene.node.gpus));
      const bool fits = used[gpu] + holder.pod.ask.thousandths <= 1000;
      if (!fits || (holder.gpus >> gpu & 1U) != 0) continue;
      used[gpu] += holder.pod.ask.thousandths;
      holder.gpus |= 1U << gpu;
      ++count;
    }
    if (count == 0) continue;
    holder.pod.ask.count = count;
    scene.node.holders.push_back(holder);
    RC_LOG() << text_of(holder.pod) << " on " << holder.gpus
             << (holder.terminating ? " ending" : "") << "\n";
  }
  scene.asking = draw_oracle_pod("m", 1 + draw(2), scene.node.gpus);
  const int nominated = draw(most_nominated + 1);
  for (int i = 0; i < nominated; ++i) {
    const std::string uid = (one_in(5) ? "z" : "n") + std::to_string(i);
    scene.nominated.push_back(draw_oracle_pod(uid, 1 + draw(4), scene.node.gpus));
  }
  std::ranges::sort(scene.nominated,
                    [](const OraclePod& a, const OraclePod& b) { return a.rank.outranks(b.rank); });
  for (const OraclePod& pod : scene.nominated) RC_LOG() << "nominated " << text_of(pod) << "\n";
  RC_LOG() << text_of(scene.asking) << " on " << scene.node.gpus << " GPUs, cap " << scene.node.cap
           << "\n";
  return scene;
}

/// The same in the code's own words.
class Staged {
 public:
  explicit Staged(const Scene& scene, const score::Profile& profile = make_profile("best-fit"))
      : claim_(request_of(scene.asking.ask), profile) {
    model::NodeInventory node = make_node("n: A 1000 x" + std::to_string(scene.node.gpus));
    if (scene.mirrored) {
      node.host = {.resources = {}, .pod_slots = 1000, .known = true};
      node.mirrored.allocatable.milli = 1000 * scene.node.gpus;
    }
    const auto inventory = std::make_shared<const model::NodeInventory>(std::move(node));
    const auto mirrored_of = [&](const OraclePod& pod) {
      return model::MirroredAmounts{.milli = {scene.mirrored ? Scene::milli_of(pod) : 0}};
    };
    mirrored_ = mirrored_of(scene.asking);
    for (const OracleHolder& holder : scene.node.holders) {
      std::vector<model::ReservedDevice> devices;
      for (int gpu = 0; gpu < scene.node.gpus; ++gpu) {
        if ((holder.gpus >> static_cast<unsigned>(gpu) & 1U) == 0) continue;
        const int taken = holder.pod.ask.thousandths;
        devices.push_back(taken == 1000 ? make_whole_device(gpu, 1000)
                                        : make_share(gpu, taken, taken));
      }
      auto holding = make_holding(holder.pod.rank.uid, "n", std::move(devices));
      holding->name_space = holder.pod.name_space;
      holding->rank = holder.pod.rank;
      holding->terminating = holder.terminating;
      holding->mirrored = mirrored_of(holder.pod);
      held_.add(holding->name_space, fit::held_compute(*holding, inventory.get()));
      holdings_.push_back(std::move(holding));
    }
    state_ = fit::build_node_state(inventory, holdings_);
    for (const OraclePod& pod : scene.nominated) {
      nominations_.push_back(std::make_shared<const model::Nomination>(
          model::Nomination{.name_space = pod.name_space,
                            .node = "n",
                            .rank = pod.rank,
                            .request = request_of(pod.ask),
                            .mirrored = mirrored_of(pod)}));
    }
    claim_.name_space = scene.asking.name_space;
    claim_.rank = scene.asking.rank;
    claim_.sharing = model::SharingRules({{{"*"}, {.cap = base::MilliGpu{scene.node.cap}}}});
  }

  [[nodiscard]] plan::NodeChoice choose() const {
    return plan::choose_placement(*state_, claim_.view(),
                                  {.namespace_usage = held_, .nominations = &nominations_});
  }
  [[nodiscard]] std::vector<std::string> victims(
      const std::vector<std::string_view>& chosen = {}) const {
    plan::Preemptor preemptor{.incoming = claim_.view(), .has_other_constraints = false};
    preemptor.incoming.mirrored = mirrored_;
    const plan::EvictionCandidate candidate{
        .node = *state_,
        .context = {.namespace_usage = held_, .nominations = &nominations_},
        .proposed_victims = chosen,
        .protected_uids = {}};
    std::vector<std::string> uids;
    fit::FitMemo memo(preemptor.incoming.request);
    for (const std::string_view uid : plan::choose_victims(preemptor, candidate, memo)) {
      uids.emplace_back(uid);
    }
    return uids;
  }

 private:
  OwnedIncomingPod claim_;
  model::MirroredAmounts mirrored_;
  model::NamespaceUsage held_;
  std::vector<model::HoldingPtr> holdings_;
  model::NodeStatePtr state_;
  model::Nominations nominations_;
};

/// A placement is given if and only if one leaves room for all that are kept, and it is such a one.
void placement_property() {
  const Scene scene = draw_scene(4, 4, 3);
  const NominatedOracle oracle(scene.node, scene.asking, scene.nominated);
  const score::Profile profile = make_profile(one_in(2) ? "spread" : "best-fit");
  const plan::NodeChoice choice = Staged(scene, profile).choose();
  for (const auto& kept : oracle.kept()) {
    RC_LOG() << "kept " << kept.uid << " waits " << static_cast<int>(kept.waits) << "\n";
  }
  RC_TAG(std::to_string(oracle.kept().size()) + " kept, " +
         std::string(model::reason_row(choice.reason).code));
  RC_ASSERT((choice.reason == model::ReasonCode::kNone) == oracle.any_may_be_taken());
  RC_ASSERT((choice.reason == model::ReasonCode::kNominated) ==
            (oracle.any_fits() && !oracle.any_may_be_taken()));
  if (choice.reason != model::ReasonCode::kNone) return;
  GpuSet gpus = 0;
  for (const model::DeviceAllocation& allocation : choice.placement.allocations)
    gpus |= 1U << allocation.gpu;
  RC_ASSERT(oracle.fits(gpus));
  RC_ASSERT(oracle.leaves_room(gpus));
}

TEST(NominatedProperty, APlacementIsGivenExactlyWhereItLeavesRoomForAllThatAreKept) {
  holds_in(20'000, placement_property);
}

/// What choose_placement says of the node without some of its pods, which is what preempt asks.
bool fits_without(const Scene& scene, Mask gone) {
  Scene left = scene;
  left.node = scene.without(gone);
  return Staged(left).choose().reason == model::ReasonCode::kNone;
}

/// More room never does harm, unless somebody is kept whom there was none for before, or for whose
/// end fewer have to be waited for: one that could start now must be able to start now.
void more_gone_property() {
  const Scene scene = draw_scene(3, 4, one_in(3) ? 0 : 2);
  const Mask may_go = scene.may_go();
  bool harm = false;
  for (std::size_t i = 0; i < scene.node.holders.size(); ++i) {
    const Mask one = Mask{1} << i;
    for (Mask gone = 0; gone <= may_go; ++gone) {
      if ((gone & ~may_go) != 0 || (gone & one) != 0 || (may_go & one) == 0) continue;
      const NominatedOracle::Node before = scene.without(gone);
      const NominatedOracle::Node after = scene.without(gone | one);
      const auto kept = NominatedOracle(before, scene.asking, scene.nominated).kept();
      const bool same = kept == NominatedOracle(after, scene.asking, scene.nominated).kept();
      const bool lost = fits_without(scene, gone) && !fits_without(scene, gone | one);
      RC_LOG() << gone << " and " << i << " go\n";
      harm = harm || lost;
      if (same) RC_ASSERT(!lost);
    }
  }
  RC_CLASSIFY(harm, "others are kept after more evictions, and that does harm");
}

TEST(NominatedProperty, MoreEvictionsNeverDoHarmWhileTheSameAreKept) {
  holds_in(3'000, more_gone_property);
}

void victims_property() {
  Scene scene = draw_scene(3, 5, 2);
  scene.mirrored = one_in(2);
  const Mask may_go = scene.may_go();
  const Mask chosen = scene.mirrored ? scene.chosen_by_sum()
                      : one_in(3)    ? static_cast<Mask>(draw(32)) & may_go
                                     : 0;  // by kube-scheduler
  // Where the sum explains the choice of kube-scheduler, others may go instead.
  const Mask must_go = scene.mirrored ? 0 : chosen;
  std::vector<std::string_view> chosen_uids;
  for (std::size_t i = 0; i < scene.node.holders.size(); ++i) {
    if ((chosen >> i & 1U) == 0) continue;
    chosen_uids.emplace_back(scene.node.holders[i].pod.rank.uid);
    RC_LOG() << "chosen " << chosen_uids.back() << "\n";
  }
  Mask victims = 0;
  const std::vector<std::string> uids = Staged(scene).victims(chosen_uids);
  for (const std::string& uid : uids) {
    for (std::size_t i = 0; i < scene.node.holders.size(); ++i) {
      if (scene.node.holders[i].pod.rank.uid == uid) victims |= Mask{1} << i;
    }
    RC_LOG() << "victim " << uid << "\n";
  }
  RC_ASSERT((victims & ~may_go) == 0U);
  RC_ASSERT(uids.empty() == (victims == 0U));
  RC_ASSERT((victims & must_go) == must_go || uids.empty());
  const NominatedOracle before(scene.node, scene.asking, scene.nominated);
  RC_TAG(std::string(before.kept().empty()             ? "none kept, "
                     : before.starts().front().empty() ? "some kept, "
                                                       : "some can start, ") +
         (scene.mirrored && chosen != 0U ? "chosen by the sum, " : "") +
         std::to_string(uids.size()) + " victims");
  const model::ReasonCode now = Staged(scene).choose().reason;
  const bool beyond = now != model::ReasonCode::kNone && !model::reason_row(now).resolvable;
  // Nominated pods that fit already start, at one of their placements, before a victim has ended.
  const auto is_right_beside = [&](const std::vector<OracleHolder>& started) {
    const auto may_be_taken = [&](Mask gone) {
      const Scene left = scene.with_started(started);
      const NominatedOracle::Node node = left.without(gone);
      return scene.sum_suffices(gone) &&
             NominatedOracle(node, left.asking, left.nominated).any_may_be_taken();
    };
    if (uids.empty()) return beyond || (chosen == 0U && may_be_taken(0)) || !may_be_taken(may_go);
    if ((chosen == 0U && may_be_taken(0)) || !may_be_taken(victims)) return false;
    for (std::size_t i = 0; i < scene.node.holders.size(); ++i) {
      const Mask one = Mask{1} << i;
      if ((victims & ~must_go & one) != 0 && may_be_taken(victims & ~one)) return false;
    }
    return true;
  };
  RC_ASSERT(std::ranges::any_of(before.starts(), is_right_beside));
}

TEST(NominatedProperty, VictimsMakeRoomBesideThoseThatAreKeptAndNoneIsNeedless) {
  holds_in(10'000, victims_property);
}

}  // namespace
}  // namespace snug::nominated_property_test
