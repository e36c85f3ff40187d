// Writes the value of the annotation snug.dev/usage (api/usage.schema.json). Equal usage has equal
// texts. Pure; thread-safe.
#pragma once

#include <span>
#include <string>

#include "snug/agent/published_usage.hpp"

namespace snug::agent_codec {

/// JSON without white space.
[[nodiscard]] std::string write_usage(std::span<const agent::PublishedUsage> gpus);

}  // namespace snug::agent_codec
