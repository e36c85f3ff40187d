// Every layout of every card: slices that pods hold close their GPU if and only if the hardware
// would not have made them, in whatever order they came, and fit() offers what it would make.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ledger_fixture.hpp"
#include "snug/mig/card_catalog.hpp"
#include "support/mig_nodes.hpp"
#include "support/node_states.hpp"

namespace snug::slice_layouts_test {
namespace {

#ifdef SNUG_SANITIZED
constexpr bool kFew = true;  // there is one thread, so the sanitizers need few tables
#else
constexpr bool kFew = false;
#endif

/// The built-in cards.
std::span<const mig::MigCard> tested_cards() {
  return mig::mig_cards().first(kFew ? 1 : mig::mig_cards().size());
}

/// A slice as the driver knows it, by what its name says.
struct Place {
  std::string profile;
  int start = 0;
  int size = 0;
  int compute = 0;
  std::string attribute;

  friend auto operator<=>(const Place&, const Place&) = default;
};
using Layout = std::set<Place>;

/// What NVIDIA says of its cards: memory slices are one instance's, `+me` and `+me.all` are on a
/// card once, and where instances may go without media engines or have all, each has as many as it
/// has compute slices, and the card as many as it has.
class Hardware {
 public:
  explicit Hardware(const model::MigTable& table) : axis_(table.memory_slices) {
    for (const model::MigProfile& profile : table.profiles) {
      const std::size_t end = std::min(profile.name.find("gb") + 2, profile.name.size());
      for (const int start : profile.starts) {
        places_.push_back({.profile = profile.name,
                           .start = start,
                           .size = profile.size,
                           .compute = std::stoi(profile.name),
                           .attribute = profile.name.substr(end)});
        const std::string& attribute = places_.back().attribute;
        compute_ = std::max(compute_, places_.back().compute);
        counts_media_ = counts_media_ || attribute == "-me" || attribute == "+me.all";
      }
    }
  }

  [[nodiscard]] const std::vector<Place>& places() const { return places_; }

  [[nodiscard]] bool has_room(const Layout& beside, const Place& more) const {
    std::vector<int> cells(static_cast<std::size_t>(axis_));
    int extensions = 0;
    int media = 0;
    const auto draw = [&](const Place& place) {
      for (int i = place.start; i < place.start + place.size; ++i) {
        ++cells.at(static_cast<std::size_t>(i));
      }
      const bool all = place.attribute == "+me.all";
      extensions += all || place.attribute == "+me" ? 1 : 0;
      media += place.attribute == "-me" ? 0 : all ? compute_ : place.compute;
    };
    for (const Place& place : beside) draw(place);
    draw(more);
    return std::ranges::max(cells) <= 1 && extensions <= 1 && (!counts_media_ || media <= compute_);
  }

 private:
  int axis_;
  int compute_ = 0;
  bool counts_media_ = false;
  std::vector<Place> places_;
};

/// What decisions see of the GPU.
struct Seen {
  model::GpuClosure closure = model::GpuClosure::kOpen;
  std::int64_t memory = 0;
  std::int64_t compute = 0;
  model::AxisMask taken = 0;
  int media = 0;
  int extension = 0;
  std::int32_t room = 0;

  friend bool operator==(const Seen&, const Seen&) = default;
};

Seen seen(const model::GpuState& gpu) {
  return {.closure = gpu.closure,
          .memory = gpu.used_memory.value,
          .compute = gpu.used_compute.value,
          .taken = gpu.mig.taken_slices,
          .media = gpu.mig.engines.media,
          .extension = gpu.mig.engines.extension,
          .room = gpu.free_milli_sum};
}

class Card {
 public:
  Card(std::string name, model::MigTablePtr table)
      : name_(std::move(name)), hardware_(*table), world_({}, {}) {
    model::NodeInventory node = make_node("n1: A 1000000 mig | dynamic");
    set_table(node.gpus.front(), std::move(table));
    inventory_ = std::make_shared<const model::NodeInventory>(node);
    world_.ledger.put_node(std::move(node));
    for (const Place& place : hardware_.places()) {
      const std::string uid = place.profile + "@" + std::to_string(place.start);
      pods_[place] = make_slice_holding(
          uid, "n1", make_slice_device(0, this->table(), place.profile, place.start));
    }
    for (const model::MigProfile& profile : this->table().profiles) {
      asks_.emplace_back(profile.name, make_slice_request(profile.name));
    }
  }

  /// Each layout with each slice beside it.
  void check_each_set() {
    for (const Layout& layout : layouts()) check_set(layout);
    EXPECT_EQ(layouts_.size(), mig::all_layouts(table()).size()) << name_;
  }

  /// Each layout in all orders in which its slices can come: every state is what it was when the
  /// same slices came in another order.
  void check_each_order() {
    Layout none;
    extend(none);
    EXPECT_EQ(by_layout_.size(), mig::all_layouts(table()).size()) << name_;
  }

 private:
  [[nodiscard]] const model::MigTable& table() const { return *inventory_->gpus.front().mig_table; }

  [[nodiscard]] model::NodeStatePtr with(const Layout& layout, const Place* more) const {
    std::vector<model::HoldingPtr> holdings;
    for (const Place& place : layout) holdings.push_back(pods_.at(place));
    if (more != nullptr) holdings.push_back(another(*more, "one-more"));
    return fit::build_node_state(inventory_, std::move(holdings));
  }

  [[nodiscard]] model::HoldingPtr another(const Place& place, std::string uid) const {
    auto pod = std::make_shared<model::Holding>(*pods_.at(place));
    pod->uid = std::move(uid);
    pod->reservation.uid = pod->uid;
    return pod;
  }

  const std::set<Layout>& layouts() {
    std::vector<Layout> to_grow = {{}};
    layouts_.insert(Layout{});
    while (!to_grow.empty()) {
      const Layout layout = std::move(to_grow.back());
      to_grow.pop_back();
      for (const Place& place : hardware_.places()) {
        if (!hardware_.has_room(layout, place)) continue;
        Layout larger = layout;
        larger.insert(place);
        if (layouts_.insert(larger).second) to_grow.push_back(std::move(larger));
      }
    }
    return layouts_;
  }

  void check_set(const Layout& layout) {
    const model::NodeStatePtr node = with(layout, nullptr);
    ASSERT_EQ(node->gpus[0].closure, model::GpuClosure::kOpen) << text(layout);
    std::set<std::pair<std::string, int>> possible;
    for (const Place& place : hardware_.places()) {
      const bool room = hardware_.has_room(layout, place);
      if (room) possible.emplace(place.profile, place.start);
      const model::NodeStatePtr more = with(layout, &place);
      const model::GpuClosure expected =
          room ? model::GpuClosure::kOpen : model::GpuClosure::kOverCommitted;
      ASSERT_EQ(more->gpus[0].closure, expected)
          << text(layout) << "and " << place.profile << "@" << place.start;
      const model::ReservedDevice device = device_of(place);
      EXPECT_EQ(more->gpus[0].used_memory, node->gpus[0].used_memory + device.memory);
    }
    ASSERT_EQ(offered(*node), possible) << text(layout);
  }

  std::set<std::pair<std::string, int>> offered(const model::NodeState& node) const {
    std::set<std::pair<std::string, int>> offered;
    model::PlacementList options;
    for (const auto& [profile, asked] : asks_) {
      fit::FitMemo memo(asked);
      const model::ReasonCode reason = fit::fit(node, {}, memo, options);
      EXPECT_EQ(reason, options.empty() ? model::ReasonCode::kNoRoom : model::ReasonCode::kNone);
      for (std::size_t i = 0; i < options.size(); ++i) {
        const model::MigPlacement slice = options[i].allocations[0].slice;
        EXPECT_EQ(table().profiles[slice.profile].name, profile);
        offered.emplace(profile, slice.start);
      }
    }
    return offered;
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as a layout has slices
  void extend(Layout& layout) {
    const Seen now = seen(world_.node("n1")->gpus[0]);
    const auto [known, is_new] = by_layout_.try_emplace(layout, now);
    ASSERT_EQ(known->second, now) << text(layout) << "after another order";
    ASSERT_EQ(now.closure, model::GpuClosure::kOpen) << text(layout);
    for (const Place& place : hardware_.places()) {
      if (layout.contains(place) || !hardware_.has_room(layout, place)) continue;
      const model::HoldingPtr pod = another(place, std::to_string(++pods_held_));
      ASSERT_TRUE(world_.ledger.hold(pod));
      layout.insert(place);
      extend(layout);
      layout.erase(place);
      world_.ledger.end_pod(pod->uid);
    }
  }

  [[nodiscard]] const model::ReservedDevice& device_of(const Place& place) const {
    const auto& given = pods_.at(place)->reservation.containers.front().assigned;
    return std::get<std::vector<model::ReservedDevice>>(given).front();
  }

  [[nodiscard]] std::string text(const Layout& layout) const {
    std::string text = name_ + ": ";
    for (const Place& place : layout) {
      text += place.profile + "@" + std::to_string(place.start) + " ";
    }
    return text;
  }

  std::string name_;
  Hardware hardware_;
  LedgerFixture world_;
  std::shared_ptr<const model::NodeInventory> inventory_;
  std::map<Place, std::shared_ptr<model::Holding>> pods_;
  std::vector<std::pair<std::string, model::GpuRequest>> asks_;
  std::set<Layout> layouts_;
  std::map<Layout, Seen> by_layout_;
  int pods_held_ = 0;
};

struct Named {
  std::string name;
  model::MigTablePtr table;
};

/// As nodes publish them: of no card that is known, and of one that is.
std::vector<Named> published() {
  const auto profile = [](std::string name, int size, std::vector<int> starts) {
    return model::MigProfile{.name = std::move(name),
                             .size = size,
                             .memory{std::int64_t{1000} * size},
                             .starts = std::move(starts)};
  };
  std::vector<Named> all = {
      {"odd", mig::build_mig_table({profile("1g.8gb", 1, {0, 1, 2, 3, 4}),
                                    profile("1g.8gb+me", 1, {1, 4}), profile("2g.16gb", 2, {1, 3}),
                                    profile("3g.24gb", 3, {0, 2}), profile("5g.40gb", 5, {0})})},
      {"media", mig::build_mig_table(
                    {profile("1g.8gb-me", 2, {0, 2, 3}), profile("1g.8gb+me.all", 2, {0, 3}),
                     profile("1g.8gb+gfx", 1, {0, 1, 4}), profile("2g.16gb", 3, {0, 2})})},
      {"A100-40GB as published", mig::build_mig_table(card_named("A100-40GB").table->profiles)}};
  if (kFew) all.resize(1);
  return all;
}

/// What layouts a card has does not depend on its memory.
bool like(const model::MigTable& a, const model::MigTable& b) {
  return a.memory_slices == b.memory_slices &&
         std::ranges::equal(a.profiles, b.profiles,
                            [](const model::MigProfile& one, const model::MigProfile& other) {
                              return one.compute_slices == other.compute_slices &&
                                     one.size == other.size && one.starts == other.starts &&
                                     one.engines == other.engines;
                            });
}

TEST(SliceLayoutsTest, EveryLayoutOfEveryCardIsHeldAndNothingElseIs) {
  for (const mig::MigCard& card : tested_cards()) {
    Card(card.name, card.table).check_each_set();
  }
  for (const Named& row : published()) Card(row.name, row.table).check_each_set();
}

TEST(SliceLayoutsTest, InWhicheverOrderSlicesComeTheStateIsTheSame) {
  std::vector<Named> tables = published();
  for (const mig::MigCard& card : tested_cards()) {
    const bool known = std::ranges::any_of(
        tables, [&](const Named& other) { return like(*card.table, *other.table); });
    if (!known) tables.push_back({card.name, card.table});
  }
  for (const Named& row : tables) Card(row.name, row.table).check_each_order();
}

}  // namespace
}  // namespace snug::slice_layouts_test
