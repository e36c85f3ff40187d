// The text that `snugctl explain` prints for people.
#pragma once

#include <string>

#include "snug/codec/explain_codec.hpp"

namespace snug::ctl {

/// Lines that end with a newline. `wide`: also with the reason of each node, if the reply has them.
[[nodiscard]] std::string explain_text(const codec::ExplainReply& reply, bool wide);

}  // namespace snug::ctl
