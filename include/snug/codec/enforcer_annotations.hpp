// Writes a reservation in the annotations of other node-side software (model::OtherEnforcer), which
// gives containers their GPUs and limits by them. Formats:
//   - NvFractions: nvidia.com/container.<container>.<key> for each container with devices
//     (kai-scheduler/kai-gpu-fractioning, fractioning-manager/fractiond/internal/annotations);
//   - koordlet: scheduling.koordinator.sh/device-allocated, a JSON object about the whole pod
//     (koordinator-sh/koordinator, apis/extension/device_share.go).
// Both have one amount of memory and compute for all GPUs of a container, so the least of its
// devices is written. fit places nothing on a node that its enforcer cannot express. Every key that
// is read of a container with devices is written; deploy/admission-policy.yaml keeps users from
// writing any. Pure.
#pragma once

#include "snug/model/node_inventory.hpp"
#include "snug/model/reservation.hpp"

namespace snug::codec {

/// Adds what NodeInventory::other_enforcer of the node reads; nothing if there is none, or if the
/// reservation has slices. Replaces values that `annotations` has under the same keys.
void write_enforcer_annotations(const model::Reservation& reservation,
                                const model::NodeInventory& node, model::StringMap& annotations);

}  // namespace snug::codec
