// Finds running containers that have a GPU which their role does not give them, for example since
// they were created while the agent was away, or because slices were re-created under them. Pure;
// thread-safe.
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
  kForeignGpu,  // the container has, or may have, a GPU that is not its own
  /// A reserved container has device nodes that its reservation no longer gives: slices were
  /// re-created or the driver was reloaded since it was created. The nodes may give it the GPU or
  /// slice of another pod.
  kStaleDevices,
  kOutsideGuarantee,  // it is privileged, or has a path or capability that leads to every GPU
};

inline constexpr base::EnumNames kAuditKindNames{
    std::array{base::EnumName{AuditKind::kForeignGpu, "foreign-gpu"},
               base::EnumName{AuditKind::kStaleDevices, "stale-devices"},
               base::EnumName{AuditKind::kOutsideGuarantee, "outside-guarantee"}}};

[[nodiscard]] constexpr std::string_view to_string(AuditKind kind) { return kAuditKindNames[kind]; }

struct AuditFinding {
  AuditKind kind = AuditKind::kForeignGpu;
  std::string sandbox_id;
  std::string container_id;
  std::string sentence;  // for people; begins with the container's name and its pod's

  friend bool operator==(const AuditFinding&, const AuditFinding&) = default;
};

/// Whether the container has, or may have, what is not its own.
[[nodiscard]] constexpr bool is_violation(AuditKind kind) {
  return kind != AuditKind::kOutsideGuarantee;
}

/// `containers` with the device nodes that they have got, also by CDI. The findings are in the
/// order of `containers`, at most one for each. A container whose role is not known yet has none,
/// nor has one whose reserved devices do not exist now: audit again when pods or devices have
/// changed.
[[nodiscard]] std::vector<AuditFinding> audit(std::span<const ContainerInput> containers,
                                              const NodeInput& node);

}  // namespace snug::agent
