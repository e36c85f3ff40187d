// Feasibility, read from the contract a second time and decided by trying every assignment. It
// shares no code with fit/: what is free is added up here from the holdings. Pure; meant for nodes
// of a few GPUs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "snug/model/node.hpp"
#include "snug/model/refusal.hpp"
#include "snug/model/request.hpp"
#include "snug/model/reservation.hpp"

namespace snug {

class FitOracle {
 public:
  FitOracle(const NodeInventory& node, const std::vector<HoldingPtr>& holdings);

  /// Every set of GPU positions that can serve the request now; for units of the kubelet the empty
  /// set stands for "yes".
  [[nodiscard]] std::set<std::set<int>> assignments(const GpuRequest& request) const;

  /// Whether the reason, as the table of refusals puts it, is true of the node.
  [[nodiscard]] bool is_true(ReasonCode reason, const GpuRequest& request) const;

  struct Cost {
    std::int64_t memory = 0;
    std::int64_t compute = 0;
  };
  [[nodiscard]] static Cost cost(const GpuRequest& request, std::int64_t capacity);
  [[nodiscard]] static Cost cost(const Ask& ask, std::int64_t capacity);

 private:
  struct Gpu {
    GpuInfo info;
    std::vector<ReservedDevice> devices;
    bool closed = false;

    [[nodiscard]] std::int64_t memory() const;
    [[nodiscard]] std::int64_t compute() const;
    [[nodiscard]] bool allows(GpuMode mode) const;
    [[nodiscard]] bool shareable() const;
    [[nodiscard]] bool large_enough(const GpuRequest& request) const;
    [[nodiscard]] bool has_room(const GpuRequest& request) const;
    [[nodiscard]] bool can_be_whole() const;
    [[nodiscard]] bool may_state(const std::optional<Ask>& ask, const ReservedDevice& device) const;
  };

  [[nodiscard]] int gpu_of(const ReservedDevice& device) const;
  [[nodiscard]] bool gates_open(const GpuRequest& request) const;
  [[nodiscard]] bool share_reason(ReasonCode reason, const GpuRequest& request) const;
  [[nodiscard]] bool whole_reason(ReasonCode reason, const GpuRequest& request) const;
  [[nodiscard]] bool units_reason(ReasonCode reason, const GpuRequest& request) const;
  /// Of the kubelet's units: what is free, what it hands out, what it would if all GPUs were
  /// healthy, whether it has any.
  enum class Units : std::uint8_t { kFree, kUsable, kEver, kAny };
  [[nodiscard]] bool units_within(const GpuRequest& request, Units units) const;
  [[nodiscard]] std::int64_t units_of(const std::string& resource, bool ever) const;

  NodeInventory node_;
  std::vector<Gpu> gpus_;
  int vanished_ = 0;
  int with_devices_ = 0;
  int with_units_ = 0;
  int unplaced_ = 0;
  std::map<std::string, std::int64_t> units_;
};

}  // namespace snug
