#include "snug/agent/enforcement_proof.hpp"

namespace snug::agent {

void EnforcementProof::claimed() {
  if (!settled_ && !lost_gate_) fails_closed_ = true;
}

void EnforcementProof::begin() {
  settled_ = false;
  withdrawn_ = false;
  requested_ = false;
  if (!means_.validator && !means_.gate) settle(false);
}

void EnforcementProof::runtime_connected(Means means) {
  connected_ = true;
  lost_gate_ = false;
  // What the gate has proved says nothing of the validator.
  if (means_.gate && !means.gate) fails_closed_ = false;
  means_ = means;
  begin();
}

void EnforcementProof::gate_lost() {
  if (!connected_ || !means_.gate) return;
  lost_gate_ = true;
  means_.gate = false;
  fails_closed_ = false;
  begin();
}

void EnforcementProof::runtime_disconnected() { connected_ = false; }

void EnforcementProof::probe_withdrawn() {
  if (connected_ && !settled_) withdrawn_ = true;
}

void EnforcementProof::settle(bool fails_closed) {
  fails_closed_ = fails_closed;
  settled_ = true;
}

void EnforcementProof::probe_requested() {
  if (requested_ && !settled_ && shown_refused_.value_or(false)) {
    settle(true);
    return;
  }
  requested_ = withdrawn_ && !settled_;
}

void EnforcementProof::probe_created() {
  // The request may have been made while an earlier agent had registered the plug-in.
  if (!requested_) return;
  settle(false);
}

void EnforcementProof::probe_shown(bool refused) {
  const bool is_new = refused && shown_refused_ == false;
  shown_refused_ = refused;
  if (is_new && requested_ && !settled_) settle(true);
}

std::string EnforcementProof::explanation() const {
  if (!connected_) return "the container runtime is not connected";
  if (lost_gate_ && !fails_closed_) {
    return "snug-gate has ended: restart the container runtime, which starts it";
  }
  if (!means_.validator && !means_.gate) {
    return "this version of the container runtime cannot refuse containers whose plug-in is "
           "absent, and does not run snug-gate";
  }
  if (!settled_) {
    return fails_closed_ ? "the proof of an earlier agent stands; the runtime has not been asked "
                           "again yet to create the container probe"
                         : "the runtime has not been asked yet to create the container probe";
  }
  if (fails_closed_) return "the runtime refuses containers whose required plug-in is absent";
  return std::string("the runtime created a container whose required plug-in was absent: ") +
         (means_.gate ? "snug-gate runs but did not refuse it, for example because it is the "
                        "plug-in of another runtime"
                      : "switch its default validator on, or install snug-gate");
}

}  // namespace snug::agent
