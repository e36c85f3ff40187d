// One node by the rules of the contract, read a second time: what its pods hold, and whether a pod
// fits, which is decided by trying every assignment. The one naive model of these rules, for
// properties and the simulation. It shares no code with fit/ and plan/: what is free is added up
// here from the holdings. Pure; meant for nodes of a few GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/amounts.hpp"
#include "oracle/mig_oracle.hpp"
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
  std::function<model::SharingRule(std::string_view)> rule_of = [](std::string_view) {
    return model::SharingRule{};
  };
  std::int64_t held = 0;  // milli-GPU that it has already, in the whole cluster
};

class FitOracle {
 public:
  using Takes = std::vector<model::DeviceAllocation>;

  struct Gpu {
    model::GpuInfo info;
    bool vanished = false;
    bool closed = false;
    bool apart = false;  // someone is on it whom the asker may not meet
    bool held = false;
    model::GpuMode mode = model::GpuMode::kNone;  // of the first holder
    Amounts used;
    int fractions = 0;  // shares by fraction, which follow the GPU's size
    std::optional<MigOracle> slices;

    [[nodiscard]] bool allows(model::GpuMode mode) const;
    [[nodiscard]] bool may_state(const model::ContainerRequest& asked,
                                 const model::ReservedDevice& device) const;
    /// What the device counts for; `asked` is null where it is not known.
    Amounts counts(const model::ReservedDevice& device, const model::ContainerRequest* asked);
  };

  FitOracle(model::NodeInventory node, const std::vector<model::HoldingPtr>& holdings,
            Asker asker = {});

  /// Whether some assignment serves the request.
  [[nodiscard]] bool possible(const model::GpuRequest& request) const;

  /// Whether the GPU at this position does, of a request for one GPU.
  [[nodiscard]] bool possible_on(const model::GpuRequest& request, std::size_t gpu) const;

  /// Whether there may be pods on the node that the holdings do not show.
  enum class Beside : std::uint8_t { kNobody, kMore };
  /// Why this assignment does not serve the request at the price of the contract and in the modes
  /// of the contract; empty: it does. On a GPU that is empty here, kMore allows any mode of
  /// sharing.
  [[nodiscard]] std::string obstacle(const model::GpuRequest& request,
                                     std::span<const model::DeviceAllocation> takes,
                                     Beside beside = Beside::kNobody) const;
  [[nodiscard]] bool accepts(const model::GpuRequest& request,
                             std::span<const model::DeviceAllocation> takes) const {
    return obstacle(request, takes).empty();
  }
  /// Every assignment that serves the request, until `visit` returns true. True: it did. A request
  /// to the kubelet has one, without takes.
  bool any_choice(const model::GpuRequest& request,
                  const std::function<bool(const Takes&)>& visit) const;
  /// What the asker holds if it takes these.
  [[nodiscard]] model::HoldingPtr holding(const model::GpuRequest& request,
                                          const Takes& takes) const;
  /// What a holding takes of the GPUs that are there.
  [[nodiscard]] Takes takes_of(const model::Holding& holding) const;

  /// Whether the node cannot serve the request, and the reason is the one to be given for it.
  [[nodiscard]] bool is_true(model::ReasonCode reason, const model::GpuRequest& request) const;

  /// The inventory's, then the vanished ones.
  [[nodiscard]] const std::vector<Gpu>& gpus() const { return gpus_; }
  /// That the kubelet has assigned, by resource.
  [[nodiscard]] const std::map<std::string, std::int64_t>& units() const { return units_; }

  /// At how many starts of this GPU the request, of one container, can have its slice; nothing: it
  /// has no slices.
  [[nodiscard]] std::optional<std::size_t> starts_on(const model::GpuRequest& request,
                                                     std::size_t gpu) const;

  [[nodiscard]] static Amounts cost(const model::ContainerRequest& asked, std::int64_t capacity);

  /// Milli-GPU that a holding counts for under a cap. `replicas`: as how many its node offers each
  /// GPU; 0: the node is gone, and units count for nothing.
  [[nodiscard]] static std::int64_t held_by(const model::Holding& holding, std::int64_t replicas);

 private:
  /// In this order: the first that, with all those before it, makes a request impossible that was
  /// possible without it is the reason. (What exists of a card may serve what its smallest profiles
  /// cannot: of several such rules the last counts.)
  enum class Rule : std::uint8_t { kSize, kModel, kMode, kHealth, kCap, kRoom, kNeighbours };
  [[nodiscard]] static model::ReasonCode reason_of(Rule rule);

  /// For each container the set of its GPUs, one bit for each position.
  using Assignment = std::vector<unsigned>;
  using Users = std::vector<const model::ContainerRequest*>;

  void hold(const model::Holding& holding);
  [[nodiscard]] std::optional<std::size_t> find_gpu(const model::ReservedDevice& device) const;
  [[nodiscard]] std::size_t gpu_of(const model::ReservedDevice& device);
  [[nodiscard]] static std::int64_t milli_of_units(std::int64_t replicas,
                                                   const std::string& resource, std::int64_t count);
  [[nodiscard]] bool apart(const std::string& other) const;
  [[nodiscard]] std::optional<std::int64_t> cap_left() const;

  [[nodiscard]] bool gate_says(model::ReasonCode reason, const model::GpuRequest& request) const;
  /// `but`: a gate that does not count.
  [[nodiscard]] bool gates_open(const model::GpuRequest& request,
                                model::ReasonCode but = model::ReasonCode::kNone) const;
  /// The reason of the node's GPUs and units, whatever the gates say.
  [[nodiscard]] model::ReasonCode reason_of_devices(const model::GpuRequest& request) const;
  [[nodiscard]] model::ReasonCode reason_for_units(const model::GpuRequest& request) const;
  /// What is said in place of the first constraint that fails: of profiles that are not there, and
  /// of shares that are larger than all there is.
  [[nodiscard]] model::ReasonCode closest(const model::GpuRequest& request,
                                          model::ReasonCode first) const;

  [[nodiscard]] bool exists(const model::GpuRequest& request, Rule last) const;
  /// Every assignment in which each container may have its GPUs, as far as can be said of one
  /// container and one GPU, until `visit` returns true. True: it did.
  bool extend(const model::GpuRequest& request, Rule last, Assignment& chosen,
              const std::function<bool(const Assignment&)>& visit) const;
  [[nodiscard]] bool alone(const model::ContainerRequest& asked, const Gpu& gpu, Rule last) const;
  [[nodiscard]] bool serves(const model::GpuRequest& request, Rule last,
                            const Assignment& chosen) const;
  /// The containers that have this GPU.
  [[nodiscard]] static Users users_of(const model::GpuRequest& request, const Assignment& chosen,
                                      std::size_t gpu);
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
  /// The GPUs from `gpu` on have no slices yet.
  bool with_slices(const model::GpuRequest& request, std::size_t gpu, Takes& takes,
                   const std::function<bool(const Takes&)>& visit) const;
  [[nodiscard]] bool wants_enforcement() const;
  /// Whether the node's other enforcer cannot express the request.
  [[nodiscard]] bool enforcer_lacks(const model::GpuRequest& request) const;
  /// The mode in which the GPU serves all these containers; nothing: it cannot.
  [[nodiscard]] std::optional<model::GpuMode> mode_for(const Gpu& gpu, const Users& users,
                                                       Rule last) const;
  [[nodiscard]] static bool may_be_whole(const Users& users);
  [[nodiscard]] std::optional<model::GpuMode> opened_by(const Gpu& gpu, const Users& users) const;

  model::NodeInventory node_;
  Asker asker_;
  model::SharingRule own_rule_;
  std::vector<Gpu> gpus_;
  bool apart_from_units_ = false;
  int with_devices_ = 0;
  int with_units_ = 0;
  int unplaced_ = 0;
  std::map<std::string, std::int64_t> units_;
};

}  // namespace snug
