// GPUs in MIG mode, read from the contract a second time: with tables of its own. It shares no
// code with mig/ and fit/. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "oracle/mig_cards.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/model/placement.hpp"
#include "snug/model/request.hpp"
#include "snug/model/reservation.hpp"

namespace snug {

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
  using Visit = std::function<bool(const std::vector<model::MigPlacement>&)>;
  /// Every way to give each of them a slice of what is free, until `visit` returns true. True: it
  /// did.
  bool any_places(const std::vector<User>& users, const Visit& visit) const;
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

  [[nodiscard]] const LiteralCard& card() const { return *card_; }
  /// The slice with the uuid that the node says, or none.
  [[nodiscard]] model::Slice slice_at(model::MigPlacement place) const;
  /// Of a slice that the card can have; else any.
  [[nodiscard]] model::MigPlacement placement_of(const model::Slice& slice) const;
  /// Memory slices that pods hold.
  [[nodiscard]] model::AxisMask held_slices() const { return held_.taken; }

 private:
  using Profile = std::size_t;
  /// For each user the one whose slice it has, itself or another; and that one's profile.
  struct Shares {
    std::vector<std::size_t> owners;
    std::vector<std::optional<Profile>> profiles;
  };

  [[nodiscard]] bool listed(const LiteralProfile& profile, int start) const;
  [[nodiscard]] bool has(Profile profile, View view) const;
  [[nodiscard]] bool serves(const LiteralProfile& profile, const model::ContainerRequest& asked,
                            std::int64_t memory_off = 0) const;
  [[nodiscard]] std::optional<Profile> smallest(const model::ContainerRequest& asked,
                                                View view) const;
  [[nodiscard]] bool share_out(const std::vector<User>& users, View view, Shares& shares) const;
  [[nodiscard]] SliceUse taken(View view) const;
  [[nodiscard]] bool offers(const LiteralProfile& profile, int start, View view) const;
  /// `slices`: those of the first users.
  bool place(const Shares& shares, View view, const SliceUse& use,
             std::vector<model::MigPlacement>& slices, const Visit& visit) const;

  const LiteralCard* card_;
  bool dynamic_;
  bool gives_none_;  // other software than an agent gives containers their GPUs
  std::vector<model::Slice> listed_;
  std::vector<model::Slice> offered_;  // by the device plug-in
  model::AxisMask failed_;
  SliceUse held_;
};

}  // namespace snug
