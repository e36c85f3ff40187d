// One run of a cluster with two Snugs, of which one may decide: a scheduler that fails over, Snugs
// that are killed, told to end, stopped or cut off, watches that are down or silent, bindings that
// land after their Snug has died. What must hold at every moment, by the API server's truth:
//
//   - no GPU has more than it is, by decisions of Snug, whichever of the two made them;
//   - not both are ready with an open fence;
//   - what is bound is in the ledger of the one that decides;
//   - nothing is sent that was let in during an earlier term as leader;
//   - nobody is ready whose view is older than watchSilenceS and watch_lost_ms allow.
//
// When all is quiet one of them decides and agrees with the naive model. The same seed gives the
// same run. Not thread-safe.
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
  /// False: both decide from the start, as without leader election; only over-commitment is looked
  /// for.
  bool elect = true;
  /// 404s about pods that live, and pods that failed and live again. What is given to such a pod
  /// counts apart.
  bool lies = false;
  std::size_t trace_lines = 60;
};

/// Every second run has lies.
[[nodiscard]] inline ClusterOptions options_of(std::uint64_t seed) {
  return {.lies = seed % 2 == 0};
}

class ClusterSimulation {
 public:
  ClusterSimulation(std::uint64_t seed, ClusterOptions options);

  /// Stops at the first violation. True: there was none.
  bool run(int steps);

  [[nodiscard]] std::vector<Violation> violations() const;
  /// The last steps, one line each, and what was found.
  [[nodiscard]] std::string trace() const;
  /// What the run has been through, so that a test can see that it was not idle.
  struct Tally {
    int bound = 0;
    int refused_calls = 0;  // of a Snug that is not ready
    int takeovers = 0;      // times that one began to decide
    int failovers = 0;      // of the scheduler
    int kills = 0;
    int stops = 0;
    int faults = 0;  // calls to the API server
    int late_posts = 0;
    int too_late = 0;  // bindings that came out after their time
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
    bool nests;  // may happen while a call is under way
  };
  struct Decision {
    std::string uid;
    std::string node;
  };
  struct Bound {
    bool ok = false;
    int posts = 0;
  };
  /// A bind call under way.
  struct Call {
    const Member* member;
    service::WriteFence::Term term = 0;
    int posts = 0;
  };

  // cluster_steps.cpp: what happens to the Snugs.
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

  // cluster_calls.cpp: what the scheduler does.
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
  void posted(Member& member, const service::Binding& binding);
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
  bool follows_;  // the Snugs follow the scheduler's Lease
  World world_;
  Users users_;
  PlainPolicy policy_;
  std::array<std::unique_ptr<Member>, 2> members_;
  std::size_t active_ = 0;  // whom the scheduler calls
  std::deque<std::string> trace_;
  std::vector<Decision> decisions_;
  std::vector<Call> calls_;  // under way, innermost last
  const Member* decided_last_ = nullptr;
  int depth_ = 0;
  bool somebody_stands_ = false;
  bool quiet_ = false;
  Tally tally_;
};

}  // namespace snug
