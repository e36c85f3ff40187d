// Whether the container runtime of this node fails closed: whether it refuses a container that
// requires a plug-in which is absent. The agent's pod has a container `probe` that requires the
// plug-in `snug-probe`. The agent registers that plug-in only after the runtime has refused the
// probe, and so learns what the runtime does.
//
// The evidence comes from the runtime itself: as a plug-in, the agent sees the request to create
// the probe, and afterwards whether it was created. Requests count only while `snug-probe` is
// surely not registered. The kubelet's status says why a creation failed; a failure for another
// reason, such as a full disk, proves nothing. The runtime refuses the probe if, after a request,
// the status changes to refused, or if the status says so when a second request comes without a
// creation in between. The creation of a probe that was requested before the proof disproves it.
//
// A proof is about the runtime, not about the agent: a claim that the node already carries stands
// until it is disproved, so that a restart of the agent changes nothing.
//
// Pure; one thread at a time.
#pragma once

#include <optional>
#include <string>

namespace snug::agent {

class EnforcementProof {
 public:
  /// The node's inventory says already that it fails closed, for this boot.
  void claimed();
  /// `validates`: whether this version of the runtime can refuse containers (runtime_features.hpp).
  void runtime_connected(bool validates);
  void runtime_disconnected();
  /// The plug-in `snug-probe` is not registered, and no probe runs that was created with it.
  void probe_withdrawn();
  /// The runtime asked what to change in the probe.
  void probe_requested();
  /// The runtime created the probe.
  void probe_created();
  /// What the kubelet says of the probe in the pod's status. `refused`: it is waiting because a
  /// required plug-in is absent.
  void probe_shown(bool refused);

  /// Whether the runtime refuses containers whose required plug-in is absent.
  [[nodiscard]] bool fails_closed() const { return fails_closed_; }
  /// Whether the plug-in `snug-probe` may be registered: nothing is left to be proved.
  [[nodiscard]] bool is_settled() const { return settled_; }
  /// One sentence for people.
  [[nodiscard]] std::string explanation() const;

 private:
  void settle(bool fails_closed);

  bool fails_closed_ = false;
  bool connected_ = false;
  bool validates_ = false;
  bool settled_ = false;    // on this connection
  bool withdrawn_ = false;  // on this connection
  bool requested_ = false;  // on this connection, without the plug-in, and not created since
  std::optional<bool> shown_refused_;  // what is shown first may be older than all requests
};

}  // namespace snug::agent
