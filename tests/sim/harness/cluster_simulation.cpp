#include "sim/harness/cluster_simulation.hpp"

#include <algorithm>
#include <utility>

namespace snug {
namespace {

constexpr int kDeepestChange = 2;
constexpr int kNodes = 3;
constexpr std::size_t kMaxPods = 16;
/// Longer than it takes to settle a bind with an unknown outcome, and longer than two takeovers.
constexpr int kQuietSeconds = 110;

}  // namespace

const std::vector<ClusterSimulation::Row>& ClusterSimulation::rows() {
  using Self = ClusterSimulation;
  static const std::vector<Row> kRows{
      {16, "create", [](Self& s) { s.users_.create_pod(); }, true},
      {30, "schedule", [](Self& s) { s.schedule_pod(); }, true},
      {10, "bind decided", [](Self& s) { s.bind_decided(); }, true},
      {3, "bind anyhow", [](Self& s) { s.bind_anyhow(); }, true},
      {1, "bind by hand", [](Self& s) { s.users_.bind_by_hand(); }, true},
      {16, "delete", [](Self& s) { s.users_.delete_pod(); }, true},
      {3, "finish", [](Self& s) { s.users_.finish_pod(); }, true},
      {3, "nominate", [](Self& s) { s.users_.nominate_pod(); }, true},
      {2, "node", [](Self& s) { s.users_.change_node([] {}); }, true},
      {2, "live again", [](Self& s) { s.revive_pod(); }, true},
      {34, "deliver", [](Self& s) { s.deliver(); }, true},
      {24, "list", [](Self& s) { s.progress_list(); }, true},
      {22, "time", [](Self& s) { s.pass_time(); }, true},
      {1, "long time", [](Self& s) { s.pass_long_time(); }, true},
      {6, "tick", [](Self& s) { s.tick_one(); }, true},
      {2, "failover", [](Self& s) { s.fail_over(); }, true},
      {1, "no scheduler", [](Self& s) { s.lose_scheduler(); }, true},
      {1, "somebody at the Lease", [](Self& s) { s.touch_lease(); }, true},
      {1, "kill", [](Self& s) { s.kill_one(); }, false},
      {1, "end", [](Self& s) { s.end_one(); }, false},
      {8, "start", [](Self& s) { s.start_one(); }, false},
      {1, "stop", [](Self& s) { s.stand_still(s.any_member()); }, true},
      {2, "cut off", [](Self& s) { s.cut_one(); }, true},
      {4, "watches", [](Self& s) { s.change_link(); }, true},
      {1, "quiet", [](Self& s) { s.go_quiet(); }, false},
  };
  return kRows;
}

ClusterSimulation::ClusterSimulation(std::uint64_t seed, ClusterOptions options)
    : options_(options),
      random_(seed),
      lease_(clock_),
      scheduler_lease_(clock_),
      follows_(options.elect && random_.chance(60)),
      world_(clock_, random_),
      users_(world_, random_, {.cluster = SimCluster::kShares, .nodes = kNodes, .pods = kMaxPods},
             [this](std::string line) { note(std::move(line)); }) {
  clock_.advance(std::chrono::hours(1));
  policy_ = random_policy(random_);
  const Member::Surroundings around{.world = world_,
                                    .clock = clock_,
                                    .random = random_,
                                    .lease = lease_,
                                    .scheduler_lease = follows_ ? &scheduler_lease_ : nullptr,
                                    .elect = options.elect};
  const Member::Hooks hooks{
      .posted = [this](Member& member, const model::Binding& binding) { posted(member, binding); },
      .meanwhile = [this](Member& member) { meanwhile(member); },
      .note = [this](std::string line) { note(std::move(line)); }};
  for (std::size_t i = 0; i < members_.size(); ++i) {
    members_[i] = std::make_unique<Member>(i == 0 ? "a" : "b", around, hooks);
    world_.add_feed(members_[i]->feed());
    members_[i]->model().set_policy(policy_);
    members_[i]->api().tell_lies(options.lies);
  }
  if (random_.chance(70)) lease_.put("");  // an earlier leader released it
  scheduler_lease_.put("a_scheduler");
  users_.put_first_nodes();
  for (const auto& member : members_) member->start(Member::Identity::kNew, policy_.yaml());
}

bool ClusterSimulation::run(int steps) {
  for (int i = 0; i < steps && good(); ++i) step(false);
  if (good()) go_quiet();
  if (good()) end_all();
  for (const auto& member : members_) {
    tally_.faults += member->wire().failed;
    tally_.late_posts += member->api().counts().late;
    tally_.too_late += member->api().counts().too_late;
    tally_.lies += member->api().counts().lies;
  }
  return good();
}

void ClusterSimulation::step(bool nested) {
  std::size_t total = 0;
  for (const Row& row : rows()) total += !nested || row.nests ? row.weight : 0;
  std::size_t drawn = random_.below(total);
  for (const Row& row : rows()) {
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

/// Runs steps during a call of `member`, or stops the process of `member` for a while.
void ClusterSimulation::meanwhile(Member& member) {
  if (quiet_ || depth_ >= kDeepestChange || !random_.chance(16)) return;
  if (random_.chance(8)) return stand_still(member);
  ++depth_;
  for (std::size_t i = 1 + random_.below(4); i > 0 && good(); --i) {
    ++tally_.nested_steps;
    step(true);
  }
  --depth_;
}

/// Advances the clock by `time` while the threads of both replicas run.
void ClusterSimulation::pass(Milliseconds time) {
  while (time.count() > 0 && good()) {
    const Milliseconds slice(100 + static_cast<std::int64_t>(random_.below(700)));
    world_.advance(std::min(slice, time));
    time -= slice;
    for (const auto& member : members_) {
      member->hear();
      if (random_.chance(30)) member->hint();
      member->tick_election();
    }
    check_deciders();
  }
}

void ClusterSimulation::check() {
  members_[0]->model().check_truth();
  if (!options_.elect) return;
  check_deciders();
  Member* member = decider();
  if (member == nullptr || !good()) return;
  member->model().check_ledger(member->snug().observe());
}

void ClusterSimulation::check_deciders() {
  if (!options_.elect) return;
  int deciding = 0;
  for (const auto& member : members_) {
    if (!member->decides()) continue;
    ++deciding;
    if (member.get() != std::exchange(decided_last_, member.get())) {
      ++tally_.takeovers;
      note("! " + member->host() + " decides");
    }
    if (member->view_is_too_old()) report("old view", member->host() + " decides by an old view");
  }
  if (deciding > 1) report("two leaders", "both decide");
}

Member* ClusterSimulation::decider() {
  const auto found =
      std::ranges::find_if(members_, [](const auto& member) { return member->decides(); });
  return found == members_.end() ? nullptr : found->get();
}

/// Ends all faults, starts both replicas, and lets time pass until all calls have ended and all
/// events are delivered.
void ClusterSimulation::settle() {
  for (const auto& member : members_) {
    member->set_faults(false);
    member->set_cut(false);
    member->set_link(Link::kUp);
    if (!member->lives()) member->start(Member::Identity::kSame, policy_.yaml());
  }
  scheduler_lease_.put(members_[active_]->host() + "_scheduler");
  for (int i = 0; i < kQuietSeconds && good(); ++i) {
    pass(std::chrono::seconds(1));
    for (const auto& member : members_) {
      member->deliver_everything();
      member->tick_reconciler();
    }
  }
  for (const auto& member : members_) {
    if (options_.lies) member->relist();
    member->deliver_everything();
    member->list_nodes();
  }
}

void ClusterSimulation::go_quiet() {
  if (!options_.elect) return;
  quiet_ = true;
  settle();
  ++tally_.quiet_checks;
  if (good()) check_quiet();
  for (const auto& member : members_) member->set_faults(true);
  quiet_ = false;
}

void ClusterSimulation::check_quiet() {
  check();
  Member* member = decider();
  if (member == nullptr) {
    return report("nobody", "all is well, and nobody decides: a: " +
                                members_[0]->snug().readiness().why_not() +
                                "; b: " + members_[1]->snug().readiness().why_not());
  }
  if (follows_ && member != members_[active_].get()) {
    return report("nobody", "the scheduler's Snug is not the one that decides");
  }
  member->model().check_equal(member->snug().observe());
  for (int i = 0; i < 3 && good(); ++i) {
    if (const auto uid = users_.any_pod(false)) probe(*member, world_.pods().at(*uid).facts);
    for (const auto& each : members_) each->deliver_everything();
  }
  check();
  if (good()) member->model().check_equal(member->snug().observe());
}

/// Removes all pods and checks that the ledgers are then empty.
void ClusterSimulation::end_all() {
  if (!options_.elect) return;
  while (!world_.pods().empty()) world_.remove_pod(std::string(world_.pods().begin()->first));
  go_quiet();
  if (!good()) return;
  for (const auto& member : members_) {
    const Observed seen = member->snug().observe();
    if (!seen.pods.empty() && member->decides()) {
      report("leak", "no pod is left, and the ledger of " + member->host() + " knows some");
    }
  }
}

void ClusterSimulation::note(std::string line) {
  line.insert(0, static_cast<std::size_t>(2 * depth_), ' ');
  trace_.push_back(std::move(line));
  if (trace_.size() > options_.trace_lines) trace_.pop_front();
}

void ClusterSimulation::report(std::string check, std::string text) {
  members_[0]->model().report(std::move(check), std::move(text));
}

bool ClusterSimulation::good() const {
  return std::ranges::all_of(
      members_, [](const auto& member) { return member->model().violations().empty(); });
}

std::vector<Violation> ClusterSimulation::violations() const {
  std::vector<Violation> all;
  for (const auto& member : members_) {
    const auto& found = member->model().violations();
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

std::string ClusterSimulation::trace() const {
  std::string text;
  for (const std::string& line : trace_) text += "  " + line + "\n";
  for (const Violation& violation : violations()) {
    text += "VIOLATION " + violation.check + ": " + violation.text + "\n";
  }
  return text;
}

}  // namespace snug
