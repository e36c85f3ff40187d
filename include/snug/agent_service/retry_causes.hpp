// Says when the agent can give containers more than before, so that those which wait are to be
// tried again (agent_service/pod_retrier.hpp): it has begun to answer the container runtime with
// all that it needs to know, or the devices or the files of their driver have changed. One thread
// at a time.
#pragma once

#include <memory>
#include <utility>

#include "snug/agent_service/node_book.hpp"

namespace snug::agent_service {

class RetryCauses {
 public:
  /// `can_answer`: the pods and the devices are known and the runtime is connected. `knowledge` is
  /// never null.
  [[nodiscard]] bool have_come(bool can_answer, std::shared_ptr<const NodeKnowledge> knowledge) {
    const bool has_begun = !std::exchange(could_answer_, can_answer) && can_answer;
    const bool has_changed = knowledge != seen_ && (seen_ == nullptr || *knowledge != *seen_);
    seen_ = std::move(knowledge);
    return can_answer && (has_begun || has_changed);
  }

 private:
  bool could_answer_ = false;
  std::shared_ptr<const NodeKnowledge> seen_;
};

}  // namespace snug::agent_service
