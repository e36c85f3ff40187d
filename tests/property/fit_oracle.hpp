// Feasibility, read from the contract a second time and decided by trying every assignment. It
// shares no code with fit/: what is free is added up here from the holdings. Pure; meant for nodes
// of a few GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mig_oracle.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/model/placement.hpp"
#include "snug/model/reasons.hpp"
#include "snug/model/request.hpp"
#include "snug/model/reservation.hpp"
#include "snug/model/sharing_rules.hpp"

namespace snug {

/// The namespace that asks, and what the operator lets it share.
struct Asker {
  std::string name_space = "default";
  model::SharingRules rules;
  std::int64_t held = 0;  // milli-GPU that it has already, in the whole cluster
};

class FitOracle {
 public:
  FitOracle(const model::NodeInventory& node, const std::vector<model::HoldingPtr>& holdings,
            Asker asker = {});

  /// Whether some assignment serves the request.
  [[nodiscard]] bool possible(const model::GpuRequest& request) const;

  /// Whether the GPU at this position does, of a request for one GPU.
  [[nodiscard]] bool possible_on(const model::GpuRequest& request, std::size_t gpu) const;

  /// Whether this one does, at the price of the contract and in the modes of the contract.
  [[nodiscard]] bool accepts(const model::GpuRequest& request,
                             std::span<const model::DeviceAllocation> takes) const;

  /// Whether the node cannot serve the request, and the reason is the one to be given for it.
  [[nodiscard]] bool is_true(model::ReasonCode reason, const model::GpuRequest& request) const;

  [[nodiscard]] std::int64_t capacity(std::size_t gpu) const {
    return gpus_.at(gpu).info.memory.value;
  }

  /// At how many starts of this GPU the request, of one container, can have its slice; nothing: it
  /// has no slices.
  [[nodiscard]] std::optional<std::size_t> starts_on(const model::GpuRequest& request,
                                                     std::size_t gpu) const;

  struct Cost {
    std::int64_t memory = 0;
    std::int64_t compute = 0;
  };
  [[nodiscard]] static Cost cost(const model::ContainerRequest& asked, std::int64_t capacity);

  /// Milli-GPU that a holding on the node counts for under a cap.
  [[nodiscard]] static std::int64_t held_by(const model::Holding& holding,
                                            const model::NodeInventory& node);

 private:
  /// In this order: the first that, with all those before it, makes a request impossible that was
  /// possible without it is the reason. (What exists of a card may serve what its smallest profiles
  /// cannot: of several such rules the last counts.)
  enum class Rule : std::uint8_t { kSize, kModel, kMode, kHealth, kCap, kRoom, kNeighbours };
  [[nodiscard]] static model::ReasonCode reason_of(Rule rule);

  struct Gpu {
    model::GpuInfo info;
    bool vanished = false;
    bool closed = false;
    bool apart = false;  // someone is on it whom the asker may not meet
    bool held = false;
    model::GpuMode mode = model::GpuMode::kNone;  // of the first holder
    Cost used;
    int fractions = 0;  // shares by fraction, which follow the GPU's size
    std::optional<MigOracle> slices;

    [[nodiscard]] bool allows(model::GpuMode mode) const;
    [[nodiscard]] bool may_state(const model::ContainerRequest& asked,
                                 const model::ReservedDevice& device) const;
    /// What the device counts for; `asked` is null where it is not believed.
    Cost counts(const model::ReservedDevice& device, const model::ContainerRequest* asked) {
      Cost cost{device.memory.value, device.compute.value};
      if (device.mode == model::GpuMode::kWhole) return {info.memory.value, 1000};
      const bool sized = !vanished && device.mode != model::GpuMode::kMig && asked != nullptr;
      if (!sized || !std::holds_alternative<model::FractionRequest>(asked->device)) return cost;
      ++fractions;
      cost.memory = FitOracle::cost(*asked, info.memory.value).memory;
      return cost;
    }
  };
  /// A container's part of what one pod takes of one GPU.
  struct Part {
    model::ContainerType kind;
    std::size_t position;
    Cost cost;
  };
  /// For each container the set of its GPUs, one bit for each position.
  using Assignment = std::vector<unsigned>;

  void hold(const model::Holding& holding);
  [[nodiscard]] std::size_t gpu_of(const model::ReservedDevice& device);
  [[nodiscard]] static Cost together(const std::vector<Part>& parts);
  [[nodiscard]] bool apart(const std::string& other) const;
  [[nodiscard]] std::optional<std::int64_t> cap_left() const;

  [[nodiscard]] bool gate_says(model::ReasonCode reason, const model::GpuRequest& request) const;
  [[nodiscard]] bool gates_open(const model::GpuRequest& request) const;
  [[nodiscard]] model::ReasonCode reason_for_units(const model::GpuRequest& request) const;
  /// What is said in place of the first constraint that fails: of profiles that are not there, and
  /// of shares that are larger than all there is.
  [[nodiscard]] model::ReasonCode closest(const model::GpuRequest& request,
                                          model::ReasonCode first) const;

  [[nodiscard]] bool exists(const model::GpuRequest& request, Rule last) const;
  [[nodiscard]] bool extend(const model::GpuRequest& request, Rule last, Assignment& chosen) const;
  [[nodiscard]] bool alone(const model::ContainerRequest& asked, const Gpu& gpu, Rule last) const;
  [[nodiscard]] bool serves(const model::GpuRequest& request, Rule last,
                            const Assignment& chosen) const;
  /// The compute that the GPU's part costs; nothing: it cannot serve it.
  [[nodiscard]] std::optional<std::int64_t> price_on(const model::GpuRequest& request, Rule last,
                                                     const Assignment& chosen,
                                                     std::size_t gpu) const;
  [[nodiscard]] static MigOracle::View view_of(Rule rule);
  /// The same of a GPU that has slices, for users none of which wants it whole.
  [[nodiscard]] static std::optional<std::int64_t> slices_price(
      const Gpu& gpu, const std::vector<MigOracle::User>& users, std::vector<Part> parts,
      Rule last);
  [[nodiscard]] bool accepts_slices(const model::GpuRequest& request,
                                    std::span<const model::DeviceAllocation> takes) const;
  [[nodiscard]] bool wants_enforcement() const;
  /// The mode in which the GPU serves all these containers; nothing: it cannot.
  [[nodiscard]] std::optional<model::GpuMode> mode_for(
      const Gpu& gpu, const std::vector<const model::ContainerRequest*>& users, Rule last) const;
  [[nodiscard]] static bool may_be_whole(const std::vector<const model::ContainerRequest*>& users);
  [[nodiscard]] static std::optional<model::GpuMode> opened_by(
      const Gpu& gpu, const std::vector<const model::ContainerRequest*>& users);

  model::NodeInventory node_;
  Asker asker_;
  std::vector<Gpu> gpus_;  // the inventory's, then the vanished ones
  bool apart_from_units_ = false;
  int with_devices_ = 0;
  int with_units_ = 0;
  int unplaced_ = 0;
  std::map<std::string, std::int64_t> units_;
};

}  // namespace snug
