// One run of a cluster with two Snug replicas, of which only the leader may decide. The scheduler
// fails over; replicas are killed, terminated, stopped or disconnected; watches are down or silent;
// bindings are executed after their replica was killed. These invariants hold at every moment,
// according to the state in the API server:
//
//   - the decisions of both replicas together over-commit no GPU;
//   - at most one replica is ready and has an open fence;
//   - every bound pod is in the ledger of the leader;
//   - no replica sends a binding that it accepted in an earlier term as leader;
//   - no replica is ready if its view is older than watchSilenceS and watch_lost_ms allow.
//
// When the cluster is quiet, one replica is the leader and agrees with the naive model. The same
// seed gives the same run. Not thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "sim/harness/lease_store.hpp"
#include "sim/harness/member.hpp"
#include "sim/harness/naive_model.hpp"
#include "sim/harness/users.hpp"
#include "sim/harness/world.hpp"
#include "support/random.hpp"

namespace snug {

struct ClusterOptions {
  /// If false, there is no leader election: both replicas decide from the start, and only
  /// over-commitment is checked.
  bool elect = true;
  /// If true, the API server sometimes returns 404 for a pod that exists, and failed pods sometimes
  /// run again. The devices of such a pod are excluded from the check of over-commitment.
  bool lies = false;
  std::size_t trace_lines = 60;
};

/// Returns the options of the run with this seed. Even seeds have `lies`.
[[nodiscard]] inline ClusterOptions options_of(std::uint64_t seed) {
  return {.lies = seed % 2 == 0};
}

class ClusterSimulation {
 public:
  ClusterSimulation(std::uint64_t seed, ClusterOptions options);

  /// Runs `steps` random steps, up to the first violation. Returns true if there was no violation.
  bool run(int steps);

  [[nodiscard]] std::vector<Violation> violations() const;
  /// Returns the last steps, one line each, and the violations.
  [[nodiscard]] std::string trace() const;
  /// How often things happened in the run. Tests use it to check that the run was not idle.
  struct Tally {
    int bound = 0;
    int refused_calls = 0;  // calls to a replica that was not ready
    int takeovers = 0;      // times that a replica became the leader
    int failovers = 0;      // failovers of the scheduler
    int kills = 0;
    int stops = 0;
    int faults = 0;  // failed calls to the API server
    int late_posts = 0;
    int too_late = 0;  // bindings not sent, because their not_after had passed
    int lies = 0;
    int quiet_checks = 0;
    int nested_steps = 0;
  };
  [[nodiscard]] const Tally& tally() const { return tally_; }

 private:
  using Milliseconds = std::chrono::milliseconds;
  using Action = void (*)(ClusterSimulation&);
  struct Row {
    std::size_t weight;
    const char* name;
    Action action;
    bool nests;  // may happen during a call
  };
  struct Decision {
    std::string uid;
    std::string node;
  };
  struct Bound {
    bool ok = false;
    int posts = 0;
  };
  /// A bind call that has not returned.
  struct Call {
    const Member* member;
    service::WriteFence::Term term = 0;
    int posts = 0;
  };

  // cluster_steps.cpp: what happens to the replicas.
  void fail_over();
  void lose_scheduler();
  void touch_lease();
  void kill_one();
  void end_one();
  void start_one();
  void stand_still(Member& member);
  void cut_one();
  void change_link();
  void deliver();
  void progress_list();
  void tick_one();
  void pass_time();
  void pass_long_time();
  void revive_pod();

  // cluster_calls.cpp: the calls of the scheduler.
  void schedule_pod();
  void bind_decided();
  void bind_anyhow();
  struct Filtered {
    std::vector<std::string> kept;
    bool ok = false;
  };
  Filtered filter(Member& member, const model::PodFacts& pod,
                  const std::vector<std::string>& nodes);
  Bound bind(Member& member, const model::PodFacts& pod, const std::string& node);
  void posted(Member& member, const model::Binding& binding);
  void probe(Member& member, const model::PodFacts& pod);
  [[nodiscard]] Member* asked();

  // cluster_simulation.cpp
  static const std::vector<Row>& rows();
  void step(bool nested);
  void meanwhile(Member& member);
  void pass(Milliseconds time);
  void check();
  void check_deciders();
  void go_quiet();
  void settle();
  void check_quiet();
  void end_all();
  void note(std::string line);
  void report(std::string check, std::string text);
  [[nodiscard]] bool good() const;
  [[nodiscard]] Member& any_member() { return *members_[random_.below(members_.size())]; }
  [[nodiscard]] Member* decider();

  const ClusterOptions options_;
  Random random_;
  base::ManualClock clock_;
  LeaseStore lease_;
  LeaseStore scheduler_lease_;
  bool follows_;  // the replicas follow the scheduler's Lease
  World world_;
  Users users_;
  PlainPolicy policy_;
  std::array<std::unique_ptr<Member>, 2> members_;
  std::size_t active_ = 0;  // index of the replica that the scheduler calls
  std::deque<std::string> trace_;
  std::vector<Decision> decisions_;
  std::vector<Call> calls_;  // calls that have not returned, the innermost last
  const Member* decided_last_ = nullptr;
  int depth_ = 0;
  bool somebody_stands_ = false;
  bool quiet_ = false;
  Tally tally_;
};

}  // namespace snug
