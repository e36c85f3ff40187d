#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "codec/inventory_sources.hpp"
#include "codec/json_reader.hpp"
#include "snug/mig/card_catalog.hpp"
#include "snug/model/model_patterns.hpp"

namespace snug::codec {
namespace {

/// Whether `text` has a special meaning for NVIDIA's container runtime in a list of devices.
bool is_reserved_device_word(std::string_view text) {
  return text == "all" || text == "none" || text == "void" ||
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// Whether `text` can be the uuid of a device. A uuid must need no escapes in a comma-separated
/// list, and must be short enough for kReservationBytesPerGpu.
bool is_uuid(std::string_view text) {
  constexpr std::size_t kLongest = 64;
  return text.size() <= kLongest && std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  std::string_view("-_./:").find(c) != std::string_view::npos;
         });
}

/// Returns the numbers as `0, 2 or 4`.
std::string alternatives_text(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const bool last = i + 1 == numbers.size();
    text += (i == 0 ? "" : last ? " or " : ", ") + std::to_string(numbers[i]);
  }
  return text;
}

class AnnotationReader {
 public:
  AnnotationReader(const model::NodeFacts& node, const base::Limits& limits)
      : node_(node), limits_(limits) {}

  /// Fills `inventory`. Returns the first problem, or an empty text if there is none.
  std::string read(const JsonDocument& document, model::NodeInventory& inventory) {
    const JsonCursor root{.value = document.root()};
    (void)json_.integer(json_.required(root, "version"), {1, 1});
    const std::string boot_id = json_.text(json_.member(root, "bootID"));
    dynamic_mig_ = json_.boolean(json_.member(root, "dynamicMig"));
    inventory.dynamic_mig = dynamic_mig_;
    const JsonCursor gpus = json_.required(root, "gpus");
    const auto items = json_.items(gpus);
    if (static_cast<std::int64_t>(items.size()) > limits_.max_gpus_per_node) {
      json_.report_problem(
          gpus, "must have at most " + std::to_string(limits_.max_gpus_per_node) + " entries");
    }
    for (const JsonCursor& item : items) {
      if (!json_.ok()) break;
      inventory.gpus.push_back(read_gpu(item));
    }
    inventory.nvlinks = read_links(json_.member(root, "links"), inventory.gpus.size());
    read_failures(json_.member(root, "migFailures"), inventory);
    if (!json_.ok()) return json_.problem();
    sort_by_index(inventory);
    if (!boot_id.empty() && !node_.boot_id.empty() && boot_id != node_.boot_id) {
      close_to_all_gpu_pods(
          inventory, model::ReasonCode::kBadInventory,
          "the annotation snug.dev/inventory is stale: its bootID is not the one of the "
          "node's status.nodeInfo");
    }
    return "";
  }

 private:
  model::GpuInfo read_gpu(const JsonCursor& cursor) {
    model::GpuInfo gpu;
    const JsonCursor index = json_.required(cursor, "index");
    gpu.index = static_cast<int>(json_.integer(index, kGpuIndex));
    if (!indices_.insert(gpu.index).second) json_.report_problem(index, "is a duplicate");
    gpu.uuid = read_uuid(cursor);
    gpu.model = read_model(cursor);
    gpu.memory = {json_.integer(json_.required(cursor, "memoryMiB"), kPositive)};
    if (const JsonCursor healthy = json_.member(cursor, "healthy"); healthy.present()) {
      gpu.healthy = json_.boolean(healthy);
    }
    if (const JsonCursor numa = json_.member(cursor, "numa"); numa.present()) {
      gpu.numa_node = static_cast<int>(json_.integer(numa, {-1, 65'535}));
    }
    gpu.mig_enabled = json_.boolean(json_.member(cursor, "mig"));
    gpu.allowed_modes = read_modes(json_.member(cursor, "modes"));
    gpu.mig_instances = read_instances(json_.member(cursor, "migInstances"));
    read_table(json_.member(cursor, "migProfiles"), gpu);
    if (json_.ok()) check_instances(json_.member(cursor, "migInstances"), gpu);
    return gpu;
  }

  /// Checks the MIG instances of a GPU in MIG mode. Instances of other GPUs are ignored. A profile
  /// that is not in the table is accepted, because a newer driver may have added it.
  void check_instances(const JsonCursor& cursor, const model::GpuInfo& gpu) {
    if (!gpu.mig_enabled) return;
    const auto items = json_.items(cursor);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const model::Slice& slice = gpu.mig_instances[i];
      if (slice.uuid.empty() && !dynamic_mig_) {
        json_.report_problem(
            items[i], "must have a uuid, since pods get it by its uuid unless dynamicMig is true");
      }
      const auto known = gpu.mig_table ? gpu.mig_table->find_profile(slice.profile) : std::nullopt;
      if (!known) continue;
      const model::MigProfile& profile = gpu.mig_table->profiles[*known];
      if (slice.size != profile.size) {
        json_.report_problem(items[i], "must have the size of its profile, which is " +
                                           std::to_string(profile.size));
      }
      if (!std::ranges::binary_search(profile.starts, slice.start)) {
        json_.report_problem(items[i], "must have a start that its profile allows, which is " +
                                           alternatives_text(profile.starts));
      }
    }
  }

  std::string read_model(const JsonCursor& object) {
    const JsonCursor cursor = json_.required(object, "model");
    std::string model = json_.text(cursor);
    if (json_.ok() && !model::is_valid_model_name(model))
      json_.report_problem(cursor, "must have " + model_name_rule());
    return model;
  }

  std::string read_uuid(const JsonCursor& object) {
    const JsonCursor cursor = json_.member(object, "uuid");
    std::string uuid = json_.nonempty_text(cursor);
    if (json_.ok() && cursor.present() && is_reserved_device_word(uuid)) {
      json_.report_problem(cursor, "must be a uuid, not `all`, `none`, `void` or a number");
    }
    if (json_.ok() && cursor.present() && !is_uuid(uuid)) {
      json_.report_problem(cursor,
                           "must have at most 64 characters, and only letters, digits and -_./:");
    }
    if (!uuid.empty() && !uuids_.insert(uuid).second)
      json_.report_problem(cursor, "is a duplicate");
    return uuid;
  }

  std::vector<model::GpuMode> read_modes(const JsonCursor& cursor) {
    if (!cursor.present()) return default_modes();
    std::vector<model::GpuMode> modes;
    for (const JsonCursor& item : json_.items(cursor)) {
      const model::GpuMode mode = model::parse_gpu_mode(json_.text(item));
      if (mode == model::GpuMode::kNone || mode == model::GpuMode::kMig) {
        json_.report_problem(item, "must be whole, time-slicing or mps");
      }
      if (std::ranges::find(modes, mode) != modes.end())
        json_.report_problem(item, "is a duplicate");
      modes.push_back(mode);
    }
    return modes;
  }

  std::vector<model::Slice> read_instances(const JsonCursor& cursor) {
    std::vector<model::Slice> slices;
    for (const JsonCursor& item : json_.items(cursor)) {
      model::Slice slice;
      slice.profile = read_profile_name(json_.required(item, "profile"));
      slice.start = static_cast<int>(json_.integer(json_.required(item, "start"), kAxisStart));
      slice.size = static_cast<int>(json_.integer(json_.required(item, "size"), kAxisSize));
      slice.uuid = read_uuid(item);
      const bool overlaps = std::ranges::any_of(slices, [&](const model::Slice& other) {
        return slice.start < other.start + other.size && other.start < slice.start + slice.size;
      });
      if (overlaps) json_.report_problem(item, "overlaps another instance");
      slices.push_back(std::move(slice));
    }
    return slices;
  }

  void check_profile_name(const JsonCursor& cursor, std::string_view name) {
    if (!json_.ok() || mig::parse_mig_profile_name(name)) return;
    json_.report_problem(cursor, "must be a profile's name, such as 2g.10gb or 1g.5gb+me");
  }

  /// Returns the name in the spelling of MIG tables.
  std::string read_profile_name(const JsonCursor& cursor) {
    std::string name = json_.nonempty_text(cursor);
    check_profile_name(cursor, name);
    return mig::canonical_profile_name(std::move(name));
  }

  /// Sets gpu.mig_table to the table in the annotation. If there is none, a GPU in MIG mode gets
  /// the built-in table of its card.
  void read_table(const JsonCursor& cursor, model::GpuInfo& gpu) {
    if (!cursor.present()) {
      const mig::MigCard* card =
          gpu.mig_enabled && json_.ok() ? mig::find_mig_card(gpu.model, gpu.memory) : nullptr;
      if (card != nullptr) gpu.mig_table = card->table;
      return;
    }
    std::vector<model::MigProfile> profiles = read_profiles(cursor);
    if (!json_.ok()) return;
    gpu.mig_table = mig::build_mig_table(std::move(profiles));
    if (!gpu.mig_table) {
      json_.report_problem(
          cursor,
          "must have at least one profile with a start, and each profile under one name only");
    }
  }

  std::vector<model::MigProfile> read_profiles(const JsonCursor& cursor) {
    std::vector<model::MigProfile> profiles;
    std::set<std::string> names;
    std::size_t starts = 0;
    const auto items = json_.items(cursor);
    if (items.size() > model::kMaxMigProfiles) {
      json_.report_problem(
          cursor, "must have at most " + std::to_string(model::kMaxMigProfiles) + " entries");
    }
    for (const JsonCursor& item : items) {
      model::MigProfile profile;
      const JsonCursor name = json_.required(item, "profile");
      profile.name = json_.nonempty_text(name);
      check_profile_name(name, profile.name);
      profile.alias = mig::profile_alias(profile.name);
      if (!names.insert(profile.name).second) json_.report_problem(name, "is a duplicate");
      profile.size = static_cast<int>(json_.integer(json_.required(item, "size"), kAxisSize));
      profile.memory = {json_.integer(json_.required(item, "memoryMiB"), kPositive)};
      read_starts(json_.required(item, "starts"), profile);
      starts += profile.starts.size();
      profiles.push_back(std::move(profile));
    }
    if (starts > base::kMaxMigPlacements) {
      json_.report_problem(cursor, "must have at most " + std::to_string(base::kMaxMigPlacements) +
                                       " starts in all profiles together");
    }
    return profiles;
  }

  void read_starts(const JsonCursor& cursor, model::MigProfile& profile) {
    for (const JsonCursor& item : json_.items(cursor)) {
      const auto start = static_cast<int>(json_.integer(item, kAxisStart));
      if (start + profile.size > model::kMaxAxisSlices) {
        json_.report_problem(item, "plus the size of the profile must be at most " +
                                       std::to_string(model::kMaxAxisSlices) +
                                       ", the memory slices of the largest GPU");
      }
      if (std::ranges::find(profile.starts, start) != profile.starts.end()) {
        json_.report_problem(item, "is a duplicate");
      }
      profile.starts.push_back(start);
    }
    std::ranges::sort(profile.starts);
  }

  /// Marks the memory slices where the creation of a MIG instance failed. Ignores an entry if the
  /// node does not have its GPU, profile or start, because Snug never places a slice there.
  void read_failures(const JsonCursor& cursor, model::NodeInventory& inventory) {
    for (const JsonCursor& item : json_.items(cursor)) {
      const std::string uuid = json_.nonempty_text(json_.required(item, "gpu"));
      const std::string profile =
          mig::canonical_profile_name(json_.nonempty_text(json_.required(item, "profile")));
      const auto start = static_cast<int>(json_.integer(json_.required(item, "start"), kAxisStart));
      (void)json_.nonempty_text(json_.member(item, "pod"));
      if (!json_.ok()) return;
      for (model::GpuInfo& gpu : inventory.gpus) {
        if (gpu.uuid != uuid || !gpu.mig_table) continue;
        const auto known = gpu.mig_table->find_profile(profile);
        if (!known) continue;
        const model::MigProfile& failed = gpu.mig_table->profiles[*known];
        if (!std::ranges::binary_search(failed.starts, start)) continue;
        gpu.failed_memory_slices |= model::axis_range(start, failed.size);
      }
    }
  }

  std::vector<std::vector<int>> read_links(const JsonCursor& cursor, std::size_t gpus) {
    std::vector<std::vector<int>> links;
    for (const JsonCursor& row : json_.items(cursor)) {
      std::vector<int>& numbers = links.emplace_back();
      for (const JsonCursor& item : json_.items(row)) {
        numbers.push_back(static_cast<int>(json_.integer(item, {0, 65'535})));
        check_link(item, links);
      }
      if (numbers.size() != gpus) json_.report_problem(row, "must have one number for each GPU");
    }
    if (json_.ok() && cursor.present() && links.size() != gpus) {
      json_.report_problem(cursor, "must have one row for each GPU");
    }
    return links;
  }

  /// Checks the last number that was added to `links`. The matrix must be symmetric, with 0 on its
  /// diagonal.
  void check_link(const JsonCursor& cursor, const std::vector<std::vector<int>>& links) {
    const std::size_t row = links.size() - 1;
    const std::size_t column = links.back().size() - 1;
    const int number = links.back().back();
    if (column == row && number != 0) {
      json_.report_problem(cursor, "must be 0: no GPU is linked to itself");
    } else if (column < row && row < links[column].size() && number != links[column][row]) {
      json_.report_problem(cursor, "must be " + std::to_string(links[column][row]) +
                                       " like links[" + std::to_string(column) + "][" +
                                       std::to_string(row) + "]: the matrix must be symmetric");
    }
  }

  static void sort_by_index(model::NodeInventory& inventory) {
    std::vector<std::size_t> order(inventory.gpus.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, {}, [&](std::size_t i) { return inventory.gpus[i].index; });
    std::vector<model::GpuInfo> gpus;
    std::vector<std::vector<int>> links;
    for (const std::size_t from : order) {
      gpus.push_back(std::move(inventory.gpus[from]));
      if (inventory.nvlinks.empty()) continue;
      std::vector<int>& row = links.emplace_back();
      for (const std::size_t to : order) row.push_back(inventory.nvlinks[from][to]);
    }
    inventory.gpus = std::move(gpus);
    inventory.nvlinks = std::move(links);
  }

  const model::NodeFacts& node_;
  const base::Limits& limits_;
  JsonReader json_;
  bool dynamic_mig_ = false;
  std::set<int> indices_;
  std::set<std::string> uuids_;
};

}  // namespace

void read_inventory_annotation(const model::NodeFacts& node, const base::Limits& limits,
                               model::NodeInventory& inventory) {
  const std::string& text = node.annotations.find("snug.dev/inventory")->second;
  const auto refuse = [&](const std::string& problem) {
    inventory.gpus.clear();
    inventory.nvlinks.clear();
    inventory.dynamic_mig = false;
    close_to_all_gpu_pods(inventory, model::ReasonCode::kBadInventory,
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
    close_to_all_gpu_pods(inventory, model::ReasonCode::kNoGpu, "");
  }
}

}  // namespace snug::codec
