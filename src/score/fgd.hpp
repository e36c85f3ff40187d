// The term fgd: fragmentation gradient descent (Weng et al., USENIX ATC 2023), on its authors'
// scale.
#pragma once

#include "snug/score/terms.hpp"

namespace snug::score {

/// 1000 * floor(100 * sigmoid(d)), d being the decrease of the node's fragmentation in GPUs.
[[nodiscard]] std::int32_t fgd(const TermInput& input);

}  // namespace snug::score
