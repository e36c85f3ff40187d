// The simulated API server. It stores pods and nodes, executes bindings by the rules of the real
// one (uid precondition, 404, 409), and fails in every way that a client must expect: it is
// unreachable; it refuses a call; it answers 500; it executes a call and the reply is lost; or it
// executes the call after the client has given up. During a call of Snug, Hooks::meanwhile runs
// other steps, which stand for Snug's other threads. Deterministic; not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/harness/feed.hpp"
#include "sim/harness/objects.hpp"
#include "snug/base/clock.hpp"
#include "snug/service/ports.hpp"
#include "support/fake_ports.hpp"
#include "support/random.hpp"

namespace snug {

class World final : public UnmirroredApi {
 public:
  struct Hooks {
    std::function<void(const model::Binding&)> posted;  // called for each binding that Snug sends
    std::function<void()> meanwhile;                    // called during each call
  };
  struct Counts {
    int posts = 0;
    int gets = 0;
    int touches = 0;
  };

  World(base::ManualClock& clock, Random& random) : clock_(clock), random_(random) {}

  /// From now on, each change of an object is queued in `feed`.
  void add_feed(Feed& feed) { feeds_.push_back(&feed); }

  base::Result<void> bind(const model::Binding& binding) override;
  base::Result<std::optional<model::PodFacts>> get_pod(std::string_view name_space,
                                                       std::string_view name) override;
  base::Result<void> wake_pending_pods(base::Generation room) override;
  bool notify(const model::Notice& /*notice*/) override { return true; }

  void set_hooks(Hooks hooks) { hooks_ = std::move(hooks); }
  void set_faults(bool on) { faults_ = on; }

  // Actions of users, controllers and kubelets. A pod with the given uid must exist.
  void create_pod(model::PodFacts facts);
  void bind_by_hand(const std::string& uid, const std::string& node);
  void mark_terminating(const std::string& uid);
  void finish(const std::string& uid);
  void remove_pod(const std::string& uid);
  void edit_annotations(const std::string& uid, model::StringMap annotations);
  /// Sets nominatedNodeName in the status of the pod; an empty `node` ends the nomination.
  void nominate(const std::string& uid, const std::string& node);
  /// Changes the CPU and memory requests of the last container of the pod.
  void resize(const std::string& uid, model::HostResources host);
  void put_node(SimNode node);
  void remove_node(const std::string& name);

  /// Makes a finished pod run again.
  void revive(const std::string& uid);
  /// Excludes the pod from the checks, because Snug got a false reply about it.
  void set_apart(const std::string& uid);

  // Bindings of several replicas (cluster_api.hpp).
  /// Sends a binding, which is executed at `due`, or by land() if that is called earlier. Returns
  /// its id.
  int send(const model::Binding& binding, base::TimePoint due);
  /// Executes the binding `id` if it has not been executed, and returns its outcome.
  base::Result<void> land(int id);
  /// The client gives up the binding `id`, which is executed nevertheless.
  void abandon(int id);

  /// Advances the clock, and executes the bindings in flight that become due.
  void advance(std::chrono::milliseconds by);
  /// Ends all bindings in flight, because the process that sent them is gone: some are executed
  /// now, and the others are lost.
  void lose_connections();
  /// Sets SimPod::counted of all pods to their current annotations, for a new Snug process.
  void forget_history();

  [[nodiscard]] const std::map<std::string, SimPod>& pods() const { return pods_; }  // by uid
  [[nodiscard]] const std::map<std::string, SimNode>& nodes() const { return nodes_; }
  [[nodiscard]] const SimPod* find(std::string_view name_space, std::string_view name) const;
  /// Returns the most memory that the GPU of the node with this uuid (or index) ever had.
  [[nodiscard]] std::int64_t largest(const std::string& node, const std::string& gpu) const;
  /// Returns a pod as it was created. The pod may have been deleted since.
  [[nodiscard]] const model::PodFacts& born(const std::string& uid) const { return born_.at(uid); }
  /// Returns the bindings in flight that would succeed if they were executed now.
  [[nodiscard]] std::vector<model::Binding> landing() const;
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  enum class Fate { kDone, kDoneUnanswered, kLate, kLostUnanswered, kUnreachable, kConflict, kBad };
  struct Flight {
    int id = 0;
    model::Binding binding;
    bool lands = false;
    base::TimePoint due;
    bool awaited = false;  // land() will be called for it
  };

  [[nodiscard]] Fate draw_fate();
  base::Result<void> carry_out(const model::Binding& binding);
  [[nodiscard]] std::optional<base::Error> obstacle(const model::Binding& binding) const;
  void end_flight(int id);
  void meanwhile();
  void changed(SimPod& pod);

  base::ManualClock& clock_;
  Random& random_;
  std::vector<Feed*> feeds_;
  Hooks hooks_;
  bool faults_ = true;
  std::map<std::string, SimPod> pods_;
  std::map<std::string, model::PodFacts> born_;  // by uid
  std::map<std::string, SimNode> nodes_;
  std::map<std::pair<std::string, std::string>, std::int64_t> largest_;  // by node and GPU
  std::vector<Flight> flights_;
  std::map<int, base::Result<void>> landed_;  // outcomes of awaited bindings, by id
  int last_flight_ = 0;
  std::int64_t version_ = 0;
  Counts counts_;
};

}  // namespace snug
