// The scheduler's calls to the two Snug replicas of a simulated cluster.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/harness/cluster_simulation.hpp"

namespace snug {
namespace {

constexpr std::size_t kMaxClusterDecisions = 8;

}  // namespace

/// Returns the replica that a scheduler calls: usually that of the active scheduler, sometimes that
/// of the previously active one. Null if this replica does not run.
Member* ClusterSimulation::asked() {
  std::size_t at = random_.chance(88) ? active_ : 1 - active_;
  // If the replicas do not follow the scheduler's Lease, a Kubernetes Service selects the ready
  // replica.
  if (!follows_ && options_.elect && random_.chance(70) && !members_[at]->decides()) at = 1 - at;
  Member& member = *members_[at];
  return member.runs() ? &member : nullptr;
}

ClusterSimulation::Filtered ClusterSimulation::filter(Member& member, const model::PodFacts& pod,
                                                      const std::vector<std::string>& nodes) {
  std::string body = schedule_body(pod, nodes);
  const bool ready = member.snug().readiness().is_ready();
  const service::Reply reply = member.snug().service().filter(body);
  Filtered result;
  if (reply.status != 200) {
    ++tally_.refused_calls;
    if (ready) report("reply", member.host() + " is ready, and filter answers " + reply.body);
    return result;
  }
  if (!ready) report("reply", member.host() + " is not ready, and filter answers " + reply.body);
  result.ok = true;
  result.kept = nlohmann::json::parse(reply.body).at("NodeNames").get<std::vector<std::string>>();
  return result;
}

ClusterSimulation::Bound ClusterSimulation::bind(Member& member, const model::PodFacts& pod,
                                                 const std::string& node) {
  note("  " + member.host() + ": bind " + pod.uid + " to " + node);
  std::string body = bind_body(pod, node);
  calls_.push_back({&member, member.snug().fence().term(), 0});
  const service::Reply reply = member.snug().service().bind(body);
  Bound result{.ok = false, .posts = calls_.back().posts};
  calls_.pop_back();
  if (reply.status != 200) {
    ++tally_.refused_calls;
    note("  = not ready");
    if (result.posts > 0) report("posts", "a bind was posted, and the call was refused");
    return result;
  }
  const std::string error = nlohmann::json::parse(reply.body).value("Error", "missing");
  result.ok = error.empty();
  if (result.ok) ++tally_.bound;
  note("  = " + (result.ok ? "bound" : error));
  if (result.posts > 1) report("posts", pod.uid + " was posted more than once in one bind");
  return result;
}

void ClusterSimulation::posted(Member& member, const model::Binding& binding) {
  Call& call = calls_.back();
  ++call.posts;
  note("  " + member.host() + ": posts " + binding.uid + " to " + binding.node);
  if (!options_.elect) return;
  if (call.member != &member || call.term != member.snug().fence().term()) {
    report("term", binding.uid + " was let in during an earlier term of " + member.host());
  }
  member.model().check_decision(binding, member.snug().observe());
}

void ClusterSimulation::schedule_pod() {
  Member* member = asked();
  const auto uid = users_.any_pod(random_.chance(5));
  if (!uid || member == nullptr) return;
  const model::PodFacts pod = world_.pods().at(*uid).facts;
  const Filtered filtered = filter(*member, pod, users_.some_nodes());
  if (filtered.kept.empty()) return;
  const std::string node = random_.pick(filtered.kept);
  if (random_.chance(70)) {
    (void)bind(*member, pod, node);
  } else if (decisions_.size() < kMaxClusterDecisions) {
    decisions_.push_back({*uid, node});
  }
}

/// Binds a pod by an earlier decision of filter, perhaps for the second time or by the other
/// replica.
void ClusterSimulation::bind_decided() {
  Member* member = asked();
  if (decisions_.empty() || member == nullptr) return;
  const std::size_t at = random_.below(decisions_.size());
  const Decision decision = decisions_[at];
  if (random_.chance(70)) decisions_.erase(decisions_.begin() + static_cast<std::ptrdiff_t>(at));
  const auto found = world_.pods().find(decision.uid);
  if (found == world_.pods().end()) return;
  (void)bind(*member, model::PodFacts(found->second.facts), decision.node);
}

/// Binds any pod to any node, without a call of filter.
void ClusterSimulation::bind_anyhow() {
  Member* member = asked();
  const auto uid = users_.any_pod(random_.chance(30));
  if (!uid || member == nullptr) return;
  (void)bind(*member, model::PodFacts(world_.pods().at(*uid).facts), users_.any_node());
}

/// Checks, on a quiet cluster, that filter, bind and the naive model agree about each node for this
/// pod.
void ClusterSimulation::probe(Member& member, const model::PodFacts& facts) {
  if (facts.terminating || facts.finished) return;
  using Fit = NaiveModel::Fit;
  NaiveModel& model = member.model();
  const model::PodFacts pod = facts;
  std::vector<std::string> nodes;
  std::map<std::string, Fit> fits;
  std::vector<Observed::Promise> promises = member.snug().observe().promises;
  std::erase_if(promises, [&](const auto& promise) { return promise.uid == pod.uid; });
  for (const auto& [name, node] : world_.nodes()) {
    nodes.push_back(name);
    fits[name] = model.fits(pod, name, promises);
  }
  if (nodes.empty()) return;
  const Filtered filtered = filter(member, pod, nodes);
  if (!filtered.ok) return;
  for (const std::string& name : nodes) {
    const bool kept = std::ranges::find(filtered.kept, name) != filtered.kept.end();
    if (fits[name] == Fit::kNo && kept) {
      report("filter", pod.uid + " does not fit, and filter keeps " + model.describe(name));
    } else if (fits[name] == Fit::kYes && filtered.kept.empty()) {
      report("filter", pod.uid + " fits, and filter keeps nothing: " + model.describe(name));
    }
  }
  const std::string node = random_.pick(nodes);
  if (!good()) return;
  // Promises that were made after the pod's own promise do not reduce the room for it.
  promises = member.snug().observe().promises;
  const auto own = std::ranges::find_if(promises, [&](const Observed::Promise& promise) {
    return promise.uid == pod.uid && promise.node == node;
  });
  promises.erase(own, promises.end());
  const Fit now = model.fits(pod, node, promises);
  if (now == Fit::kUnsure) return;
  const bool expected = now == Fit::kYes;
  const Bound result = bind(member, pod, node);
  if (result.ok == expected && result.posts == (expected ? 1 : 0)) return;
  report("bind", pod.uid + (expected ? " fits " : " does not fit ") + node + ", and bind says " +
                     (result.ok ? "yes" : "no") + " after " + std::to_string(result.posts) +
                     " posts: " + model.describe(node));
}

}  // namespace snug
