// Fakes of the ports by which shares are limited. One thread uses them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/agent_service/ports.hpp"

namespace snug {

class FakeMpsPort final : public agent_service::MpsPort {
 public:
  base::Result<void> want_daemons(const mps::WantedDaemons& wanted) override {
    asked.emplace_back();
    for (const auto& [uuid, namespaces] : wanted) asked.back().push_back(uuid);
    last = wanted;
    if (error) return std::unexpected(*error);
    return {};
  }
  base::Result<std::map<std::string, mps::DaemonState, std::less<>>> daemon_states() override {
    ++looks;
    if (error) return std::unexpected(*error);
    return states;
  }
  std::vector<std::vector<std::string>> take() { return std::exchange(asked, {}); }

  std::map<std::string, mps::DaemonState, std::less<>> states;
  std::vector<std::vector<std::string>> asked;
  mps::WantedDaemons last;
  int looks = 0;
  std::optional<base::Error> error;
};

class FakeMemoryLimits final : public agent_service::MemoryLimitPort {
 public:
  bool can_limit() override { return able; }
  std::uint64_t openings() override { return opened; }
  base::Result<void> limit_memory(std::string_view gpu_uuid, std::string_view cgroup_path,
                                  base::MebiBytes limit) override {
    if (error) return std::unexpected(*error);
    calls.push_back(std::string(gpu_uuid) + " " + std::string(cgroup_path) + " " +
                    std::to_string(limit.value));
    return {};
  }

  bool able = true;
  std::uint64_t opened = 1;
  std::vector<std::string> calls;
  std::optional<base::Error> error;
};

}  // namespace snug
