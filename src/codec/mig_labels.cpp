#include "codec/mig_labels.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "codec/inventory_sources.hpp"
#include "snug/base/text.hpp"
#include "snug/mig/card_catalog.hpp"

namespace snug::codec {
namespace {

std::int64_t units_of(const model::StringMap& status, const std::string& resource) {
  const auto status_entry = status.find(resource);
  return status_entry == status.end() ? 0 : read_units(resource, status_entry->second).value_or(0);
}

std::string label_of(std::string_view profile, std::string_view label_suffix) {
  return std::string(mig::kMigResourcePrefix) + std::string(profile) + "." +
         std::string(label_suffix);
}

bool is_mixed(const model::NodeFacts& node) {
  return value_or_empty(node.labels, kStrategyLabel) == "mixed";
}

/// Returns the profiles of slices that the node's status and labels name, as spelled there.
std::set<std::string, std::less<>> named_profiles(const model::NodeFacts& node) {
  std::set<std::string, std::less<>> profiles;
  for (const model::StringMap* status : {&node.capacity, &node.allocatable}) {
    for (const auto& [resource, units] : *status) {
      if (resource.starts_with(mig::kMigResourcePrefix))
        profiles.emplace(mig::profile_in_resource(resource));
    }
  }
  if (!is_mixed(node)) return profiles;
  constexpr std::string_view kCount = ".count";
  for (const auto& [label, count] : node.labels) {
    if (!label.starts_with(mig::kMigResourcePrefix) || !label.ends_with(kCount)) continue;
    std::string_view profile = label;
    profile.remove_prefix(mig::kMigResourcePrefix.size());
    profile.remove_suffix(std::min(kCount.size(), profile.size()));
    profiles.emplace(profile);
  }
  return profiles;
}

/// Returns the number of slices of this profile that the node's labels state, multiplied by the
/// number of replicas of each slice. Returns 0 if the MIG strategy is not `mixed`.
base::Result<std::int64_t> labelled_slices(const model::NodeFacts& node, std::string_view profile) {
  const std::string label = label_of(profile, "count");
  if (!is_mixed(node) || !node.labels.contains(label)) return 0;
  const auto count = read_label_number(node, label, kNonNegative);
  if (!count) return count;
  const std::string replicas_label = label_of(profile, "replicas");
  if (!node.labels.contains(replicas_label)) return *count;
  const auto replicas = read_label_number(node, replicas_label, {0, kMaxReplicas});
  if (!replicas) return replicas;
  return *count * std::max<std::int64_t>(1, *replicas);
}

/// Returns a sentence if the node's capacity and labels have different numbers of slices of this
/// profile, and otherwise an empty text.
std::string check_profile(const model::NodeFacts& node, const std::string& profile) {
  const auto label_slices = labelled_slices(node, profile);
  if (!label_slices) return label_slices.error().message;
  const std::string resource = std::string(mig::kMigResourcePrefix) + profile;
  std::int64_t offered_slices = 0;
  for (const std::string& name : {resource, resource + std::string(mig::kSharedResourceSuffix)}) {
    if (!is_withdrawn_slice(node, name)) offered_slices += units_of(node.capacity, name);
  }
  if (offered_slices == *label_slices) return "";
  const std::string has = "the node's capacity has " + std::to_string(offered_slices) + " " +
                          base::printable_excerpt(resource) + ", but its labels ";
  return has + (is_mixed(node) ? "say " + std::to_string(*label_slices)
                               : "do not say nvidia.com/mig.strategy=mixed");
}

/// Returns the built-in table of the card; null if `model` and `memory` do not identify a MIG card.
model::MigTablePtr built_in_table(std::string_view model, base::MebiBytes memory) {
  const mig::MigCard* card = mig::find_mig_card(model, memory);
  return card == nullptr ? nullptr : card->table;
}

enum class CardScope : std::uint8_t {
  kInMigMode,  // the GPUs in MIG mode; all GPUs if none is known to be in MIG mode
  kAll,
};

/// Returns the MIG tables of the node's GPUs, without duplicates. If the inventory has no GPUs,
/// returns the built-in table of the product that the labels name.
std::vector<model::MigTablePtr> tables_of(const model::NodeFacts& node,
                                          const model::NodeInventory& inventory, CardScope cards) {
  std::vector<model::MigTablePtr> tables;
  const bool some_in_mig_mode = cards == CardScope::kInMigMode &&
                                std::ranges::any_of(inventory.gpus, &model::GpuInfo::mig_enabled);
  for (const model::GpuInfo& gpu : inventory.gpus) {
    if (some_in_mig_mode && !gpu.mig_enabled) continue;
    model::MigTablePtr table =
        gpu.mig_table ? gpu.mig_table.pointer() : built_in_table(gpu.model, gpu.memory);
    const bool is_listed = std::ranges::find(tables, table) != tables.end();
    if (table != nullptr && !is_listed) tables.push_back(std::move(table));
  }
  if (!inventory.gpus.empty()) return tables;
  const MigProduct product = mig_product(value_or_empty(node.labels, kProductLabel));
  // With the strategy `single`, the memory label has the memory of a slice, not of the card.
  const bool is_whole_card = product.profile.empty();
  const std::string_view memory = value_or_empty(node.labels, kMemoryLabel);
  model::MigTablePtr table =
      built_in_table(product.model, {is_whole_card ? base::parse_integer(memory).value_or(0) : 0});
  if (table != nullptr) tables.push_back(std::move(table));
  return tables;
}

/// Returns the compute of a slice in milli-GPU, rounded down. `resource_profile` is the profile as
/// in nvidia.com/mig-<resource_profile>. If the tables have different values, returns the largest,
/// so that no namespace exceeds its cap. If no table has the profile, returns 0.
std::int64_t slice_milli(const std::vector<model::MigTablePtr>& tables,
                         std::string_view resource_profile) {
  const auto profile = mig::parse_resource_profile(resource_profile);
  std::int64_t milli = 0;
  if (!profile) return milli;
  for (const model::MigTablePtr& table : tables) {
    const auto row = table->find_profile(profile->canonical);
    if (!row || table->compute_slices <= 0) continue;
    milli = std::max(milli, base::kWholeGpu.value * table->profiles[*row].compute_slices /
                                table->compute_slices);
  }
  return milli;
}

/// Adds the profile to `profiles` in every spelling that the tables have.
void add_profile(const std::vector<model::MigTablePtr>& tables, const std::string& name,
                 std::set<std::string, std::less<>>& profiles) {
  profiles.insert(name);
  for (const model::MigTablePtr& table : tables) {
    const auto row = table->find_profile(name);
    if (!row) continue;
    profiles.insert(table->profiles[*row].name);
    if (!table->profiles[*row].alias.empty()) profiles.insert(table->profiles[*row].alias);
  }
}

/// Returns the milli-GPU of one slice of the resource nvidia.com/mig-<resource_profile>. If no
/// table has the profile, uses the label nvidia.com/mig-<resource_profile>.product, because
/// nvidia.com/gpu.product names only one of a node's GPU models.
std::int64_t resource_milli(const model::NodeFacts& node,
                            const std::vector<model::MigTablePtr>& tables,
                            std::string_view resource_profile) {
  const std::int64_t milli = slice_milli(tables, resource_profile);
  if (milli > 0) return milli;
  const MigProduct product =
      mig_product(value_or_empty(node.labels, label_of(resource_profile, "product")));
  const model::MigTablePtr table = built_in_table(product.model, {0});
  return table == nullptr ? 0 : slice_milli({table}, resource_profile);
}

}  // namespace

MigProduct mig_product(std::string_view label) {
  constexpr std::string_view kShared = "-SHARED";
  constexpr std::string_view kMig = "-MIG-";
  if (label.ends_with(kShared)) label.remove_suffix(kShared.size());
  const std::size_t suffix = label.rfind(kMig);
  if (suffix == std::string_view::npos) return {.model = label, .profile = {}};
  return {.model = label.substr(0, suffix), .profile = label.substr(suffix + kMig.size())};
}

bool plugin_offers_only_slices(const model::NodeFacts& node) {
  return !mig_product(value_or_empty(node.labels, kProductLabel)).profile.empty() &&
         value_or_empty(node.labels, kStrategyLabel) == "single";
}

void close_while_reconfiguring(const model::NodeFacts& node, model::NodeInventory& inventory) {
  const std::string_view state = value_or_empty(node.labels, "nvidia.com/mig.config.state");
  if (state.empty() || state == "success") return;
  const std::string_view layout = value_or_empty(node.labels, "nvidia.com/mig.config");
  const std::string wanted =
      layout.empty() ? "" : " (nvidia.com/mig.config is " + base::in_quotes(layout) + ")";
  close_to_all_gpu_pods(inventory, model::ReasonCode::kReconfiguring,
                        "the label nvidia.com/mig.config.state is " + base::in_quotes(state) +
                            wanted + "; the node takes GPU pods again when it is success");
}

bool is_withdrawn_slice(const model::NodeFacts& node, std::string_view resource) {
  if (!resource.starts_with(mig::kMigResourcePrefix)) return false;
  const auto allocatable_entry = node.allocatable.find(resource);
  return allocatable_entry != node.allocatable.end() &&
         units_of(node.allocatable, allocatable_entry->first) == 0 &&
         labelled_slices(node, mig::profile_in_resource(resource)).value_or(1) == 0;
}

bool plugin_offers_slices(const model::NodeFacts& node) {
  return std::ranges::any_of(node.capacity, [&](const auto& capacity_entry) {
    return capacity_entry.first.starts_with(mig::kMigResourcePrefix) &&
           capacity_entry.second != "0" && !is_withdrawn_slice(node, capacity_entry.first);
  });
}

std::string check_slice_counts(const model::NodeFacts& node) {
  for (const std::string& profile : named_profiles(node)) {
    if (std::string problem = check_profile(node, profile); !problem.empty()) return problem;
  }
  return "";
}

void read_plugin_slices(const model::NodeFacts& node, model::NodeInventory& inventory) {
  const MigProduct product = mig_product(value_or_empty(node.labels, kProductLabel));
  inventory.plugin_owns_all_slices = plugin_offers_only_slices(node);
  const bool offers_slices = std::ranges::any_of(inventory.kubelet_capacity, [](const auto& units) {
    return units.first.starts_with(mig::kMigResourcePrefix);
  });
  if (!offers_slices && product.profile.empty()) return;
  const std::vector<model::MigTablePtr> tables = tables_of(node, inventory, CardScope::kInMigMode);
  const std::int64_t gpu_replicas = inventory.replicas;
  for (const auto& [resource, units] : inventory.kubelet_capacity) {
    std::int64_t device_milli = base::kWholeGpu.value;
    std::int64_t replicas = gpu_replicas;
    if (resource.starts_with(mig::kMigResourcePrefix)) {
      const std::string_view resource_profile = mig::profile_in_resource(resource);
      const auto profile = mig::parse_resource_profile(resource_profile);
      if (units > 0 && profile) add_profile(tables, profile->canonical, inventory.plugin_profiles);
      device_milli = resource_milli(node, tables, resource_profile);
      replicas = replicas_from_label(node, label_of(resource_profile, "replicas"));
    } else if (!product.profile.empty()) {
      device_milli = slice_milli(tables, product.profile);
    }
    inventory.milli_per_unit[resource] = {(device_milli + replicas - 1) / replicas};
    inventory.replicas = std::max(inventory.replicas, replicas);
  }
}

void read_expected_profiles(const model::NodeFacts& node, model::NodeInventory& inventory) {
  if (inventory.closed_to_all != model::ReasonCode::kReconfiguring) return;
  for (const model::MigTablePtr& table : tables_of(node, inventory, CardScope::kAll)) {
    for (const model::MigProfile& profile : table->profiles) {
      inventory.expected_profiles.insert(profile.name);
      if (!profile.alias.empty()) inventory.expected_profiles.insert(profile.alias);
    }
  }
}

}  // namespace snug::codec
