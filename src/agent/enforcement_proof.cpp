#include "snug/agent/enforcement_proof.hpp"

namespace snug::agent {

void EnforcementProof::claimed() {
  if (!settled_) fails_closed_ = true;
}

void EnforcementProof::runtime_connected(bool validates) {
  connected_ = true;
  validates_ = validates;
  settled_ = false;
  withdrawn_ = false;
  requested_ = false;
  if (!validates) settle(false);
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
  if (!validates_) {
    return "this version of the container runtime cannot refuse containers whose plug-in is absent";
  }
  if (!settled_) {
    return fails_closed_ ? "the proof of an earlier agent stands; the runtime has not been asked "
                           "again yet to create the container probe"
                         : "the runtime has not been asked yet to create the container probe";
  }
  return fails_closed_
             ? "the runtime refuses containers whose required plug-in is absent"
             : "the runtime created a container whose required plug-in was absent: switch its "
               "default validator on";
}

}  // namespace snug::agent
