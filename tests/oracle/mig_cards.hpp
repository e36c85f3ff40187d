// What cards can be divided into, in the tests' own tables: nothing here calls the code that it
// checks. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/amounts.hpp"
#include "snug/model/node_inventory.hpp"

namespace snug {

struct LiteralProfile {
  std::string name;
  int compute = 0;
  int size = 0;
  std::int64_t memory = 0;  // MiB
  std::vector<int> starts;
  int media = 0;      // engines that it draws
  int extension = 0;  // the engine that a card has once

  [[nodiscard]] bool plain() const { return name.find_first_of("+-") == std::string::npos; }
};

struct LiteralCard {
  std::string model;
  std::int64_t memory = 0;
  int axis = 0;
  int compute = 0;
  int media = 0;           // engines, where they are counted
  bool published = false;  // the node says its table, which is not the one that is known
  std::vector<LiteralProfile> profiles;

  /// Null: it has none.
  [[nodiscard]] const LiteralProfile* find(std::string_view name) const;
  /// The profile of a slice that the card can have; null: it cannot.
  [[nodiscard]] const LiteralProfile* find(const model::Slice& slice) const;
  [[nodiscard]] Amounts cost(const LiteralProfile& profile) const {
    return {profile.memory, kWholeMilli * profile.compute / compute};
  }
};
[[nodiscard]] const std::vector<LiteralCard>& literal_cards();

/// The one whose table the GPU has; null: it takes no slices.
[[nodiscard]] const LiteralCard* card_of(const model::GpuInfo& gpu);

/// What is taken of one card.
struct SliceUse {
  model::AxisMask taken = 0;
  int media = 0;
  int extension = 0;

  [[nodiscard]] bool room_for(const LiteralCard& card, const LiteralProfile& profile,
                              int start) const;
  void add(const LiteralProfile& profile, int start);
  /// Of slices that the card can have.
  [[nodiscard]] bool room_for(const LiteralCard& card, const model::Slice& slice) const {
    return room_for(card, *card.find(slice), slice.start);
  }
  void add(const LiteralCard& card, const model::Slice& slice) {
    add(*card.find(slice), slice.start);
  }
};

}  // namespace snug
