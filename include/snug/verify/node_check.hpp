// Compares what a node claims and what containers on it have seen with what it should be: the rows
// of `snugctl verify`. Pure. Memory is in MiB.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "snug/model/node_inventory.hpp"
#include "snug/model/reservation.hpp"
#include "snug/verify/observation.hpp"

namespace snug::verify {

enum class CheckVerdict : std::uint8_t {
  kOk,
  kFailed,
  kNotChecked,   // it should hold, and something else was in the way of the check
  kNotEnforced,  // nobody promises it on this node
};

struct Check {
  std::string what;
  std::string expected;
  std::string seen;
  CheckVerdict verdict = CheckVerdict::kNotChecked;
};

/// What Snug and the labels say of the node.
struct NodeClaims {
  bool is_alive = false;  // Snug sees the heartbeat of its agent
  bool fails_closed = false;
  bool has_label = false;  // snug.dev/enforced=true
  model::ShareLimits limits = model::ShareLimits::kNone;
};

enum class PodEnd : std::uint8_t {
  kObserved,
  kNotCreated,  // for instance for want of rights
  kDenied,      // admission refused it
  kNotPlaced,   // it got no node
  kHindered,    // the kubelet has no image, no room or no valid configuration for it
  kNotStarted,  // it has a node, and its container did not start
  kRunning,     // its container has not ended
  kFailed,      // its container ended without an observation
};

/// How one pod of the check ended.
struct PodResult {
  PodEnd end = PodEnd::kNotCreated;
  std::string reason;  // a sentence of the API server, the scheduler or the kubelet
  Observation seen;    // only with kObserved
  std::optional<model::Reservation> reservation;
};

/// The pods of the check.
struct PodResults {
  PodResult share;         // asks for a share
  PodResult greedy;        // asks for nothing, with NVIDIA_VISIBLE_DEVICES=all
  PodResult cdi;           // names all GPUs by an annotation below cdi.k8s.io
  PodResult toolkits_cdi;  // the same below nvidia.cdi.k8s.io
};

/// The container of each pod that observes; admission may add others.
inline constexpr const char* kObserveContainer = "observe";

/// The mode for which a share must ask so that the node's enforcer limits it; empty: any.
[[nodiscard]] std::string isolation_to_ask(model::ShareLimits limits);
/// Whether an allocation beyond the share should be tried: only if somebody limits it.
[[nodiscard]] bool is_memory_limited(model::ShareLimits limits);

[[nodiscard]] std::vector<Check> check_claims(const NodeClaims& claims);
[[nodiscard]] std::vector<Check> check_pods(const NodeClaims& claims, const PodResults& results);

}  // namespace snug::verify
