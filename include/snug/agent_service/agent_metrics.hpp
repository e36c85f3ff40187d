// What the agent counts for operators. Implementations never block and are thread-safe.
#pragma once

#include <cstdint>

#include "snug/base/enum_names.hpp"

namespace snug::agent_service {

/// How the agent answered a request to create a container: by the role of the container
/// (agent/container_decision.hpp), or with a refusal.
enum class CreationAnswer : std::uint8_t {
  kReserved,
  kKubeletAssigned,
  kExempt,
  kOrdinary,
  kRefused,
};
inline constexpr base::EnumNames kCreationAnswerNames{
    std::array{base::EnumName{CreationAnswer::kReserved, "reserved"},
               base::EnumName{CreationAnswer::kKubeletAssigned, "kubelet_assigned"},
               base::EnumName{CreationAnswer::kExempt, "exempt"},
               base::EnumName{CreationAnswer::kOrdinary, "ordinary"},
               base::EnumName{CreationAnswer::kRefused, "refused"}}};

class AgentMetrics {
 public:
  virtual ~AgentMetrics() = default;
  virtual void creation_answered(CreationAnswer answer, std::int64_t microseconds) = 0;
  virtual void validation_answered(bool accepted) = 0;
  /// Containers of the last audit that have a GPU which their role does not give, and containers
  /// that can always reach devices (privileged, host paths).
  virtual void audited(std::int64_t violations, std::int64_t outside) = 0;
  virtual void devices_read(bool ok, std::int64_t healthy, std::int64_t unhealthy) = 0;
  virtual void runtime_connected(bool connected) = 0;
  virtual void fails_closed(bool closed) = 0;
  virtual void node_written(bool ok) = 0;
};

}  // namespace snug::agent_service
