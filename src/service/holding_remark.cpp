#include "service/holding_remark.hpp"

namespace snug::service {

std::string unknown_node_remark(const model::Holding& pod, const model::Snapshot& snapshot) {
  const std::string& node = pod.reservation.node;
  const auto slot = snapshot.names->find(node);
  if (slot && snapshot.nodes[slot->value] != nullptr) return "";
  return "Snug does not know node " + node +
         ": the GPUs of this pod count only towards the cap of its namespace";
}

}  // namespace snug::service
