// Writes CDI specifications as JSON (Container Device Interface 0.6.0). Thread-safe.
#pragma once

#include <string>

#include "snug/agent/cdi_spec.hpp"
#include "snug/base/result.hpp"

namespace snug::agent_codec {

/// The same specification gives the same text. kTooLarge: more than max_cdi_spec_bytes.
[[nodiscard]] base::Result<std::string> write_cdi_spec(const agent::CdiSpec& spec);

}  // namespace snug::agent_codec
