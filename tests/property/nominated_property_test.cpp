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
#include "snug/plan/preempt.hpp"
#include "support/claims.hpp"

namespace snug {
namespace {

using Mask = std::uint32_t;

OracleAsk draw_ask(int gpus) {
  const int count = one_in(4) ? 1 + draw(gpus) : 1;
  if (one_in(4)) return {1000, count};
  return {100 * (1 + draw(one_in(2) ? 9 : 5)), count};
}

GpuRequest request_of(const OracleAsk& ask) {
  if (ask.thousandths == 1000) return make_whole(ask.count);
  GpuRequest request = make_fraction(ask.thousandths);
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
                    [](const OraclePod& a, const OraclePod& b) { return a.rank.before(b.rank); });
  for (const OraclePod& pod : scene.nominated) RC_LOG() << "nominated " << text_of(pod) << "\n";
  RC_LOG() << text_of(scene.asking) << " on " << scene.node.gpus << " GPUs, cap " << scene.node.cap
           << "\n";
  return scene;
}

/// The same in the code's own words.
class Staged {
 public:
  explicit Staged(const Scene& scene, const Profile& profile = make_profile("best-fit"))
      : claim_(request_of(scene.asking.ask), profile) {
    const auto inventory = std::make_shared<const NodeInventory>(
        make_node("n: A 1000 x" + std::to_string(scene.node.gpus)));
    for (const OracleHolder& holder : scene.node.holders) {
      std::vector<ReservedDevice> devices;
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
      held_.add(holding->name_space, compute_held(*holding, inventory.get()));
      holdings_.push_back(std::move(holding));
    }
    state_ = add_up(inventory, holdings_);
    for (const OraclePod& pod : scene.nominated) {
      nominations_.push_back(
          std::make_shared<const Nomination>(Nomination{.name_space = pod.name_space,
                                                        .node = "n",
                                                        .rank = pod.rank,
                                                        .request = request_of(pod.ask)}));
    }
    claim_.name_space = scene.asking.name_space;
    claim_.rank = scene.asking.rank;
    claim_.sharing = SharingRules({{{"*"}, {.cap = MilliGpu{scene.node.cap}}}});
  }

  [[nodiscard]] NodeChoice choose() const {
    return choose_on(*state_, claim_.view(), {.held = held_, .nominations = &nominations_});
  }
  [[nodiscard]] std::vector<std::string> victims() const {
    const Preemptor preemptor{.claim = claim_.view(), .host = {}, .other_constraints = false};
    const EvictionOffer offer{.node = *state_,
                              .around = {.held = held_, .nominations = &nominations_},
                              .chosen = {},
                              .spared = {}};
    std::vector<std::string> uids;
    for (const std::string_view uid : choose_victims(preemptor, offer)) uids.emplace_back(uid);
    return uids;
  }

 private:
  OwnClaim claim_;
  NamespaceUse held_;
  std::vector<HoldingPtr> holdings_;
  NodeStatePtr state_;
  Nominations nominations_;
};

/// A placement is given if and only if one leaves room for all that are kept, and it is such a one.
void placement_property() {
  const Scene scene = draw_scene(4, 4, 3);
  const NominatedOracle oracle(scene.node, scene.asking, scene.nominated);
  const Profile profile = make_profile(one_in(2) ? "spread" : "best-fit");
  const NodeChoice choice = Staged(scene, profile).choose();
  for (const auto& kept : oracle.kept()) {
    RC_LOG() << "kept " << kept.uid << " waits " << static_cast<int>(kept.waits) << "\n";
  }
  RC_TAG(std::to_string(oracle.kept().size()) + " kept, " +
         std::string(reason(choice.reason).code));
  RC_ASSERT((choice.reason == ReasonCode::kNone) == oracle.any_may_be_taken());
  RC_ASSERT((choice.reason == ReasonCode::kNominated) ==
            (oracle.any_fits() && !oracle.any_may_be_taken()));
  if (choice.reason != ReasonCode::kNone) return;
  GpuSet gpus = 0;
  for (const DeviceTake& take : choice.placement.takes) gpus |= 1U << take.gpu;
  RC_ASSERT(oracle.fits(gpus));
  RC_ASSERT(oracle.leaves_room(gpus));
}

TEST(NominatedProperty, APlacementIsGivenExactlyWhereItLeavesRoomForAllThatAreKept) {
  holds_in(20'000, placement_property);
}

}  // namespace
}  // namespace snug
