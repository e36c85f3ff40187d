// The pods of `snugctl verify`: creates them, waits for them, and removes them, also after a signal
// that ends the program.
#pragma once

#include <chrono>

#include "ctl/kubectl.hpp"
#include "snug/base/result.hpp"
#include "snug/verify/node_check.hpp"
#include "snug/verify_codec/check_pods.hpp"

namespace snug::ctl {

/// How the pods have ended, at the latest after `limit`. Fails if kubectl does, and after a signal.
[[nodiscard]] base::Result<verify::PodResults> run_check_pods(
    const KubectlFlags& flags, const verify_codec::CheckSettings& settings,
    std::chrono::milliseconds limit);

}  // namespace snug::ctl
