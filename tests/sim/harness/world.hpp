// The simulated API server: it holds the truth about pods and nodes, carries bindings out with the
// real one's rules (uid precondition, 404, 409), and fails in every way that a client must expect:
// unreachable, refused, answered without having done it, done without an answer, done later than
// the client has given up. While a call of Snug's is under way the rest of the world goes on
// (Hooks::meanwhile), which stands for Snug's other threads. Deterministic; not thread-safe.
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
#include "support/random.hpp"

namespace snug {

class World final : public service::ApiPort {
 public:
  struct Hooks {
    std::function<void(const service::Binding&)>
        posted;                       // a binding arrives, whatever becomes of it
    std::function<void()> meanwhile;  // a call is under way
  };
  struct Counts {
    int posts = 0;
    int gets = 0;
    int touches = 0;
  };

  World(base::ManualClock& clock, Random& random) : clock_(clock), random_(random) {}

  /// From here on a Snug is told what happens.
  void add_feed(Feed& feed) { feeds_.push_back(&feed); }

  base::Result<void> bind(const service::Binding& binding) override;
  base::Result<std::optional<model::PodFacts>> get_pod(std::string_view name_space,
                                                       std::string_view name) override;
  base::Result<void> wake_pending_pods(base::Generation room) override;
  void warn(const service::Notice& /*notice*/) override {}

  void set_hooks(Hooks hooks) { hooks_ = std::move(hooks); }
  void set_faults(bool on) { faults_ = on; }

  // What users, controllers and kubelets do. Uids are of pods that exist.
  void create_pod(model::PodFacts facts);
  void bind_by_hand(const std::string& uid, const std::string& node);
  void mark_terminating(const std::string& uid);
  void finish(const std::string& uid);
  void remove_pod(const std::string& uid);
  void edit_annotations(const std::string& uid, model::StringMap annotations);
  /// What kube-scheduler writes to the pod's status; empty: not nominated any more.
  void nominate(const std::string& uid, const std::string& node);
  /// The last container's requests become these while it runs.
  void resize(const std::string& uid, model::HostResources host);
  void put_node(SimNode node);
  void remove_node(const std::string& name);

  /// Failed, and runs again.
  void revive(const std::string& uid);
  /// No decision of Snug's answers for the pod any more: somebody has lied about it.
  void set_apart(const std::string& uid);

  // What an API server of several Snugs does with a binding (cluster_api.hpp).
  /// It is under way, and carried out at `due`, or when land() comes first.
  int send(const service::Binding& binding, base::TimePoint due);
  /// What became of it.
  base::Result<void> land(int id);
  /// Nobody waits for its answer.
  void abandon(int id);

  /// Moves the clock; bindings that are still under way land when their time comes.
  void advance(std::chrono::milliseconds by);
  /// The process that sent them is gone: what is under way lands now or never.
  void lose_connections();
  /// A new Snug goes by what it is shown.
  void forget_history();

  [[nodiscard]] const std::map<std::string, SimPod>& pods() const { return pods_; }  // by uid
  [[nodiscard]] const std::map<std::string, SimNode>& nodes() const { return nodes_; }
  [[nodiscard]] const SimPod* find(std::string_view name_space, std::string_view name) const;
  /// The most memory that a node's GPU of this uuid (or index) ever had.
  [[nodiscard]] std::int64_t largest(const std::string& node, const std::string& gpu) const;
  /// Any pod that ever was, as it was created.
  [[nodiscard]] const model::PodFacts& born(const std::string& uid) const { return born_.at(uid); }
  /// Bindings under way that would be carried out now.
  [[nodiscard]] std::vector<service::Binding> landing() const;
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  enum class Fate { kDone, kDoneUnanswered, kLate, kLostUnanswered, kUnreachable, kConflict, kBad };
  struct Flight {
    int id = 0;
    service::Binding binding;
    bool lands = false;
    base::TimePoint due;
    bool awaited = false;  // somebody will ask what became of it
  };

  [[nodiscard]] Fate draw_fate();
  base::Result<void> carry_out(const service::Binding& binding);
  [[nodiscard]] std::optional<base::Error> obstacle(const service::Binding& binding) const;
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
  std::map<int, base::Result<void>> landed_;  // awaited ones
  int last_flight_ = 0;
  std::int64_t version_ = 0;
  Counts counts_;
};

}  // namespace snug
