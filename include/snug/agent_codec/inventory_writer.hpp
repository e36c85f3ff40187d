// Writes the value of the annotation snug.dev/inventory (api/inventory.schema.json). Equal
// inventories have equal texts. Pure; thread-safe.
#pragma once

#include <string>

#include "snug/agent/inventory.hpp"

namespace snug::agent_codec {

/// JSON without white space.
[[nodiscard]] std::string write_inventory(const agent::Inventory& inventory);

}  // namespace snug::agent_codec
