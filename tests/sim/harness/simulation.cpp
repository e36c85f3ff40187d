#include "sim/harness/simulation.hpp"

#include <algorithm>

namespace snug {
namespace {

constexpr int kDeepest = 2;

}  // namespace

const std::vector<Simulation::Row>& Simulation::rows(SimCluster cluster) {
  static const std::vector<Row> kRows{
      {18, "create", [](Simulation& s) { s.users_.create_pod(); }, true},
      {26, "schedule", [](Simulation& s) { s.schedule_pod(); }, true},
      {8, "bind decided", [](Simulation& s) { s.bind_decided(); }, true},
      {4, "bind anyhow", [](Simulation& s) { s.bind_anyhow(); }, true},
      {1, "bind by hand", [](Simulation& s) { s.users_.bind_by_hand(); }, true},
      {14, "delete", [](Simulation& s) { s.users_.delete_pod(); }, true},
      {3, "finish", [](Simulation& s) { s.users_.finish_pod(); }, true},
      {1, "edit", [](Simulation& s) { s.edit_pod(); }, true},
      {6, "nominate", [](Simulation& s) { s.users_.nominate_pod(); }, true},
      {1, "resize", [](Simulation& s) { s.users_.resize_pod(); }, true},
      {2, "policy", [](Simulation& s) { s.change_policy(); }, true},
      {4, "node", [](Simulation& s) { s.change_node(); }, true},
      {30, "deliver pods", [](Simulation& s) { s.deliver_pods(); }, true},
      {8, "deliver nodes", [](Simulation& s) { s.deliver_nodes(); }, true},
      {5, "list", [](Simulation& s) { s.progress_list(); }, true},
      {1, "list nodes", [](Simulation& s) { s.list_nodes(); }, true},
      {8, "time", [](Simulation& s) { s.pass_time(); }, true},
      {1, "long time", [](Simulation& s) { s.pass_long_time(); }, true},
      {8, "tick", [](Simulation& s) { s.tick(); }, true},
      {1, "restart", [](Simulation& s) { s.restart(); }, false},
      {2, "quiet", [](Simulation& s) { s.go_quiet(); }, false},
  };
  static const std::vector<Row> kWithAgents = [] {
    std::vector<Row> rows = kRows;
    rows.push_back({24, "agent", [](Simulation& s) { s.agent_acts(); }, true});
    rows.push_back({6, "agent says", [](Simulation& s) { s.agent_publishes(); }, true});
    return rows;
  }();
  return cluster == SimCluster::kSlices ? kWithAgents : kRows;
}

Simulation::Simulation(std::uint64_t seed, SimCluster cluster, std::size_t trace_lines)
    : cluster_(cluster),
      random_(seed),
      feed_(random_, [this](std::string line) { note(std::move(line)); }),
      world_(clock_, random_),
      model_(world_, feed_),
      agents_(world_, model_, random_, [this](std::string line) { note(std::move(line)); }),
      users_(world_, random_, {.cluster = cluster},
             [this](std::string line) { note(std::move(line)); }),
      trace_lines_(trace_lines) {
  world_.set_hooks({.posted =
                        [this](const model::Binding& binding) {
                          if (!posts_.empty()) ++posts_.back();
                          model_.check_decision(binding, snug_->observe());
                        },
                    .meanwhile = [this] { meanwhile(); }});
  world_.add_feed(feed_);
  clock_.advance(std::chrono::hours(1));
  policy_ = random_policy(random_);
  model_.set_policy(policy_);
  users_.put_first_nodes();
  restart();
  tally_ = {};
}

bool Simulation::run(int steps) {
  for (int i = 0; i < steps && violations().empty(); ++i) step(false);
  if (violations().empty()) go_quiet();
  if (violations().empty()) end_all();
  tally_.agents = agents_.counts();
  tally_.nominated = users_.nominated();
  tally_.touches = world_.counts().touches;
  return violations().empty();
}

void Simulation::step(bool nested) {
  std::size_t total = 0;
  for (const Row& row : rows(cluster_)) total += !nested || row.nests ? row.weight : 0;
  std::size_t drawn = random_.below(total);
  for (const Row& row : rows(cluster_)) {
    if (nested && !row.nests) continue;
    if (drawn < row.weight) {
      note(row.name);
      row.action(*this);
      break;
    }
    drawn -= row.weight;
  }
  check();
}

void Simulation::meanwhile() {
  if (quiet_ || depth_ >= kDeepest || !random_.chance(30)) return;
  ++depth_;
  for (std::size_t i = 1 + random_.below(4); i > 0 && violations().empty(); --i) {
    ++tally_.nested_steps;
    step(true);
  }
  --depth_;
}

void Simulation::tick() {
  if (ticking_) return;
  ticking_ = true;
  snug_->reconciler().tick();
  ticking_ = false;
}

/// Kills the Snug process and starts a new one, which knows only what the API server shows.
void Simulation::restart() {
  world_.lose_connections();
  world_.forget_history();
  model_.restart();
  named_.clear();
  service::ServiceOptions options;
  constexpr std::array kModes{service::AnswerMode::kWinner, service::AnswerMode::kAll,
                              service::AnswerMode::kAdvise, service::AnswerMode::kAuto};
  options.answer = kModes.at(random_.below(kModes.size()));
  snug_ = std::make_unique<SnugInstance>(clock_, world_, options, policy_.yaml());
  feed_.restart(snug_->reconciler());
  ++tally_.restarts;
}

/// Ends all calls in flight and delivers all events. Then checks that the ledger equals the state
/// in the API server, and that filter and bind treat a few pods as the naive model expects.
void Simulation::go_quiet() {
  quiet_ = true;
  world_.set_faults(false);
  list_nodes();
  while (!feed_.ready() || feed_.phase() != Feed::ListPhase::kNone) progress_list();
  feed_.deliver_everything();
  agents_finish();
  // Longer than a bind with an unknown outcome can take, and longer than one resync.
  for (int i = 0; i < 23; ++i) {
    world_.advance(std::chrono::seconds(3));
    feed_.deliver_everything();
    tick();
  }
  ++tally_.quiet_checks;
  check();
  if (violations().empty()) model_.check_equal(snug_->observe());
  if (violations().empty()) check_wakeups();
  for (int i = 0; i < 4 && violations().empty(); ++i) {
    if (const auto uid = users_.any_pod(false)) probe(world_.pods().at(*uid).facts);
    feed_.deliver_everything();
  }
  check();
  if (violations().empty()) model_.check_equal(snug_->observe());
  world_.set_faults(true);
  quiet_ = false;
}

/// Lets all agents create the slices of the bound pods, and publish them.
void Simulation::agents_finish() {
  if (cluster_ != SimCluster::kSlices) return;
  for (int i = 0; i < kSimNodes; ++i) {
    agents_.act("n" + std::to_string(i));
    agents_.publish("n" + std::to_string(i));
  }
}

/// Removes all pods and checks that the ledger is then empty.
void Simulation::end_all() {
  while (!world_.pods().empty()) world_.remove_pod(std::string(world_.pods().begin()->first));
  go_quiet();
  if (!violations().empty()) return;
  const Observed seen = snug_->observe();
  if (!seen.pods.empty()) model_.report("leak", "no pod is left, and the ledger knows some");
  for (const auto& [name, node] : seen.nodes) {
    for (const Observed::Gpu& gpu : node.gpus) {
      if (gpu.used_memory == 0 && gpu.used_compute == 0 && gpu.taken == 0) continue;
      model_.report("leak", "no pod is left, and GPU " + gpu.uuid + " of " + name + " is held");
    }
  }
}

/// Checks that each refused pod that fits now was woken after it was refused.
void Simulation::check_wakeups() {
  std::erase_if(refused_, [&](const auto& row) { return !world_.pods().contains(row.first); });
  for (const auto& [uid, refusal] : refused_) {
    const SimPod& pod = world_.pods().at(uid);
    if (!pod.waits() || refusal.touches != world_.counts().touches) continue;
    for (const std::string& node : refusal.nodes) {
      if (!world_.nodes().contains(node)) continue;
      if (model_.fits(pod.facts, node, {}) != NaiveModel::Fit::kYes) continue;
      model_.report("asleep", uid + " fits, and nobody wakes it: " + model_.describe(node));
      return;
    }
  }
}

void Simulation::check() {
  model_.check_truth();
  if (snug_ == nullptr) return;
  const Observed seen = snug_->observe();
  model_.check_ledger(seen);
  check_promises(seen);
}

/// Checks each promise: the last reply about its pod named this one node, the reply is not older
/// than intentTtlMs, and the pod has not been bound since.
void Simulation::check_promises(const Observed& seen) {
  constexpr std::chrono::seconds kLongest{10};
  for (const Observed::Promise& promise : seen.promises) {
    const auto named = named_.find(promise.uid);
    if (named == named_.end() || named->second.node != promise.node ||
        clock_.now() - named->second.since >= kLongest) {
      model_.report("promise", promise.uid + " has a promise on " + promise.node +
                                   ", and was not named for it, or long ago");
    }
  }
}

void Simulation::note(std::string line) {
  line.insert(0, static_cast<std::size_t>(2 * depth_), ' ');
  trace_.push_back(std::move(line));
  if (trace_.size() > trace_lines_) trace_.pop_front();
}

std::string Simulation::trace() const {
  std::string text;
  for (const std::string& line : trace_) text += "  " + line + "\n";
  for (const Violation& violation : violations()) {
    text += "VIOLATION " + violation.check + ": " + violation.text + "\n";
  }
  return text;
}

}  // namespace snug
