// Generates the MutatingAdmissionPolicies by which the API server (1.36 or later) gives pods that
// request GPUs what they need, and the resources that mirror their shares. Pure; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "snug/admission/pod_defaults.hpp"
#include "snug/base/result.hpp"

namespace snug::codec {

/// Whether `key` has the length and the characters of a taint's key.
[[nodiscard]] bool is_taint_key(std::string_view key);

/// Returns the manifests as YAML. An error says which of the operator's choices is not a valid name
/// of a scheduler, a taint's key or a runtime class.
[[nodiscard]] base::Result<std::string> write_admission_policies(
    const admission::PodDefaults& defaults);

}  // namespace snug::codec
