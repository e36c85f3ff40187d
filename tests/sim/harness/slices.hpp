// MIG slices in the naive model: how the simulated cards can be divided, and which slices a
// container may have. Does not use Snug's decision code.
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
  std::string profile;  // empty: this is no slice
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
  int media = 0;      // number of media engines that a slice uses
  int extension = 0;  // 1 if a slice uses the one media-extension engine of the card

  [[nodiscard]] bool plain() const { return name.find_first_of("+-") == std::string::npos; }
};

struct PlainCard {
  std::string model;
  std::int64_t memory = 0;  // MiB
  int axis = 0;
  int compute = 0;
  int media = 0;
  bool published = false;  // the node publishes a MIG table that differs from the built-in one
  std::vector<PlainProfile> profiles;

  /// Returns the profile with this name, or null if the card has none.
  [[nodiscard]] const PlainProfile* find(std::string_view name) const;
  /// Whether the card can have this slice.
  [[nodiscard]] bool legal(const PlainSlice& slice) const;
  [[nodiscard]] Amounts cost(const PlainProfile& profile) const;
};

[[nodiscard]] const std::vector<PlainCard>& plain_cards();
/// Returns the card of a GPU in MIG mode, or null for any other GPU.
[[nodiscard]] const PlainCard* card_of(const SimGpu& gpu);
/// Returns the card that has a profile of this name, or null if there is none.
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
/// Returns the profile that satisfies the container with the fewest memory slices, then with the
/// fewest compute slices, or null if there is none. If `dynamic`, all profiles of the card are
/// considered, and otherwise only those of existing slices.
[[nodiscard]] const PlainProfile* smallest(const SimGpu& gpu, bool dynamic,
                                           const PlainContainer& ask);

/// The slice that one container needs on a GPU.
struct SliceWant {
  const PlainContainer* ask = nullptr;
  const PlainProfile* profile = nullptr;
  std::size_t owner = 0;  // position of the container whose slice it uses, perhaps its own
};
/// Returns the slices that these containers need, in the order of `asks`, or nothing if one of them
/// cannot be satisfied. An init container uses the slice of an app or of another init container, if
/// that slice satisfies it.
[[nodiscard]] std::vector<SliceWant> slice_wants(const SimGpu& gpu, bool dynamic,
                                                 const std::vector<const PlainContainer*>& asks);

/// Calls `visit` with one slice for each want, for each way to place them beside `use`, until
/// `visit` returns true. Returns whether it did. If not `dynamic`, only existing slices are used.
bool any_places(const SimGpu& gpu, bool dynamic, const SliceUse& use,
                const std::vector<SliceWant>& wants,
                const std::function<bool(const std::vector<PlainSlice>&)>& visit);

}  // namespace snug
