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
#include "snug/model/node.hpp"
#include "snug/model/placement.hpp"
#include "snug/model/refusal.hpp"
#include "snug/model/request.hpp"
#include "snug/model/reservation.hpp"
#include "snug/model/sharing.hpp"

namespace snug {

/// The namespace that asks, and what the operator lets it share.
struct Asker {
  std::string name_space = "default";
  SharingRules rules;
  std::int64_t held = 0;  // milli-GPU that it has already, in the whole cluster
};

class FitOracle {
 public:
  FitOracle(const NodeInventory& node, const std::vector<HoldingPtr>& holdings, Asker asker = {});

  /// Whether some assignment serves the request.
  [[nodiscard]] bool possible(const GpuRequest& request) const;

  /// Whether the GPU at this position does, of a request for one GPU.
  [[nodiscard]] bool possible_on(const GpuRequest& request, std::size_t gpu) const;

  /// Whether this one does, at the price of the contract and in the modes of the contract.
  [[nodiscard]] bool accepts(const GpuRequest& request, std::span<const DeviceTake> takes) const;

  /// Whether the node cannot serve the request, and the reason is the one to be given for it.
  [[nodiscard]] bool is_true(ReasonCode reason, const GpuRequest& request) const;

  [[nodiscard]] std::int64_t capacity(std::size_t gpu) const {
    return gpus_.at(gpu).info.memory.value;
  }

  /// At how many starts of this GPU the request, of one container, can have its slice; nothing: it
  /// has no slices.
  [[nodiscard]] std::optional<std::size_t> starts_on(const GpuRequest& request,
                                                     std::size_t gpu) const;

  struct Cost {
    std::int64_t memory = 0;
    std::int64_t compute = 0;
  };
  [[nodiscard]] static Cost cost(const ContainerRequest& asked, std::int64_t capacity);

  /// Milli-GPU that a holding on the node counts for under a cap.
  [[nodiscard]] static std::int64_t held_by(const Holding& holding, const NodeInventory& node);

 private:
  /// In this order: the first that, with all those before it, makes a request impossible that was
  /// possible without it is the reason. (What exists of a card may serve what its smallest profiles
  /// cannot: of several such rules the last counts.)
  enum class Rule : std::uint8_t { kSize, kModel, kMode, kHealth, kCap, kRoom, kNeighbours };
  [[nodiscard]] static ReasonCode reason_of(Rule rule);

  struct Gpu {
    GpuInfo info;
    bool vanished = false;
    bool closed = false;
    bool apart = false;  // someone is on it whom the asker may not meet
    bool held = false;
    GpuMode mode = GpuMode::kNone;  // of the first holder
    Cost used;
    int fractions = 0;  // shares by fraction, which follow the GPU's size
    std::optional<MigOracle> slices;

    [[nodiscard]] bool allows(GpuMode mode) const;
    [[nodiscard]] bool may_state(const ContainerRequest& asked, const ReservedDevice& device) const;
    /// What the device counts for; `asked` is null where it is not believed.
    Cost counts(const ReservedDevice& device, const ContainerRequest* asked) {
      Cost cost{device.memory.value, device.compute.value};
      if (device.mode == GpuMode::kWhole) return {info.memory.value, 1000};
      const bool sized = !vanished && device.mode != GpuMode::kMig && asked != nullptr;
      if (!sized || !std::holds_alternative<FractionAsk>(asked->ask)) return cost;
      ++fractions;
      cost.memory = FitOracle::cost(*asked, info.memory.value).memory;
      return cost;
    }
  };
  /// A container's part of what one pod takes of one GPU.
  struct Part {
    ContainerKind kind;
    std::size_t position;
    Cost cost;
  };
  /// For each container the set of its GPUs, one bit for each position.
  using Assignment = std::vector<unsigned>;

  void hold(const Holding& holding);
  [[nodiscard]] std::size_t gpu_of(const ReservedDevice& device);
  [[nodiscard]] static Cost together(const std::vector<Part>& parts);
  [[nodiscard]] bool apart(const std::string& other) const;
  [[nodiscard]] std::optional<std::int64_t> cap_left() const;

  [[nodiscard]] bool gate_says(ReasonCode reason, const GpuRequest& request) const;
  [[nodiscard]] bool gates_open(const GpuRequest& request) const;
  [[nodiscard]] ReasonCode reason_for_units(const GpuRequest& request) const;
  /// What is said in place of the first constraint that fails: of profiles that are not there, and
  /// of shares that are larger than all there is.
  [[nodiscard]] ReasonCode closest(const GpuRequest& request, ReasonCode first) const;

  [[nodiscard]] bool exists(const GpuRequest& request, Rule last) const;
  [[nodiscard]] bool extend(const GpuRequest& request, Rule last, Assignment& chosen) const;
  [[nodiscard]] bool alone(const ContainerRequest& asked, const Gpu& gpu, Rule last) const;
  [[nodiscard]] bool serves(const GpuRequest& request, Rule last, const Assignment& chosen) const;
  /// The compute that the GPU's part costs; nothing: it cannot serve it.
  [[nodiscard]] std::optional<std::int64_t> price_on(const GpuRequest& request, Rule last,
                                                     const Assignment& chosen,
                                                     std::size_t gpu) const;
  [[nodiscard]] static MigOracle::View view_of(Rule rule);
  /// The same of a GPU that has slices, for users none of which wants it whole.
  [[nodiscard]] static std::optional<std::int64_t> slices_price(
      const Gpu& gpu, const std::vector<MigOracle::User>& users, std::vector<Part> parts,
      Rule last);
  [[nodiscard]] bool accepts_slices(const GpuRequest& request,
                                    std::span<const DeviceTake> takes) const;
  [[nodiscard]] bool wants_enforcement() const;
  /// The mode in which the GPU serves all these containers; nothing: it cannot.
  [[nodiscard]] std::optional<GpuMode> mode_for(const Gpu& gpu,
                                                const std::vector<const ContainerRequest*>& users,
                                                Rule last) const;
  [[nodiscard]] static bool may_be_whole(const std::vector<const ContainerRequest*>& users);
  [[nodiscard]] static std::optional<GpuMode> opened_by(
      const Gpu& gpu, const std::vector<const ContainerRequest*>& users);

  NodeInventory node_;
  Asker asker_;
  std::vector<Gpu> gpus_;  // the inventory's, then the vanished ones
  bool apart_from_units_ = false;
  int with_devices_ = 0;
  int with_units_ = 0;
  int unplaced_ = 0;
  std::map<std::string, std::int64_t> units_;
};

}  // namespace snug
