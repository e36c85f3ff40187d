#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "snug/base/check.hpp"
#include "snug/ledger/demand_keeper.hpp"
#include "snug/plan/memo.hpp"
#include "snug/plan/plan.hpp"
#include "snug/sim/replay.hpp"

namespace snug {
namespace {

constexpr std::string_view kNamespace = "default";

class PolicyPlacer final : public Placer {
 public:
  using Known = std::function<Demand(const Supply&)>;

  PolicyPlacer(PolicyPtr policy, Known known)
      : policy_(std::move(policy)), known_(std::move(known)) {
    const std::map<std::string, std::string, std::less<>> no_labels;
    auto profiles = policy_->choose({.name_space = kNamespace, .labels = no_labels, .asked = ""});
    SNUG_CHECK(profiles.has_value());  // only a pod's own wish can be forbidden
    profiles_ = std::make_unique<const ProfileChoice>(*std::move(profiles));
  }

  void arrives(const ArrivingPod& arriving, Ledger& ledger) override {
    if (ledger_ == nullptr) ledger_ = &ledger;
    SNUG_CHECK(ledger_ == &ledger);
    if (known_) {
      say_known(ledger);
      return;
    }
    if (keeper_ == nullptr) keeper_ = std::make_unique<DemandKeeper>(ledger);
    keeper_->seen({.uid = arriving.uid, .shape = shape_of(arriving.request, arriving.host)});
  }

  std::optional<NodeIndex> choose(const ArrivingPod& arriving,
                                  std::span<const NodeIndex> candidates, Ledger& ledger) override {
    const PodRank rank{.uid = std::string(arriving.uid)};
    const Claim claim = claim_of(arriving, rank);
    const SnapshotPtr snapshot = ledger.snapshot();
    std::string key = memo_key(claim);
    auto memo = key.empty() ? nullptr : memos_.take(key);
    const Plan best = plan({.snapshot = *snapshot, .claim = claim, .memo = memo.get()}, candidates);
    if (memo != nullptr) memos_.keep(std::move(key), std::move(memo));
    if (!best.winner) return std::nullopt;
    return candidates[*best.winner];
  }

  /// As bind does: by its name, for whatever GPUs are the best by now, which are the same.
  void hold(const ArrivingPod& arriving, NodeIndex node, Ledger& ledger) override {
    const PodRank rank{.uid = std::string(arriving.uid)};
    const Claim claim = claim_of(arriving, rank);
    const NodeStatePtr state = ledger.snapshot()->nodes[node.value];
    if (claim.request.empty()) {
      const auto holding = to_holding(*state, claim, Placement{});
      holding->host = claim.host;
      ledger.hold(holding);
      return;
    }
    const auto reserved =
        ledger.reserve({.claim = claim, .pod = claim.rank.uid, .node = state->name()});
    SNUG_CHECK(reserved.has_value());  // nothing has happened since it was chosen
    ledger.bound(claim.rank.uid);
    if (keeper_ != nullptr) keeper_->placed(claim.rank.uid);
  }

  void gone(std::string_view uid, Ledger& /*ledger*/) override {
    if (keeper_ != nullptr) keeper_->gone(uid);
  }

 private:
  void say_known(Ledger& ledger) {
    if (said_) return;
    auto demand = std::make_shared<Demand>(known_(supply_of(*ledger.snapshot())));
    demand->version = 1;
    ledger.put_demand(std::move(demand));
    said_ = true;
  }

  [[nodiscard]] Claim claim_of(const ArrivingPod& arriving, const PodRank& rank) const {
    return {.name_space = kNamespace,
            .rank = rank,
            .request = arriving.request,
            .host = arriving.host,
            .profiles = *profiles_,
            .sharing = policy_->sharing};
  }

  PolicyPtr policy_;
  std::unique_ptr<const ProfileChoice> profiles_;
  Known known_;  // empty: it is learned
  bool said_ = false;
  const Ledger* ledger_ = nullptr;        // of the replay
  std::unique_ptr<DemandKeeper> keeper_;  // of the ledger; null: no pod has come, or all is known
  PlanMemos memos_;
};

}  // namespace

std::unique_ptr<Placer> policy_placer(PolicyPtr policy) {
  return std::make_unique<PolicyPlacer>(std::move(policy), nullptr);
}

std::unique_ptr<Placer> policy_placer(PolicyPtr policy,
                                      std::function<Demand(const Supply&)> known) {
  return std::make_unique<PolicyPlacer>(std::move(policy), std::move(known));
}

}  // namespace snug
