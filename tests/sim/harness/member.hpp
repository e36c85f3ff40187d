// One Snug replica of a simulated cluster: its process, which can be killed and started again; its
// watches, which can be silent or down while its calls work; and its leader election.
// Deterministic; not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "sim/harness/cluster_api.hpp"
#include "sim/harness/feed.hpp"
#include "sim/harness/lease_store.hpp"
#include "sim/harness/naive_model.hpp"
#include "sim/harness/snug_instance.hpp"
#include "sim/harness/world.hpp"
#include "snug/service/leader_elector.hpp"

namespace snug {

/// The state of the watches of nodes and pods.
enum class Link {
  kUp,
  kSilent,  // half-open connection: no bytes arrive, and no error occurs
  kDown,    // watches cannot be established, and lists fail
};

class Member final : public service::ClusterSource {
 public:
  struct Surroundings {
    World& world;
    base::ManualClock& clock;
    Random& random;
    LeaseStore& lease;
    LeaseStore* scheduler_lease;  // null: the replica follows no scheduler
    bool elect = true;
  };
  struct Hooks {
    std::function<void(Member&, const model::Binding&)> posted;
    std::function<void(Member&)> meanwhile;
    std::function<void(std::string)> note;
  };

  Member(std::string host, const Surroundings& around, const Hooks& hooks);

  // The process.
  enum class Identity { kSame, kNew };
  /// Starts the process: as a restarted container (kSame) or as a new pod on the host (kNew).
  void start(Identity identity, const std::string& policy);
  /// Kills the process, as SIGKILL does. Requests that it has sent are not cancelled.
  void kill();
  /// Handles SIGTERM: the replica releases its Lease.
  void resign();
  [[nodiscard]] bool lives() const { return snug_ != nullptr; }
  /// Stops all threads of the process, as SIGSTOP does, or lets them run again.
  void set_stopped(bool stopped) { stopped_ = stopped; }
  [[nodiscard]] bool runs() const { return lives() && !stopped_; }
  [[nodiscard]] SnugInstance& snug() { return *snug_; }
  [[nodiscard]] bool decides() { return lives() && snug_->decides(); }
  // One round of the election thread or of the ticker.
  void tick_election();
  void tick_reconciler();
  /// The watches of the Leases report a change.
  void hint();

  // The watches and lists of nodes and pods.
  void set_link(Link link);
  [[nodiscard]] Link link() const { return link_; }
  [[nodiscard]] std::string identity() const { return host_ + "_" + std::to_string(identity_); }
  /// Delivers bytes of the watches if they are up. Call this as time passes.
  void hear();
  void deliver_pods(std::size_t events);
  void deliver_node();
  void progress_list();
  void list_nodes();
  void deliver_everything();
  /// Whether the view is so old that the replica must not be ready.
  [[nodiscard]] bool view_is_too_old() const;
  [[nodiscard]] Feed& feed() { return feed_; }

  void set_faults(bool on) { wire_.faults = on; }
  void set_cut(bool cut) { wire_.cut = cut; }
  [[nodiscard]] ClusterApi& api() { return api_; }
  [[nodiscard]] const Wire& wire() const { return wire_; }
  [[nodiscard]] NaiveModel& model() { return model_; }
  [[nodiscard]] const std::string& host() const { return host_; }

  // ClusterSource
  void start(service::ClusterSink& /*sink*/) override {}
  void relist() override;
  void stop() override {}

 private:
  [[nodiscard]] bool may_list() const;

  const std::string host_;
  Surroundings around_;
  Wire wire_;
  Feed feed_;
  NaiveModel model_;
  ClusterApi api_;
  SimLease lease_;
  std::unique_ptr<SimLease> scheduler_lease_;
  std::unique_ptr<SnugInstance> snug_;
  std::unique_ptr<service::LeaderElector> elector_;
  int identity_ = 0;
  bool stopped_ = false;
  bool ticks_election_ = false;
  bool ticks_reconciler_ = false;
  Link link_ = Link::kUp;
  base::TimePoint heard_;
  base::TimePoint lost_;  // when the link went down, if it is down
  base::TimePoint lists_from_;
};

}  // namespace snug
