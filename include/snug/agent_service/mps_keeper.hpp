// Asks snug-mps for the MPS daemons that pods need, with a namespace for each container, and knows
// their states. A daemon is needed while the reservation of a living pod, or of a sandbox that
// still runs, names its GPU in the mode mps. Nothing is asked for or given up while the pods or the
// sandboxes of the node are not known.
//
// Thread-safety: one thread at a time calls tick() and failures(), any thread daemons().
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "snug/agent/share_limits.hpp"
#include "snug/agent_service/node_book.hpp"
#include "snug/agent_service/pod_book.hpp"
#include "snug/agent_service/ports.hpp"
#include "snug/agent_service/sandbox_book.hpp"
#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/mutex.hpp"
#include "snug/model/reservation.hpp"
#include "snug/service/ports.hpp"

namespace snug::agent_service {

class MpsKeeper {
 public:
  struct Parts {
    MpsPort& port;
    const PodBook& pods;
    const NodeBook& devices;
    const SandboxBook& sandboxes;
    service::Log& log;
  };
  struct Options {
    std::string node;
    base::Limits limits;
    /// Whether pods may use the mode mps. If not, daemons that an earlier agent has asked for are
    /// given up once, and nothing else is done.
    bool allowed = true;
    model::ShareLimits enforcer = model::ShareLimits::kNone;
  };

  MpsKeeper(const Parts& parts, Options options);

  /// Does what is due at `now`. Returns whether daemons() or failures() have changed, so that the
  /// inventory changes, or containers may start that were refused.
  bool tick(base::TimePoint now) SNUG_EXCLUDES(mutex_);

  /// Of the daemons that are needed. Never null.
  [[nodiscard]] std::shared_ptr<const agent::MpsDaemons> daemons() const SNUG_EXCLUDES(mutex_) {
    const base::MutexLock lock(mutex_);
    return daemons_;
  }
  /// The daemons that are needed and failed, with the reasons, by the uuid of the GPU. A daemon
  /// that failed counts as failed until it is ready, or not needed; one without any state for
  /// mps_state_stale_ms counts as failed until it has one.
  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& failures() const {
    return failures_;
  }

 private:
  /// A container that is to be the client of a daemon.
  struct Client {
    model::ReservedDevice device;
    std::string mps_namespace;
  };
  using Clients = std::vector<Client>;

  [[nodiscard]] static Clients clients_of(const model::Reservation& reservation);
  void add_wanted(const Clients& clients, mps::WantedDaemons& wanted) const;
  [[nodiscard]] Clients read_clients(const agent::PodView& pod) const;
  [[nodiscard]] std::optional<mps::WantedDaemons> needed();
  void ask(mps::WantedDaemons wanted, base::TimePoint now);
  void give_up(base::TimePoint now);
  bool look(base::TimePoint now) SNUG_EXCLUDES(mutex_);
  [[nodiscard]] bool all_ready() const SNUG_EXCLUDES(mutex_);
  void note_states(const agent::MpsDaemons& daemons, base::TimePoint now);
  bool update_failures(const agent::MpsDaemons& daemons, base::TimePoint now);
  void log_problem(std::string& last, const base::Result<void>& result, std::string_view what);

  const Parts parts_;
  const Options options_;
  std::map<PodBook::PodRef, Clients> read_;
  mps::WantedDaemons wanted_;  // what the port was asked for
  bool knows_wanted_ = false;  // it was asked for something, or for nothing
  bool asked_ = false;         // whether the port has taken `wanted_`
  std::map<std::string, base::TimePoint, std::less<>> without_state_;  // since when, of `wanted_`
  std::map<std::string, std::string, std::less<>> failures_;
  std::string ask_problem_;
  std::string look_problem_;
  base::TimePoint next_check_ = base::TimePoint::min();
  base::TimePoint next_look_ = base::TimePoint::min();
  base::TimePoint next_ask_ = base::TimePoint::min();
  mutable base::Mutex mutex_;
  std::shared_ptr<const agent::MpsDaemons> daemons_ SNUG_GUARDED_BY(mutex_) =
      std::make_shared<const agent::MpsDaemons>();
};

}  // namespace snug::agent_service
