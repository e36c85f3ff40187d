#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "snug/base/check.hpp"
#include "snug/ledger/demand_tracker.hpp"
#include "snug/plan/plan.hpp"
#include "snug/plan/verdict_cache.hpp"
#include "snug/sim/replay.hpp"

namespace snug::sim {
namespace {

constexpr std::string_view kNamespace = "default";

class PolicyPlacer final : public Placer {
 public:
  using FixedDemand = std::function<model::Demand(const demand::Supply&)>;

  PolicyPlacer(score::PolicyPtr policy, FixedDemand fixed_demand)
      : policy_(std::move(policy)), fixed_demand_(std::move(fixed_demand)) {
    const std::map<std::string, std::string, std::less<>> no_labels;
    auto profiles =
        policy_->choose({.name_space = kNamespace, .labels = no_labels, .requested_profile = ""});
    SNUG_CHECK(profiles.has_value());  // the pod names no policy, so choose() succeeds
    profiles_ = std::make_unique<const score::ProfileChoice>(*std::move(profiles));
  }

  void pod_arrived(const ArrivingPod& arriving, ledger::Ledger& ledger) override {
    if (ledger_ == nullptr) ledger_ = &ledger;
    SNUG_CHECK(ledger_ == &ledger);
    if (fixed_demand_) {
      publish_fixed_demand(ledger);
      return;
    }
    if (demand_tracker_ == nullptr)
      demand_tracker_ = std::make_unique<ledger::DemandTracker>(ledger);
    demand_tracker_->observe_pod(
        {.uid = arriving.uid, .shape = demand::shape_of(arriving.request, arriving.host)});
  }

  std::optional<base::NodeIndex> choose_node(const ArrivingPod& arriving,
                                             std::span<const base::NodeIndex> candidates,
                                             ledger::Ledger& ledger) override {
    const model::PodRank rank{.uid = std::string(arriving.uid)};
    const plan::IncomingPod incoming = as_incoming(arriving, rank);
    const model::SnapshotPtr snapshot = ledger.snapshot();
    std::string key = plan::verdict_cache_key(incoming);
    auto memo = key.empty() ? nullptr : verdict_caches_.take(key);
    const plan::Plan best =
        plan::plan({.snapshot = *snapshot, .incoming = incoming, .cache = memo.get()}, candidates);
    if (memo != nullptr) verdict_caches_.put_back(std::move(key), std::move(memo));
    if (!best.winner) return std::nullopt;
    return candidates[*best.winner];
  }

  /// Reserves as bind does: it chooses the best GPUs of the node again. They are the same as in
  /// choose_node(), since the ledger has not changed.
  void commit(const ArrivingPod& arriving, base::NodeIndex node, ledger::Ledger& ledger) override {
    const model::PodRank rank{.uid = std::string(arriving.uid)};
    const plan::IncomingPod incoming = as_incoming(arriving, rank);
    const model::NodeStatePtr state = ledger.snapshot()->nodes[node.value];
    if (incoming.request.empty()) {
      const auto holding = plan::to_holding(*state, incoming, model::Placement{});
      holding->host = incoming.host;
      ledger.hold(holding);
      return;
    }
    const auto reservation =
        ledger.reserve({.incoming = incoming, .pod = incoming.rank.uid, .node = state->name()});
    SNUG_CHECK(reservation.has_value());  // the ledger has not changed since choose_node()
    ledger.mark_bound(incoming.rank.uid);
    if (demand_tracker_ != nullptr) demand_tracker_->pod_placed(incoming.rank.uid);
  }

  void pod_left(std::string_view uid, ledger::Ledger& /*ledger*/) override {
    if (demand_tracker_ != nullptr) demand_tracker_->pod_left(uid);
  }

 private:
  void publish_fixed_demand(ledger::Ledger& ledger) {
    if (published_) return;
    auto demand =
        std::make_shared<model::Demand>(fixed_demand_(demand::supply_of(*ledger.snapshot())));
    demand->version = 1;
    ledger.set_demand(std::move(demand));
    published_ = true;
  }

  [[nodiscard]] plan::IncomingPod as_incoming(const ArrivingPod& arriving,
                                              const model::PodRank& rank) const {
    return {.name_space = kNamespace,
            .rank = rank,
            .request = arriving.request,
            .host = arriving.host,
            .profiles = *profiles_,
            .sharing = policy_->sharing};
  }

  score::PolicyPtr policy_;
  std::unique_ptr<const score::ProfileChoice> profiles_;
  FixedDemand fixed_demand_;  // empty: the demand is learned
  bool published_ = false;
  const ledger::Ledger* ledger_ = nullptr;  // the ledger of the replay; null: no pod has arrived
  /// Null: no pod has arrived, or the demand is fixed.
  std::unique_ptr<ledger::DemandTracker> demand_tracker_;
  plan::VerdictCaches verdict_caches_;
};

}  // namespace

std::unique_ptr<Placer> policy_placer(score::PolicyPtr policy) {
  return std::make_unique<PolicyPlacer>(std::move(policy), nullptr);
}

std::unique_ptr<Placer> policy_placer(
    score::PolicyPtr policy, std::function<model::Demand(const demand::Supply&)> fixed_demand) {
  return std::make_unique<PolicyPlacer>(std::move(policy), std::move(fixed_demand));
}

}  // namespace snug::sim
