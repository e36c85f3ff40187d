// What happens to the two Snug replicas of a simulated cluster.
#include <array>

#include "sim/harness/cluster_simulation.hpp"

namespace snug {

/// Makes the other scheduler the active one. Often the replicas learn of this at once.
void ClusterSimulation::fail_over() {
  active_ = 1 - active_;
  ++tally_.failovers;
  Member& next = *members_[active_];
  note("  to " + next.host());
  if (random_.chance(85)) scheduler_lease_.put(next.host() + "_scheduler");
  if (!random_.chance(60)) return;
  for (const std::size_t i : {1 - active_, active_}) {
    members_[i]->hint();
    members_[i]->tick_election();
  }
  for (int i = 0; i < 3; ++i) next.progress_list();
}

void ClusterSimulation::lose_scheduler() { scheduler_lease_.put(""); }

/// Somebody deletes the Lease or edits its labels, its holder or its duration. Nobody writes the
/// state that means "released by its holder".
void ClusterSimulation::touch_lease() {
  const auto lease = lease_.read();
  if (!lease || random_.chance(40)) return lease_.remove();
  leader::LeaseRecord record = lease->record;
  if (!record.holder.empty() && random_.chance(30)) {
    record.holder.clear();
    record.duration_s = 15;
  } else if (!record.holder.empty() && random_.chance(40)) {
    record.duration_s = 1;
  }
  (void)lease_.write(record, lease);
}

void ClusterSimulation::kill_one() {
  Member& member = any_member();
  if (!member.lives()) return;
  note("  " + member.host());
  ++tally_.kills;
  member.kill();
  // The kubelet restarts a container at once if it has run for a while.
  if (random_.chance(50)) member.start(Member::Identity::kSame, policy_.yaml());
}

/// Sends SIGTERM to a replica, and kills it after a grace period.
void ClusterSimulation::end_one() {
  Member& member = any_member();
  if (!member.lives()) return;
  note("  " + member.host());
  member.resign();
  pass(Milliseconds(200 + random_.below(5'000)));
  member.kill();
}

void ClusterSimulation::start_one() {
  Member& member = any_member();
  if (member.lives()) return;
  note("  " + member.host());
  member.start(random_.chance(50) ? Member::Identity::kSame : Member::Identity::kNew,
               policy_.yaml());
}

/// Stops all threads of one replica where they are, as SIGSTOP or a suspended machine does, while
/// everything else goes on.
void ClusterSimulation::stand_still(Member& member) {
  if (!member.runs() || somebody_stands_) return;
  note("  " + member.host() + " stands still");
  ++tally_.stops;
  somebody_stands_ = true;
  member.set_stopped(true);
  if (members_[active_].get() == &member && random_.chance(60)) fail_over();
  ++depth_;
  for (std::size_t i = 4 + random_.below(24); i > 0 && good(); --i) {
    pass(Milliseconds(random_.below(2'500)));
    ++tally_.nested_steps;
    step(true);
  }
  --depth_;
  member.set_stopped(false);
  somebody_stands_ = false;
  note("  " + member.host() + " goes on");
}

/// Disconnects a replica from the API server, or connects it again: its calls, and often its
/// watches.
void ClusterSimulation::cut_one() {
  Member& member = any_member();
  const bool cut = !member.wire().cut && random_.chance(30);
  note("  " + member.host() + (cut ? " is cut off" : " is back"));
  member.set_cut(cut);
  if (!cut || random_.chance(60)) member.set_link(cut ? Link::kDown : Link::kUp);
}

void ClusterSimulation::change_link() {
  constexpr std::array kLinks{Link::kUp, Link::kUp,     Link::kUp,
                              Link::kUp, Link::kSilent, Link::kDown};
  constexpr std::array kNames{"up", "silent", "down"};
  Member& member = any_member();
  const Link link = kLinks.at(random_.below(kLinks.size()));
  note("  " + member.host() + ": " + kNames.at(static_cast<std::size_t>(link)));
  member.set_link(link);
  if (link == Link::kUp && member.lives() && random_.chance(20)) member.relist();
}

void ClusterSimulation::deliver() {
  Member& member = any_member();
  member.deliver_pods(1 + random_.below(4));
  if (random_.chance(30)) member.deliver_node();
}

void ClusterSimulation::progress_list() {
  Member& member = any_member();
  const bool idle = member.feed().phase() == Feed::ListPhase::kNone;
  // After the first list, lists are rare.
  if (idle && member.feed().ready() && random_.chance(80)) return;
  member.progress_list();
}

void ClusterSimulation::tick_one() {
  Member& member = any_member();
  member.tick_election();
  member.tick_reconciler();
}

void ClusterSimulation::pass_time() {
  pass(Milliseconds(random_.chance(50) ? random_.below(300) : random_.below(3'000)));
}

void ClusterSimulation::pass_long_time() { pass(Milliseconds(random_.below(30'000))); }

/// Makes a finished pod run again, as when its kubelet comes back. The API server should forbid
/// this, but it has been observed.
void ClusterSimulation::revive_pod() {
  if (!options_.lies) return;
  for (const auto& [uid, pod] : world_.pods()) {
    if (!pod.bound() || !pod.facts.finished) continue;
    note("  " + uid);
    ++tally_.lies;
    world_.revive(std::string(uid));
    return;
  }
}

}  // namespace snug
