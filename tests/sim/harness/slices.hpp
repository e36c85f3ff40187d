// MIG slices in the naive model's own words: what the simulated cards can be divided into, and what
// a container may have of them. Calls nothing of Snug's.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace snug {

struct SimGpu;
struct PlainContainer;
struct Amounts;

struct PlainSlice {
  std::string profile;  // empty: no slice
  int start = 0;
  int size = 0;
  std::string uuid;
  friend auto operator<=>(const PlainSlice&, const PlainSlice&) = default;

  [[nodiscard]] std::uint64_t range() const { return ((std::uint64_t{1} << size) - 1) << start; }
  [[nodiscard]] bool same_place(const PlainSlice& other) const {
    return profile == other.profile && start == other.start && size == other.size;
  }
};

struct PlainProfile {
  std::string name;
  int compute = 0;
  int size = 0;
  std::int64_t memory = 0;  // MiB
  std::vector<int> starts;
  int media = 0;      // engines that it draws
  int extension = 0;  // the engine that a card has once

  [[nodiscard]] bool plain() const { return name.find_first_of("+-") == std::string::npos; }
};

struct PlainCard {
  std::string model;
  std::int64_t memory = 0;  // MiB
  int axis = 0;
  int compute = 0;
  int media = 0;
  bool published = false;  // the node says its table, which is not the one that is known
  std::vector<PlainProfile> profiles;

  /// Null: it has none.
  [[nodiscard]] const PlainProfile* find(std::string_view name) const;
  /// A slice that the card can have.
  [[nodiscard]] bool legal(const PlainSlice& slice) const;
  [[nodiscard]] Amounts cost(const PlainProfile& profile) const;
};

[[nodiscard]] const std::vector<PlainCard>& plain_cards();
/// Of a GPU in MIG mode. Null: it has no slices.
[[nodiscard]] const PlainCard* card_of(const SimGpu& gpu);
/// The one that has a profile of this name; null: none.
[[nodiscard]] const PlainCard* card_with(std::string_view profile);

/// What is taken of one card.
struct SliceUse {
  std::uint64_t taken = 0;
  int media = 0;
  int extension = 0;

  [[nodiscard]] bool room_for(const PlainCard& card, const PlainSlice& slice) const;
  void add(const PlainCard& card, const PlainSlice& slice);
};

/// Whether a slice of the profile has what the container asks for.
[[nodiscard]] bool satisfies(const PlainCard& card, const PlainProfile& profile,
                             const PlainContainer& ask);
/// That serves with the fewest memory slices, then the fewest compute slices, of those that the GPU
/// has. Null: none does. `dynamic`: the GPU has what its card allows.
[[nodiscard]] const PlainProfile* smallest(const SimGpu& gpu, bool dynamic,
                                           const PlainContainer& ask);

/// What one container of several on a GPU needs there.
struct SliceWant {
  const PlainContainer* ask = nullptr;
  const PlainProfile* profile = nullptr;
  std::size_t owner = 0;  // whose slice it uses; its own position: it has its own
};
/// In the order of `asks`; empty: somebody cannot be served. A plain init container uses the slice
/// of an app, or of another of its like, that has what it needs.
[[nodiscard]] std::vector<SliceWant> slice_wants(const SimGpu& gpu, bool dynamic,
                                                 const std::vector<const PlainContainer*>& asks);

/// Every way to place them beside what is taken, until `visit` returns true; it gets a slice for
/// each want. True: it did. Of a GPU that is not dynamic the slices are those that it has.
bool any_places(const SimGpu& gpu, bool dynamic, const SliceUse& use,
                const std::vector<SliceWant>& wants,
                const std::function<bool(const std::vector<PlainSlice>&)>& visit);

}  // namespace snug
