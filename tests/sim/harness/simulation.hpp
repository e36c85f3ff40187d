// One run of a simulated cluster with a scheduler, users, and one Snug, which is sometimes killed.
// The run is a sequence of random steps; the naive model checks Snug after each of them. The same
// seed gives the same run. While Snug waits for the API server, nested steps run inside the call;
// they stand for other threads. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/harness/agents.hpp"
#include "sim/harness/feed.hpp"
#include "sim/harness/naive_model.hpp"
#include "sim/harness/sim_nodes.hpp"
#include "sim/harness/snug_instance.hpp"
#include "sim/harness/users.hpp"
#include "sim/harness/world.hpp"
#include "support/random.hpp"

namespace snug {

class Simulation {
 public:
  /// `trace_lines` is the number of lines that trace() keeps.
  explicit Simulation(std::uint64_t seed, SimCluster cluster, std::size_t trace_lines = 60);

  /// Runs `steps` random steps, up to the first violation. Returns true if there was no violation.
  bool run(int steps);

  [[nodiscard]] const std::vector<Violation>& violations() const { return model_.violations(); }
  /// Returns the last steps, one line each, and the violations.
  [[nodiscard]] std::string trace() const;
  /// How often things happened in the run. Tests use it to check that the run was not idle.
  struct Tally {
    int bound = 0;
    int refused_by_filter = 0;
    int lost_races = 0;
    int lists = 0;
    int restarts = 0;
    int quiet_checks = 0;
    int nested_steps = 0;
    int touches = 0;
    int nominated = 0;
    int unsure = 0;
    int promised = 0;  // binds that were refused only because of another pod's promise
    Agents::Counts agents;
  };
  [[nodiscard]] const Tally& tally() const { return tally_; }

 private:
  using Action = void (*)(Simulation&);
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
  struct Filtered {
    std::vector<std::string> kept;
    int failed = 0;
    bool ok = false;
  };
  struct Named {
    std::string node;
    base::TimePoint since;
  };
  struct Refusal {
    int touches = 0;
    std::vector<std::string> nodes;
  };

  // steps.cpp: the actions of the operator, the agents and the API server.
  void edit_pod();
  void change_policy();
  void change_node();
  void agent_acts();
  void agent_publishes();
  void deliver_pods();
  void deliver_nodes();
  void progress_list();
  void list_nodes();
  void pass_time();
  void pass_long_time();

  // calls.cpp: the calls of the scheduler.
  void schedule_pod();
  void bind_decided();
  void bind_anyhow();
  Filtered filter(const model::PodFacts& pod, const std::vector<std::string>& nodes);
  void prioritize(const model::PodFacts& pod, const std::vector<std::string>& nodes);
  struct Bound {
    bool ok = false;
    int posts = 0;
    bool served = false;
  };
  Bound bind(const model::PodFacts& pod, const std::string& node);
  void check_bind(const model::PodFacts& pod, const std::string& node, const Bound& result,
                  const std::optional<std::string>& was_on);
  void probe(const model::PodFacts& pod);
  void probe_bind(const model::PodFacts& pod, const std::string& node, NaiveModel::Fit beside);

  // simulation.cpp
  static const std::vector<Row>& rows(SimCluster cluster);
  void step(bool nested);
  void meanwhile();
  void tick();
  void restart();
  void go_quiet();
  void agents_finish();
  void end_all();
  void check_wakeups();
  void check_promises(const Observed& seen);
  void check();
  void note(std::string line);

  SimCluster cluster_;
  Random random_;
  base::ManualClock clock_;
  Feed feed_;
  World world_;
  NaiveModel model_;
  Agents agents_;
  Users users_;
  PlainPolicy policy_;
  std::unique_ptr<SnugInstance> snug_;
  std::size_t trace_lines_;
  std::deque<std::string> trace_;
  std::vector<Decision> decisions_;
  std::map<std::string, Refusal> refused_;  // by uid
  std::map<std::string, Named> named_;      // by uid: pods for which the last reply named one node
  std::vector<int> posts_;  // bindings sent by each current bind call, the innermost last
  int depth_ = 0;
  bool ticking_ = false;
  bool quiet_ = false;
  Tally tally_;
};

}  // namespace snug
