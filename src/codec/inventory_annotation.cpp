#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "codec/inventory_sources.hpp"
#include "codec/json.hpp"
#include "snug/mig/catalog.hpp"
#include "snug/model/glob.hpp"

namespace snug {
namespace {

/// Texts to which NVIDIA's runtime gives a special meaning in a list of devices.
bool is_taken(std::string_view text) {
  return text == "all" || text == "none" || text == "void" ||
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// What can stand in a comma-separated list of devices as it is, and leaves the reservation of many
/// devices within its bytes (kReservationBytesPerGpu).
bool is_uuid(std::string_view text) {
  constexpr std::size_t kLongest = 64;
  return text.size() <= kLongest && std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  std::string_view("-_./:").find(c) != std::string_view::npos;
         });
}

/// As tables spell it, where it is a profile's name.
std::string as_in_tables(std::string profile) {
  std::optional<MigName> name = parse_mig_name(profile);
  return name ? std::move(name->name) : std::move(profile);
}

/// The other spelling of the A100 80 GB's largest profile, whose size some drivers round down.
std::string other_spelling(std::string_view profile) {
  if (profile == "7g.79gb") return "7g.80gb";
  return profile == "7g.80gb" ? "7g.79gb" : "";
}

/// `0, 2 or 4`.
std::string any_of(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const bool last = i + 1 == numbers.size();
    text += (i == 0 ? "" : last ? " or " : ", ") + std::to_string(numbers[i]);
  }
  return text;
}

class AnnotationReader {
 public:
  AnnotationReader(const NodeFacts& node, const Limits& limits) : node_(node), limits_(limits) {}

  /// Empty: the inventory is filled; else what is wrong.
  std::string read(const JsonDocument& document, NodeInventory& inventory) {
    const JsonAt root{.value = document.root()};
    (void)json_.integer(json_.required(root, "version"), {1, 1});
    const std::string boot_id = json_.text(json_.member(root, "bootID"));
    dynamic_mig_ = json_.boolean(json_.member(root, "dynamicMig"));
    inventory.dynamic_mig = dynamic_mig_;
    const JsonAt gpus = json_.required(root, "gpus");
    const auto items = json_.items(gpus);
    if (static_cast<std::int64_t>(items.size()) > limits_.max_gpus_per_node) {
      json_.complain(gpus,
                     "must have at most " + std::to_string(limits_.max_gpus_per_node) + " entries");
    }
    for (const JsonAt& item : items) {
      if (!json_.ok()) break;
      inventory.gpus.push_back(read_gpu(item));
    }
    inventory.links = read_links(json_.member(root, "links"), inventory.gpus.size());
    read_failures(json_.member(root, "migFailures"), inventory);
    if (!json_.ok()) return json_.problem();
    sort_by_index(inventory);
    if (!boot_id.empty() && !node_.boot_id.empty() && boot_id != node_.boot_id) {
      close_to_all(inventory, ReasonCode::kBadInventory,
                   "the annotation snug.dev/inventory is stale: its bootID is not the one of the "
                   "node's status.nodeInfo");
    }
    return "";
  }

 private:
  GpuInfo read_gpu(const JsonAt& at) {
    GpuInfo gpu;
    const JsonAt index = json_.required(at, "index");
    gpu.index = static_cast<int>(json_.integer(index, kGpuIndex));
    if (!indices_.insert(gpu.index).second) json_.complain(index, "stands there twice");
    gpu.uuid = read_uuid(at);
    gpu.model = read_model(at);
    gpu.memory = {json_.integer(json_.required(at, "memoryMiB"), kPositive)};
    if (const JsonAt healthy = json_.member(at, "healthy"); healthy.present()) {
      gpu.healthy = json_.boolean(healthy);
    }
    if (const JsonAt numa = json_.member(at, "numa"); numa.present()) {
      gpu.numa = static_cast<int>(json_.integer(numa, {-1, 65'535}));
    }
    gpu.mig = json_.boolean(json_.member(at, "mig"));
    gpu.modes = read_modes(json_.member(at, "modes"));
    gpu.mig_instances = read_instances(json_.member(at, "migInstances"));
    read_table(json_.member(at, "migProfiles"), gpu);
    if (json_.ok()) check_instances(json_.member(at, "migInstances"), gpu);
    return gpu;
  }

  /// Out of MIG mode they count for nothing. A profile that the table does not have may be one of a
  /// newer driver.
  void check_instances(const JsonAt& at, const GpuInfo& gpu) {
    if (!gpu.mig) return;
    const auto items = json_.items(at);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Slice& slice = gpu.mig_instances[i];
      if (slice.uuid.empty() && !dynamic_mig_) {
        json_.complain(items[i],
                       "must have a uuid, by which pods get it where dynamicMig is not true");
      }
      const auto known = gpu.mig_table ? gpu.mig_table->find(slice.profile) : std::nullopt;
      if (!known) continue;
      const MigProfile& profile = gpu.mig_table->profiles[*known];
      if (slice.size != profile.size) {
        json_.complain(items[i], "must have the size of its profile, which is " +
                                     std::to_string(profile.size));
      }
      if (!std::ranges::binary_search(profile.starts, slice.start)) {
        json_.complain(items[i],
                       "must start where its profile can, which is at " + any_of(profile.starts));
      }
    }
  }

  std::string read_model(const JsonAt& object) {
    const JsonAt at = json_.required(object, "model");
    std::string model = json_.text(at);
    if (json_.ok() && !is_model(model)) json_.complain(at, "must have " + model_rule());
    return model;
  }

  std::string read_uuid(const JsonAt& object) {
    const JsonAt at = json_.member(object, "uuid");
    std::string uuid = json_.nonempty_text(at);
    if (json_.ok() && at.present() && is_taken(uuid)) {
      json_.complain(at, "must be a uuid, and not all, none, void or a number");
    }
    if (json_.ok() && at.present() && !is_uuid(uuid)) {
      json_.complain(at, "must have at most 64 characters, and only letters, digits and -_./:");
    }
    if (!uuid.empty() && !uuids_.insert(uuid).second) json_.complain(at, "stands there twice");
    return uuid;
  }

  std::vector<GpuMode> read_modes(const JsonAt& at) {
    if (!at.present()) return default_modes();
    std::vector<GpuMode> modes;
    for (const JsonAt& item : json_.items(at)) {
      const GpuMode mode = mode_from(json_.text(item));
      if (mode == GpuMode::kNone || mode == GpuMode::kMig) {
        json_.complain(item, "must be whole, time-slicing or mps");
      }
      if (std::ranges::find(modes, mode) != modes.end()) json_.complain(item, "stands there twice");
      modes.push_back(mode);
    }
    return modes;
  }

  std::vector<Slice> read_instances(const JsonAt& at) {
    std::vector<Slice> slices;
    for (const JsonAt& item : json_.items(at)) {
      Slice slice;
      slice.profile = read_profile_name(json_.required(item, "profile"));
      slice.start = static_cast<int>(json_.integer(json_.required(item, "start"), kAxisStart));
      slice.size = static_cast<int>(json_.integer(json_.required(item, "size"), kAxisSize));
      slice.uuid = read_uuid(item);
      const bool overlaps = std::ranges::any_of(slices, [&](const Slice& other) {
        return slice.start < other.start + other.size && other.start < slice.start + slice.size;
      });
      if (overlaps) json_.complain(item, "overlaps another instance");
      slices.push_back(std::move(slice));
    }
    return slices;
  }

  void check_profile_name(const JsonAt& at, std::string_view name) {
    if (!json_.ok() || parse_mig_name(name)) return;
    json_.complain(at, "must be a profile's name, such as 2g.10gb or 1g.5gb+me");
  }

  /// As tables spell it.
  std::string read_profile_name(const JsonAt& at) {
    std::string name = json_.nonempty_text(at);
    check_profile_name(at, name);
    return as_in_tables(std::move(name));
  }

  /// The card's own table, else the built-in one.
  void read_table(const JsonAt& at, GpuInfo& gpu) {
    if (!at.present()) {
      const MigCard* card = gpu.mig && json_.ok() ? find_mig_card(gpu.model, gpu.memory) : nullptr;
      if (card != nullptr) gpu.mig_table = card->table;
      return;
    }
    std::vector<MigProfile> profiles = read_profiles(at);
    if (!json_.ok()) return;
    gpu.mig_table = mig_table_of(std::move(profiles));
    if (!gpu.mig_table) {
      json_.complain(at, "must have a profile with a start, and each under one spelling");
    }
  }

  std::vector<MigProfile> read_profiles(const JsonAt& at) {
    std::vector<MigProfile> profiles;
    std::set<std::string> names;
    std::size_t starts = 0;
    const auto items = json_.items(at);
    if (items.size() > kMostMigProfiles) {
      json_.complain(at, "must have at most " + std::to_string(kMostMigProfiles) + " entries");
    }
    for (const JsonAt& item : items) {
      MigProfile profile;
      const JsonAt name = json_.required(item, "profile");
      profile.name = json_.nonempty_text(name);
      check_profile_name(name, profile.name);
      profile.alias = other_spelling(profile.name);
      if (!names.insert(profile.name).second) json_.complain(name, "stands there twice");
      profile.size = static_cast<int>(json_.integer(json_.required(item, "size"), kAxisSize));
      profile.memory = {json_.integer(json_.required(item, "memoryMiB"), kPositive)};
      read_starts(json_.required(item, "starts"), profile);
      starts += profile.starts.size();
      profiles.push_back(std::move(profile));
    }
    if (starts > kMostMigPlacements) {
      json_.complain(at, "must have at most " + std::to_string(kMostMigPlacements) +
                             " starts over all profiles");
    }
    return profiles;
  }

  void read_starts(const JsonAt& at, MigProfile& profile) {
    for (const JsonAt& item : json_.items(at)) {
      const auto start = static_cast<int>(json_.integer(item, kAxisStart));
      if (start + profile.size > kMostAxisSlices) {
        json_.complain(item, "must leave room for the size: the axis has at most " +
                                 std::to_string(kMostAxisSlices) + " memory slices");
      }
      if (std::ranges::find(profile.starts, start) != profile.starts.end()) {
        json_.complain(item, "stands there twice");
      }
      profile.starts.push_back(start);
    }
    std::ranges::sort(profile.starts);
  }

  /// Of a GPU or a profile that the node does not have now nothing can be created anyway.
  void read_failures(const JsonAt& at, NodeInventory& inventory) {
    for (const JsonAt& item : json_.items(at)) {
      const std::string uuid = json_.nonempty_text(json_.required(item, "gpu"));
      const std::string profile =
          as_in_tables(json_.nonempty_text(json_.required(item, "profile")));
      const auto start = static_cast<int>(json_.integer(json_.required(item, "start"), kAxisStart));
      (void)json_.nonempty_text(json_.member(item, "pod"));
      if (!json_.ok()) return;
      for (GpuInfo& gpu : inventory.gpus) {
        if (gpu.uuid != uuid || !gpu.mig_table) continue;
        const auto known = gpu.mig_table->find(profile);
        if (!known) continue;
        const MigProfile& failed = gpu.mig_table->profiles[*known];
        if (!std::ranges::binary_search(failed.starts, start)) continue;
        gpu.mig_failed |= axis_range(start, failed.size);
      }
    }
  }

  std::vector<std::vector<int>> read_links(const JsonAt& at, std::size_t gpus) {
    std::vector<std::vector<int>> links;
    for (const JsonAt& row : json_.items(at)) {
      std::vector<int>& numbers = links.emplace_back();
      for (const JsonAt& item : json_.items(row)) {
        numbers.push_back(static_cast<int>(json_.integer(item, {0, 65'535})));
        check_link(item, links);
      }
      if (numbers.size() != gpus) json_.complain(row, "must have one number for each GPU");
    }
    if (json_.ok() && at.present() && links.size() != gpus) {
      json_.complain(at, "must have one row for each GPU");
    }
    return links;
  }

  /// Of the last number so far. A matrix that contradicts itself was not measured.
  void check_link(const JsonAt& at, const std::vector<std::vector<int>>& links) {
    const std::size_t row = links.size() - 1;
    const std::size_t column = links.back().size() - 1;
    const int number = links.back().back();
    if (column == row && number != 0) {
      json_.complain(at, "must be 0: no GPU is linked to itself");
    } else if (column < row && row < links[column].size() && number != links[column][row]) {
      json_.complain(at, "must be " + std::to_string(links[column][row]) + ", as links[" +
                             std::to_string(column) + "][" + std::to_string(row) +
                             "] is: a link joins two GPUs");
    }
  }

  static void sort_by_index(NodeInventory& inventory) {
    std::vector<std::size_t> order(inventory.gpus.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, {}, [&](std::size_t i) { return inventory.gpus[i].index; });
    std::vector<GpuInfo> gpus;
    std::vector<std::vector<int>> links;
    for (const std::size_t from : order) {
      gpus.push_back(std::move(inventory.gpus[from]));
      if (inventory.links.empty()) continue;
      std::vector<int>& row = links.emplace_back();
      for (const std::size_t to : order) row.push_back(inventory.links[from][to]);
    }
    inventory.gpus = std::move(gpus);
    inventory.links = std::move(links);
  }

  const NodeFacts& node_;
  const Limits& limits_;
  JsonReader json_;
  bool dynamic_mig_ = false;
  std::set<int> indices_;
  std::set<std::string> uuids_;
};

}  // namespace

void read_inventory_annotation(const NodeFacts& node, const Limits& limits,
                               NodeInventory& inventory) {
  const std::string& text = node.annotations.find("snug.dev/inventory")->second;
  const auto refuse = [&](const std::string& problem) {
    inventory.gpus.clear();
    inventory.links.clear();
    inventory.dynamic_mig = false;
    close_to_all(inventory, ReasonCode::kBadInventory,
                 "the annotation snug.dev/inventory is malformed: " + problem);
  };
  if (static_cast<std::int64_t>(text.size()) > limits.max_inventory_bytes) {
    refuse("it has more than " + std::to_string(limits.max_inventory_bytes) + " bytes");
    return;
  }
  const auto document = parse_json(text, limits.max_json_depth);
  if (!document) {
    refuse("it " + document.error().message);
    return;
  }
  const std::string problem = AnnotationReader(node, limits).read(*document, inventory);
  if (!problem.empty()) {
    refuse(problem);
  } else if (inventory.gpus.empty()) {
    close_to_all(inventory, ReasonCode::kNoGpu, "");
  }
}

}  // namespace snug
