// The calls of kube-scheduler in a simulation (filter, prioritize, bind), and the checks of each
// reply.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/harness/simulation.hpp"

namespace snug {
namespace {

constexpr std::size_t kMaxCallDecisions = 8;

}  // namespace

Simulation::Filtered Simulation::filter(const model::PodFacts& pod,
                                        const std::vector<std::string>& nodes) {
  std::string body = schedule_body(pod, nodes);
  const service::Reply reply = snug_->service().filter(body);
  const auto json = nlohmann::json::parse(reply.body, nullptr, false);
  Filtered result;
  if (reply.status != 200) {
    if (feed_.ready()) model_.report("reply", "filter answers " + reply.body);
    return result;
  }
  if (!json.is_object() || !json.value("Error", "missing").empty()) {
    model_.report("reply", "filter answers " + reply.body);
    return result;
  }
  result.ok = true;
  result.kept = json.at("NodeNames").get<std::vector<std::string>>();
  for (const char* key : {"FailedNodes", "FailedAndUnresolvableNodes"}) {
    result.failed += static_cast<int>(json.at(key).size());
  }
  for (const std::string& kept : result.kept) {
    if (std::ranges::find(nodes, kept) == nodes.end()) {
      model_.report("reply", "filter keeps " + kept + ", which nobody asked about");
    }
  }
  named_.erase(pod.uid);
  if (result.kept.size() == 1) named_[pod.uid] = {result.kept.front(), clock_.now()};
  if (result.kept.empty()) {
    ++tally_.refused_by_filter;
    refused_[pod.uid] = {world_.counts().touches, nodes};
    if (result.failed != static_cast<int>(nodes.size())) {
      model_.report("reply", "not every node has a reason: " + reply.body);
    }
  } else {
    refused_.erase(pod.uid);
  }
  return result;
}

void Simulation::prioritize(const model::PodFacts& pod, const std::vector<std::string>& nodes) {
  std::string body = schedule_body(pod, nodes);
  const service::Reply reply = snug_->service().prioritize(body);
  if (reply.status != 200) return;
  const auto rows = nlohmann::json::parse(reply.body);
  if (rows.size() == 1) {
    named_[pod.uid] = {rows.front().at("Host").get<std::string>(), clock_.now()};
  }
  for (const auto& row : rows) {
    const int score = row.at("Score").get<int>();
    if (std::ranges::find(nodes, row.at("Host").get<std::string>()) == nodes.end() || score < 0 ||
        score > 10) {
      model_.report("reply", "prioritize answers " + reply.body);
    }
  }
}

Simulation::Bound Simulation::bind(const model::PodFacts& pod, const std::string& node) {
  note("  bind " + pod.uid + " to " + node);
  const auto before = world_.pods().find(pod.uid);
  std::optional<std::string> was_on;
  if (before != world_.pods().end() && before->second.holds() && feed_.ready() &&
      feed_.told_bound().contains(pod.uid) && model_.held(before->second).anything()) {
    was_on = before->second.facts.node_name;
  }
  const SnugInstance* asked = snug_.get();
  posts_.push_back(0);
  std::string body = bind_body(pod, node);
  const service::Reply reply = snug_->service().bind(body);
  Bound result;
  result.posts = posts_.back();
  posts_.pop_back();
  const auto json = nlohmann::json::parse(reply.body, nullptr, false);
  if (!json.is_object() || (reply.status != 200 && (feed_.ready() || asked != snug_.get()))) {
    model_.report("reply", "bind answers " + reply.body);
    return result;
  }
  const std::string error = json.value("Error", "missing");
  result.served = reply.status == 200;
  result.ok = result.served && error.empty();
  // If the pod was bound already, its promise ends only when the watch shows the pod bound.
  if (result.served && (!result.ok || result.posts > 0)) named_.erase(pod.uid);
  if (error.starts_with("NoRoom") || error.starts_with("Promised")) ++tally_.lost_races;
  note("  = " + (result.ok ? "bound" : error));
  check_bind(pod, node, result, was_on);
  return result;
}

void Simulation::check_bind(const model::PodFacts& pod, const std::string& node,
                            const Bound& result, const std::optional<std::string>& was_on) {
  if (result.posts > 1) model_.report("posts", pod.uid + " was posted more than once in one bind");
  if (!result.served && result.posts > 0) model_.report("posts", "a bind was posted before ready");
  const auto after = world_.pods().find(pod.uid);
  const bool exists = after != world_.pods().end();
  if (result.ok) {
    ++tally_.bound;
    if (exists && after->second.facts.node_name != node) {
      model_.report("answer", pod.uid + " is not on " + node + ", and bind says that it is");
    }
  }
  if (!was_on || !exists || !after->second.holds()) return;
  if (result.posts > 0) model_.report("posts", pod.uid + " was known as bound and posted again");
  if (result.ok != (*was_on == node)) {
    model_.report("answer", pod.uid + " is on " + *was_on + "; bind to " + node + " says " +
                                (result.ok ? "yes" : "no"));
  }
}

void Simulation::schedule_pod() {
  const auto uid = users_.any_pod(random_.chance(5));
  if (!uid) return;
  const model::PodFacts pod = world_.pods().at(*uid).facts;
  std::vector<std::string> nodes = users_.some_nodes();
  if (random_.chance(10)) nodes.emplace_back("unknown");
  const Filtered filtered = filter(pod, nodes);
  note("  " + *uid + (filtered.kept.empty() ? " fits nowhere" : " fits " + filtered.kept.front()));
  if (filtered.kept.empty()) return;
  if (random_.chance(50)) prioritize(pod, filtered.kept);
  const std::string node = random_.pick(filtered.kept);
  if (node == "unknown") return;
  if (random_.chance(60)) {
    (void)bind(pod, node);
  } else if (decisions_.size() < kMaxCallDecisions) {
    decisions_.push_back({*uid, node});
  }
}

/// Binds a pod by an earlier decision of filter, perhaps for the second time.
void Simulation::bind_decided() {
  if (decisions_.empty()) return;
  const std::size_t at = random_.below(decisions_.size());
  const Decision decision = decisions_[at];
  if (random_.chance(80)) decisions_.erase(decisions_.begin() + static_cast<std::ptrdiff_t>(at));
  const auto found = world_.pods().find(decision.uid);
  if (found == world_.pods().end()) return;
  (void)bind(model::PodFacts(found->second.facts), decision.node);
}

/// Binds any pod to any node, without a call of filter.
void Simulation::bind_anyhow() {
  const auto uid = users_.any_pod(random_.chance(50));
  if (!uid) return;
  (void)bind(model::PodFacts(world_.pods().at(*uid).facts), users_.any_node());
}

/// Checks, on a quiet cluster, that filter, bind and the naive model agree about each node for this
/// pod.
void Simulation::probe(const model::PodFacts& facts) {
  if (facts.terminating || facts.finished) return;
  using Fit = NaiveModel::Fit;
  const model::PodFacts pod = facts;
  std::vector<std::string> nodes;
  std::map<std::string, Fit> fits;
  std::vector<std::string> candidates;
  const std::vector<Observed::Promise> promises = snug_->observe().promises;
  for (const auto& [name, node] : world_.nodes()) {
    nodes.push_back(name);
    fits[name] = model_.fits(pod, name, promises);
    if (fits[name] == Fit::kUnsure) ++tally_.unsure;
    if (fits[name] != Fit::kNo) candidates.push_back(name);
  }
  if (nodes.empty()) return;
  const Filtered filtered = filter(pod, nodes);
  const auto keeps = [&](const std::string& name) {
    return std::ranges::find(filtered.kept, name) != filtered.kept.end();
  };
  for (const std::string& name : nodes) {
    if (fits[name] == Fit::kNo && keeps(name)) {
      model_.report("filter", pod.uid + " does not fit, and filter keeps " + model_.describe(name));
    } else if (fits[name] == Fit::kYes && filtered.kept.empty()) {
      model_.report("filter",
                    pod.uid + " fits, and filter keeps nothing: " + model_.describe(name));
    }
  }
  const auto all = static_cast<std::size_t>(filtered.failed) + filtered.kept.size();
  if (all > nodes.size()) model_.report("filter", "a node is kept and failed");
  const std::string node =
      random_.chance(60) && !candidates.empty() ? random_.pick(candidates) : random_.pick(nodes);
  // Calls filter with that node alone. This call also ends the earlier promise to the pod.
  if (fits[node] == Fit::kUnsure || random_.chance(30)) {
    const bool alone = !filter(pod, {node}).kept.empty();
    if (fits[node] == Fit::kUnsure) fits[node] = alone ? Fit::kYes : Fit::kNo;
    if (alone != (fits[node] == Fit::kYes) || (keeps(node) && !alone)) {
      model_.report("filter", "of " + node + " alone filter says another thing of " + pod.uid +
                                  ": " + model_.describe(node));
    }
  }
  if (violations().empty()) probe_bind(pod, node, fits[node]);
}

/// Binds the pod and checks the result. `beside` says whether the pod fits beside the current
/// promises.
void Simulation::probe_bind(const model::PodFacts& pod, const std::string& node,
                            NaiveModel::Fit beside) {
  using Fit = NaiveModel::Fit;
  bool asked = false;  // filter was called for another pod
  for (std::size_t i = random_.below(3); i > 0; --i) {
    const auto other = users_.any_pod(false);
    if (!other || *other == pod.uid || world_.pods().at(*other).facts.terminating) continue;
    const std::vector<std::string> nodes =
        random_.chance(30) ? users_.some_nodes() : std::vector<std::string>{node};
    (void)filter(model::PodFacts(world_.pods().at(*other).facts), nodes);
    asked = true;
  }
  std::vector<Observed::Promise> promises = snug_->observe().promises;
  const auto own = std::ranges::find_if(promises, [&](const Observed::Promise& promise) {
    return promise.uid == pod.uid && promise.node == node;
  });
  promises.erase(own, promises.end());  // later promises do not reduce the room for this pod
  const Fit now = model_.fits(pod, node, promises);
  // If the model is not sure, the reply of filter counts, unless a later filter call has changed
  // the promises.
  if (now == Fit::kUnsure && asked) return;
  const bool expected = (now == Fit::kUnsure ? beside : now) == Fit::kYes;
  if (!expected && model_.fits(pod, node, {}) == Fit::kYes) ++tally_.promised;
  const Bound result = bind(pod, node);
  if (result.ok != expected || result.posts != (expected ? 1 : 0)) {
    model_.report("bind", pod.uid + (expected ? " fits " : " does not fit ") + node +
                              ", and bind says " + (result.ok ? "yes" : "no") + " after " +
                              std::to_string(result.posts) + " posts: " + model_.describe(node));
  }
}

}  // namespace snug
