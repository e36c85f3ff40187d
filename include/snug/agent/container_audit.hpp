// Finds running containers that have a GPU which their role does not give them, for example since
// they were created while the agent was away. Pure; thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/agent/container_decision.hpp"
#include "snug/base/enum_names.hpp"

namespace snug::agent {

enum class AuditKind : std::uint8_t {
  kForeignGpu,        // the container has, or may have, a GPU that is not its own
  kOutsideGuarantee,  // it is privileged or mounts a path by which it can reach every GPU
};

inline constexpr base::EnumNames kAuditKindNames{
    std::array{base::EnumName{AuditKind::kForeignGpu, "foreign-gpu"},
               base::EnumName{AuditKind::kOutsideGuarantee, "outside-guarantee"}}};

[[nodiscard]] constexpr std::string_view to_string(AuditKind kind) { return kAuditKindNames[kind]; }

struct AuditFinding {
  AuditKind kind = AuditKind::kForeignGpu;
  std::string sandbox_id;
  std::string container_id;
  std::string sentence;  // for people; begins with the container's name and its pod's

  friend bool operator==(const AuditFinding&, const AuditFinding&) = default;
};

/// The findings are in the order of `containers`, at most one for each. A container whose role is
/// not known yet has none: audit again when the watch has listed the pods.
[[nodiscard]] std::vector<AuditFinding> audit(std::span<const ContainerInput> containers,
                                              const NodeInput& node);

}  // namespace snug::agent
