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

/// Returns the starts as `0, 2 or 4`.
std::string alternatives_text(const std::vector<int>& starts) {
  std::string alternatives;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const bool is_last_start = i + 1 == starts.size();
    alternatives += (i == 0 ? "" : is_last_start ? " or " : ", ") + std::to_string(starts[i]);
  }
  return alternatives;
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
    const JsonCursor gpu_list = json_.required(root, "gpus");
    const auto gpu_items = json_.items(gpu_list);
    if (static_cast<std::int64_t>(gpu_items.size()) > limits_.max_gpus_per_node) {
      json_.report_problem(
          gpu_list, "must have at most " + std::to_string(limits_.max_gpus_per_node) + " entries");
    }
    for (const JsonCursor& gpu_item : gpu_items) {
      if (!json_.ok()) break;
      inventory.gpus.push_back(read_gpu(gpu_item));
    }
    inventory.nvlinks = read_nvlinks(json_.member(root, "links"), inventory.gpus.size());
    read_mig_failures(json_.member(root, "migFailures"), inventory);
    inventory.enforcement = read_name(json_.member(root, "enforcement"), model::kEnforcementNames,
                                      "must be open or fail-closed");
    inventory.share_limits = read_name(json_.member(root, "limits"), model::kShareLimitsNames,
                                       "must be none, driver, mps or hami-core");
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
  /// Returns the value with the name that the member has; nullopt if the member is absent.
  template <typename Names>
  auto read_name(const JsonCursor& name_member, const Names& names, std::string_view rule)
      -> decltype(names.find("")) {
    if (!name_member.present()) return std::nullopt;
    const auto named_value = names.find(json_.text(name_member));
    if (!named_value) json_.report_problem(name_member, rule);
    return named_value;
  }

  model::GpuInfo read_gpu(const JsonCursor& gpu_object) {
    model::GpuInfo gpu;
    const JsonCursor index_member = json_.required(gpu_object, "index");
    gpu.index = static_cast<int>(json_.integer(index_member, kGpuIndex));
    if (!gpu_indices_.insert(gpu.index).second)
      json_.report_problem(index_member, "is a duplicate");
    gpu.uuid = read_uuid(gpu_object);
    gpu.model = read_model(gpu_object);
    gpu.memory = {json_.integer(json_.required(gpu_object, "memoryMiB"), kPositive)};
    if (const JsonCursor healthy = json_.member(gpu_object, "healthy"); healthy.present()) {
      gpu.healthy = json_.boolean(healthy);
    }
    if (const JsonCursor numa = json_.member(gpu_object, "numa"); numa.present()) {
      gpu.numa_node = static_cast<int>(json_.integer(numa, {-1, 65'535}));
    }
    gpu.mig_enabled = json_.boolean(json_.member(gpu_object, "mig"));
    gpu.allowed_modes = read_modes(json_.member(gpu_object, "modes"));
    gpu.mig_instances = read_instances(json_.member(gpu_object, "migInstances"));
    read_mig_table(json_.member(gpu_object, "migProfiles"), gpu);
    if (json_.ok()) check_instances(json_.member(gpu_object, "migInstances"), gpu);
    return gpu;
  }

  /// Checks the MIG instances of a GPU in MIG mode. Instances of other GPUs are ignored. A profile
  /// that is not in the table is accepted, because a newer driver may have added it.
  void check_instances(const JsonCursor& instance_list, const model::GpuInfo& gpu) {
    if (!gpu.mig_enabled) return;
    const auto instances = json_.items(instance_list);
    for (std::size_t i = 0; i < instances.size(); ++i) {
      const model::Slice& slice = gpu.mig_instances[i];
      if (slice.uuid.empty() && !dynamic_mig_) {
        json_.report_problem(
            instances[i],
            "must have a uuid, since pods get it by its uuid unless dynamicMig is true");
      }
      const auto profile_index =
          gpu.mig_table ? gpu.mig_table->find_profile(slice.profile) : std::nullopt;
      if (!profile_index) continue;
      const model::MigProfile& profile = gpu.mig_table->profiles[*profile_index];
      if (slice.size != profile.size) {
        json_.report_problem(instances[i], "must have the size of its profile, which is " +
                                               std::to_string(profile.size));
      }
      if (!std::ranges::binary_search(profile.starts, slice.start)) {
        json_.report_problem(instances[i], "must have a start that its profile allows, which is " +
                                               alternatives_text(profile.starts));
      }
    }
  }

  std::string read_model(const JsonCursor& gpu_object) {
    const JsonCursor model_member = json_.required(gpu_object, "model");
    std::string model_name = json_.text(model_member);
    if (json_.ok() && !model::is_valid_model_name(model_name))
      json_.report_problem(model_member, "must have " + model_name_rule());
    return model_name;
  }

  std::string read_uuid(const JsonCursor& device_object) {
    const JsonCursor uuid_member = json_.member(device_object, "uuid");
    std::string uuid = json_.nonempty_text(uuid_member);
    if (json_.ok() && uuid_member.present() && is_reserved_device_word(uuid)) {
      json_.report_problem(uuid_member, "must be a uuid, not `all`, `none`, `void` or a number");
    }
    if (json_.ok() && uuid_member.present() && !is_uuid(uuid)) {
      json_.report_problem(uuid_member,
                           "must have at most 64 characters, and only letters, digits and -_./:");
    }
    if (!uuid.empty() && !device_uuids_.insert(uuid).second)
      json_.report_problem(uuid_member, "is a duplicate");
    return uuid;
  }

  std::vector<model::GpuMode> read_modes(const JsonCursor& mode_list) {
    if (!mode_list.present()) return default_modes();
    std::vector<model::GpuMode> modes;
    for (const JsonCursor& mode_item : json_.items(mode_list)) {
      const model::GpuMode mode = model::parse_gpu_mode(json_.text(mode_item));
      if (mode == model::GpuMode::kNone || mode == model::GpuMode::kMig) {
        json_.report_problem(mode_item, "must be whole, time-slicing or mps");
      }
      if (std::ranges::find(modes, mode) != modes.end())
        json_.report_problem(mode_item, "is a duplicate");
      modes.push_back(mode);
    }
    return modes;
  }

  std::vector<model::Slice> read_instances(const JsonCursor& instance_list) {
    std::vector<model::Slice> slices;
    for (const JsonCursor& instance : json_.items(instance_list)) {
      model::Slice slice;
      slice.profile = read_profile_name(json_.required(instance, "profile"));
      slice.start = static_cast<int>(json_.integer(json_.required(instance, "start"), kAxisStart));
      slice.size = static_cast<int>(json_.integer(json_.required(instance, "size"), kAxisSize));
      slice.uuid = read_uuid(instance);
      const bool overlaps = std::ranges::any_of(slices, [&](const model::Slice& other_slice) {
        return slice.start < other_slice.start + other_slice.size &&
               other_slice.start < slice.start + slice.size;
      });
      if (overlaps) json_.report_problem(instance, "overlaps another instance");
      slices.push_back(std::move(slice));
    }
    return slices;
  }

  void check_profile_name(const JsonCursor& profile_member, std::string_view profile_name) {
    if (!json_.ok() || mig::parse_mig_profile_name(profile_name)) return;
    json_.report_problem(profile_member, "must be a profile's name, such as 2g.10gb or 1g.5gb+me");
  }

  /// Returns the name in the spelling of MIG tables.
  std::string read_profile_name(const JsonCursor& profile_member) {
    std::string profile_name = json_.nonempty_text(profile_member);
    check_profile_name(profile_member, profile_name);
    return mig::canonical_profile_name(std::move(profile_name));
  }

  /// Sets gpu.mig_table to the table in the annotation. If there is none, a GPU in MIG mode gets
  /// the built-in table of its card.
  void read_mig_table(const JsonCursor& profile_list, model::GpuInfo& gpu) {
    if (!profile_list.present()) {
      const mig::MigCard* card =
          gpu.mig_enabled && json_.ok() ? mig::find_mig_card(gpu.model, gpu.memory) : nullptr;
      if (card != nullptr) gpu.mig_table = card->table;
      return;
    }
    std::vector<model::MigProfile> profiles = read_profiles(profile_list);
    if (!json_.ok()) return;
    gpu.mig_table = mig::build_mig_table(std::move(profiles));
    if (!gpu.mig_table) {
      json_.report_problem(
          profile_list,
          "must have at least one profile with a start, and each profile under one name only");
    }
  }

  std::vector<model::MigProfile> read_profiles(const JsonCursor& profile_list) {
    std::vector<model::MigProfile> profiles;
    std::set<std::string> profile_names;
    std::size_t start_count = 0;
    const auto profile_items = json_.items(profile_list);
    if (profile_items.size() > model::kMaxMigProfiles) {
      json_.report_problem(
          profile_list, "must have at most " + std::to_string(model::kMaxMigProfiles) + " entries");
    }
    for (const JsonCursor& profile_item : profile_items) {
      model::MigProfile profile;
      const JsonCursor profile_member = json_.required(profile_item, "profile");
      profile.name = json_.nonempty_text(profile_member);
      check_profile_name(profile_member, profile.name);
      profile.alias = mig::profile_alias(profile.name);
      if (!profile_names.insert(profile.name).second)
        json_.report_problem(profile_member, "is a duplicate");
      profile.size =
          static_cast<int>(json_.integer(json_.required(profile_item, "size"), kAxisSize));
      profile.memory = {json_.integer(json_.required(profile_item, "memoryMiB"), kPositive)};
      read_starts(json_.required(profile_item, "starts"), profile);
      start_count += profile.starts.size();
      profiles.push_back(std::move(profile));
    }
    if (start_count > base::kMaxMigPlacements) {
      json_.report_problem(profile_list, "must have at most " +
                                             std::to_string(base::kMaxMigPlacements) +
                                             " starts in all profiles together");
    }
    return profiles;
  }

  void read_starts(const JsonCursor& start_list, model::MigProfile& profile) {
    for (const JsonCursor& start_item : json_.items(start_list)) {
      const auto start = static_cast<int>(json_.integer(start_item, kAxisStart));
      if (start + profile.size > model::kMaxAxisSlices) {
        json_.report_problem(start_item, "plus the size of the profile must be at most " +
                                             std::to_string(model::kMaxAxisSlices) +
                                             ", the most memory slices that a GPU may have");
      }
      if (std::ranges::find(profile.starts, start) != profile.starts.end()) {
        json_.report_problem(start_item, "is a duplicate");
      }
      profile.starts.push_back(start);
    }
    std::ranges::sort(profile.starts);
  }

  /// Marks the memory slices where the creation of a MIG instance failed. Ignores an entry if the
  /// node does not have its GPU, profile or start, because Snug never places a slice there.
  void read_mig_failures(const JsonCursor& failure_list, model::NodeInventory& inventory) {
    for (const JsonCursor& failure : json_.items(failure_list)) {
      const std::string uuid = json_.nonempty_text(json_.required(failure, "gpu"));
      const std::string profile =
          mig::canonical_profile_name(json_.nonempty_text(json_.required(failure, "profile")));
      const auto start =
          static_cast<int>(json_.integer(json_.required(failure, "start"), kAxisStart));
      (void)json_.nonempty_text(json_.member(failure, "pod"));
      if (!json_.ok()) return;
      for (model::GpuInfo& gpu : inventory.gpus) {
        if (gpu.uuid != uuid || !gpu.mig_table) continue;
        const auto profile_index = gpu.mig_table->find_profile(profile);
        if (!profile_index) continue;
        const model::MigProfile& failed_profile = gpu.mig_table->profiles[*profile_index];
        if (!std::ranges::binary_search(failed_profile.starts, start)) continue;
        gpu.failed_memory_slices |= model::axis_range(start, failed_profile.size);
      }
    }
  }

  std::vector<std::vector<int>> read_nvlinks(const JsonCursor& link_matrix, std::size_t gpu_count) {
    std::vector<std::vector<int>> links;
    for (const JsonCursor& link_row : json_.items(link_matrix)) {
      std::vector<int>& row_links = links.emplace_back();
      for (const JsonCursor& link_item : json_.items(link_row)) {
        row_links.push_back(static_cast<int>(json_.integer(link_item, {0, 65'535})));
        check_link(link_item, links);
      }
      if (row_links.size() != gpu_count)
        json_.report_problem(link_row, "must have one number for each GPU");
    }
    if (json_.ok() && link_matrix.present() && links.size() != gpu_count) {
      json_.report_problem(link_matrix, "must have one row for each GPU");
    }
    return links;
  }

  /// Checks the last number that was added to `links`. The matrix must be symmetric, with 0 on its
  /// diagonal.
  void check_link(const JsonCursor& link_item, const std::vector<std::vector<int>>& links) {
    const std::size_t row = links.size() - 1;
    const std::size_t column = links.back().size() - 1;
    const int link_number = links.back().back();
    if (column == row && link_number != 0) {
      json_.report_problem(link_item, "must be 0: no GPU is linked to itself");
    } else if (column < row && row < links[column].size() && link_number != links[column][row]) {
      json_.report_problem(link_item, "must be " + std::to_string(links[column][row]) +
                                          " like links[" + std::to_string(column) + "][" +
                                          std::to_string(row) + "]: the matrix must be symmetric");
    }
  }

  static void sort_by_index(model::NodeInventory& inventory) {
    std::vector<std::size_t> gpu_order(inventory.gpus.size());
    std::iota(gpu_order.begin(), gpu_order.end(), 0U);
    std::ranges::sort(gpu_order, {}, [&](std::size_t i) { return inventory.gpus[i].index; });
    std::vector<model::GpuInfo> sorted_gpus;
    std::vector<std::vector<int>> sorted_links;
    for (const std::size_t gpu : gpu_order) {
      sorted_gpus.push_back(std::move(inventory.gpus[gpu]));
      if (inventory.nvlinks.empty()) continue;
      std::vector<int>& sorted_row = sorted_links.emplace_back();
      for (const std::size_t peer_gpu : gpu_order)
        sorted_row.push_back(inventory.nvlinks[gpu][peer_gpu]);
    }
    inventory.gpus = std::move(sorted_gpus);
    inventory.nvlinks = std::move(sorted_links);
  }

  const model::NodeFacts& node_;
  const base::Limits& limits_;
  JsonReader json_;
  bool dynamic_mig_ = false;
  std::set<int> gpu_indices_;
  std::set<std::string> device_uuids_;
};

}  // namespace

void read_inventory_annotation(const model::NodeFacts& node, const base::Limits& limits,
                               model::NodeInventory& inventory) {
  const std::string& annotation = node.annotations.find("snug.dev/inventory")->second;
  const auto refuse_annotation = [&](const std::string& problem) {
    inventory.gpus.clear();
    inventory.nvlinks.clear();
    inventory.dynamic_mig = false;
    inventory.enforcement.reset();
    inventory.share_limits.reset();
    close_to_all_gpu_pods(inventory, model::ReasonCode::kBadInventory,
                          "the annotation snug.dev/inventory is malformed: " + problem);
  };
  if (static_cast<std::int64_t>(annotation.size()) > limits.max_inventory_bytes) {
    refuse_annotation("it has more than " + std::to_string(limits.max_inventory_bytes) + " bytes");
    return;
  }
  const auto document = parse_json(annotation, limits.max_json_depth);
  if (!document) {
    refuse_annotation("it " + document.error().message);
    return;
  }
  const std::string problem = AnnotationReader(node, limits).read(*document, inventory);
  if (!problem.empty()) {
    refuse_annotation(problem);
  } else if (inventory.gpus.empty()) {
    close_to_all_gpu_pods(inventory, model::ReasonCode::kNoGpu, "");
  }
}

}  // namespace snug::codec
