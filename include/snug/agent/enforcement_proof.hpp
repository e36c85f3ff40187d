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
// The runtime refuses by its validator, or by snug-gate, a plug-in that it has started
// (agent/required_plugins.hpp). If the gate ends, what it has proved is void. A runtime with
// neither is not asked.
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
  /// What could refuse a container.
  struct Means {
    bool validator = false;  // this version of the runtime has one, which may be switched off
    bool gate = false;       // snug-gate runs
  };

  /// The node's inventory says already that it fails closed, for this boot.
  void claimed();
  void runtime_connected(Means means);
  void runtime_disconnected();
  /// The gate that ran when the runtime connected does not run any more.
  void gate_lost();
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
  /// Whether the gate ran when the runtime connected, and is not lost.
  [[nodiscard]] bool relies_on_gate() const { return means_.gate; }
  /// Whether the plug-in `snug-probe` may be registered: nothing is left to be proved.
  [[nodiscard]] bool is_settled() const { return settled_; }
  /// One sentence for people.
  [[nodiscard]] std::string explanation() const;

 private:
  void begin();
  void settle(bool fails_closed);

  bool fails_closed_ = false;
  bool connected_ = false;
  bool lost_gate_ = false;  // on this connection
  Means means_;
  bool settled_ = false;    // on this connection
  bool withdrawn_ = false;  // on this connection
  bool requested_ = false;  // on this connection, without the plug-in, and not created since
  std::optional<bool> shown_refused_;  // what is shown first may be older than all requests
};

}  // namespace snug::agent
