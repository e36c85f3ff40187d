// Sentences about one pod for Kubernetes events: which devices it was given, and why it is refused.
// Each is one line for people. It may be longer than the 1,024 bytes of an event's note; the
// adapter of the API cuts it. Pure.
#pragma once

#include <string>

#include "snug/explain/explanation.hpp"
#include "snug/model/reasons.hpp"
#include "snug/model/reservation.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::explain {

/// What the pod was given: `GPU 0 (NVIDIA-A100-SXM4-80GB) of node a: 20480 MiB, 25 %, shared with 2
/// pods`. `node`: the state of its node with the pod; null: the node is gone. Empty if the pod
/// holds no GPU.
[[nodiscard]] std::string assignment_sentence(const model::Holding& pod,
                                              const model::NodeState* node);

/// Why no node takes the pod, which node lacks least, and the easiest change that would help.
[[nodiscard]] std::string refusal_sentence(const model::Refusal& refusal,
                                           const Explanation& explanation);

}  // namespace snug::explain
