#include "snug/agent_codec/usage_writer.hpp"

#include <nlohmann/json.hpp>

namespace snug::agent_codec {

std::string write_usage(std::span<const agent::PublishedUsage> gpus) {
  nlohmann::ordered_json root{{"version", 1}, {"gpus", nlohmann::ordered_json::array()}};
  for (const agent::PublishedUsage& gpu : gpus) {
    root["gpus"].push_back({{"uuid", gpu.uuid},
                            {"memoryPercent", gpu.memory_percent},
                            {"computePercent", gpu.compute_percent}});
  }
  return root.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace snug::agent_codec
