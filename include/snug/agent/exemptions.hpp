// The operator's list of pods that manage GPUs, like NVIDIA's device plug-in: they get what they
// ask for. Pure; thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace snug::agent {

/// Both are globs (model/model_patterns). A pod is exempt if one row matches both. Whoever may
/// create pods in a namespace chooses any of its service accounts: a row should name a namespace
/// that users cannot write.
struct Exemption {
  std::string name_space;
  std::string service_account;

  friend bool operator==(const Exemption&, const Exemption&) = default;
};

/// The pods of NVIDIA's GPU Operator and of the charts of its parts, in the namespaces that
/// NVIDIA's documents name.
[[nodiscard]] const std::vector<Exemption>& default_exemptions();

[[nodiscard]] bool is_exempt(std::span<const Exemption> exemptions, std::string_view name_space,
                             std::string_view service_account);
/// Whether a pod of the namespace is exempt with some service account.
[[nodiscard]] bool may_be_exempt(std::span<const Exemption> exemptions,
                                 std::string_view name_space);

}  // namespace snug::agent
