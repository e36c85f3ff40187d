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

enum class SliceChange : std::uint8_t { kCreated, kDestroyed };
inline constexpr base::EnumNames kSliceChangeNames{
    std::array{base::EnumName{SliceChange::kCreated, "created"},
               base::EnumName{SliceChange::kDestroyed, "destroyed"}}};

/// Numbers of findings by agent::AuditKind.
struct AuditCounts {
  std::int64_t foreign_gpu = 0;
  std::int64_t stale_devices = 0;
  std::int64_t outside_guarantee = 0;

  friend bool operator==(const AuditCounts&, const AuditCounts&) = default;
};

class AgentMetrics {
 public:
  virtual ~AgentMetrics() = default;
  virtual void creation_answered(CreationAnswer answer, std::int64_t microseconds) = 0;
  virtual void validation_answered(bool accepted) = 0;
  /// The findings about containers that still run.
  virtual void audited(const AuditCounts& counts) = 0;
  /// The agent has stopped a container, or has given up.
  virtual void violator_stopped(bool ok) = 0;
  virtual void devices_read(bool ok, std::int64_t healthy, std::int64_t unhealthy) = 0;
  virtual void runtime_connected(bool connected) = 0;
  virtual void fails_closed(bool closed) = 0;
  virtual void node_written(bool ok) = 0;
  /// The agent has tried to make or to destroy a MIG slice.
  virtual void slice_changed(SliceChange change, bool ok) = 0;
  /// MIG slices that no pod has reserved, and reserved ones that could not be made.
  virtual void slices_counted(std::int64_t idle, std::int64_t failed) = 0;
};

}  // namespace snug::agent_service
