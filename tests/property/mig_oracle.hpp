// GPUs in MIG mode, read from the contract a second time: cell by cell, with tables of its own. It
// shares no code with mig/ and fit/. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "snug/model/node_inventory.hpp"
#include "snug/model/placement.hpp"
#include "snug/model/request.hpp"
#include "snug/model/reservation.hpp"

namespace snug {

struct LiteralProfile {
  std::string name;
  int compute = 0;
  int size = 0;
  std::int64_t memory = 0;
  std::vector<int> starts;
  int media = 0;
  int extension = 0;
};

struct LiteralCard {
  std::string model;
  std::int64_t memory = 0;
  int axis = 0;
  int compute = 0;
  int media = 0;  // engines, where they are counted
  bool published = false;
  std::vector<LiteralProfile> profiles;
};
[[nodiscard]] const std::vector<LiteralCard>& literal_cards();

/// The one whose table the GPU has; null: it takes no slices.
[[nodiscard]] const LiteralCard* card_of(const model::GpuInfo& gpu);

class MigOracle {
 public:
  /// What is looked at: the card, what the node offers of it, what could be made, what is free.
  enum class View : std::uint8_t { kCard, kOffered, kSound, kFree };

  /// What a container of some pod has here.
  struct Held {
    const model::ReservedDevice* device = nullptr;
    const model::ContainerRequest* asked = nullptr;  // null: not known
    model::ContainerType kind = model::ContainerType::kApp;
  };
  /// What a container would have here.
  struct User {
    const model::ContainerRequest* asked = nullptr;
    std::size_t position = 0;
    const model::DeviceAllocation* take = nullptr;
  };

  MigOracle(const LiteralCard& card, const model::GpuInfo& gpu, const model::NodeInventory& node);

  /// What one pod has here. False: it cannot be right.
  [[nodiscard]] bool hold(std::span<const Held> slices);
  /// What each of them costs in compute, if they go together; what is named in vain costs nothing
  /// while only the card is looked at.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> prices(const std::vector<User>& users,
                                                                View view) const;
  /// Whether these users may have what they are given.
  [[nodiscard]] bool accepts(const std::vector<User>& users) const;
  /// Whether the node offers a profile that serves this, taken or not; of a card of which it offers
  /// none at all nothing is known.
  [[nodiscard]] std::optional<bool> offers_profile(const model::ContainerRequest& asked) const;
  /// At how many starts one could have its slice.
  [[nodiscard]] std::size_t starts_for(const model::ContainerRequest& asked) const;

 private:
  struct Use {
    std::vector<int> cells;
    int media = 0;
    int extension = 0;
  };
  using Profile = std::size_t;

  [[nodiscard]] const LiteralProfile* find(const model::Slice& slice) const;
  [[nodiscard]] bool listed(const LiteralProfile& profile, int start) const;
  [[nodiscard]] bool has(Profile profile, View view) const;
  [[nodiscard]] bool serves(const LiteralProfile& profile, const model::ContainerRequest& asked,
                            std::int64_t memory_off = 0) const;
  [[nodiscard]] std::optional<Profile> smallest(const model::ContainerRequest& asked,
                                                View view) const;
  /// For each user the one whose slice it has, itself or another; and that one's profile.
  [[nodiscard]] bool share_out(const std::vector<User>& users, View view,
                               std::vector<std::size_t>& owners,
                               std::vector<std::optional<Profile>>& profiles) const;
  [[nodiscard]] Use taken(View view) const;
  static void add(Use& use, const LiteralProfile& profile, int start);
  [[nodiscard]] bool possible(const Use& use) const;
  [[nodiscard]] bool offers(const LiteralProfile& profile, int start, View view) const;
  [[nodiscard]] bool together(const Use& use, std::vector<Profile> rest, View view) const;
  [[nodiscard]] std::int64_t compute_of(const LiteralProfile& profile) const {
    return std::int64_t{1000} * profile.compute / card_->compute;
  }

  const LiteralCard* card_;
  bool dynamic_;
  std::vector<model::Slice> listed_;
  std::vector<model::Slice> offered_;  // by the device plug-in
  model::AxisMask failed_;
  Use held_;
};

}  // namespace snug
