#include "service/node_mirror.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace snug::service {
namespace {

bool shows(const model::ListedAmounts& listed, const MirroredCapacity& capacity) {
  if (!capacity) return listed == model::ListedAmounts{};
  return listed.milli == capacity->milli.value && listed.memory_mib == capacity->memory.value;
}

bool shows_everywhere(const model::ShownAmounts& shown, const MirroredCapacity& capacity) {
  return shows(shown.capacity, capacity) && shows(shown.allocatable, capacity);
}

/// Whether the node shows some capacity of each resource of which it has some. A kubelet that has
/// just registered the node shows 0.
bool is_visible(const model::ListedAmounts& listed, const model::MirroredAmounts& capacity) {
  const auto visible = [](const std::optional<std::int64_t>& amount, std::int64_t whole) {
    return amount && (*amount > 0 || whole == 0);
  };
  return visible(listed.milli, capacity.milli.value) &&
         visible(listed.memory_mib, capacity.memory.value);
}

bool is_gpu_node(const model::NodeInventory& inventory) {
  return !inventory.gpus.empty() && inventory.closed_to_all == model::ReasonCode::kNone;
}

std::string range_text(const admission::CardRange& cards) {
  return "from " + std::to_string(cards.smallest.value) + " (smallestGpuMib) to " +
         std::to_string(cards.largest.value) + " MiB (largestGpuMib)";
}

}  // namespace

MirroredCapacity mirrored_capacity_of(const model::NodeState& node,
                                      const std::optional<admission::CardRange>& cards) {
  if (!cards) return std::nullopt;
  const bool has_carriers = node.mirrored_used != model::MirroredAmounts{};
  if (node.inventory->gpus.empty() && !has_carriers) return std::nullopt;
  return model::MirroredAmounts::max(admission::node_amounts(node, *cards), node.mirrored_used);
}

void NodeMirror::write() {
  look_at(*parts_.ledger.snapshot());
  if (!cards_) {
    if (write_parameters()) patch_nodes();
    return;
  }
  patch_nodes();
  if (all_gpu_nodes_are_visible()) write_parameters();
}

void NodeMirror::stand_by() {
  if (!seen_generation_) return;
  seen_generation_.reset();
  node_versions_.clear();
  tasks_.clear();
  gpu_slots_.clear();
  hidden_slots_.clear();
  paused_until_ = base::TimePoint::min();
  parameters_written_ = false;
  next_parameters_try_ = base::TimePoint::min();
}

void NodeMirror::look_at(const model::Snapshot& snapshot) {
  if (seen_generation_ && snapshot.generation == *seen_generation_) return;
  seen_generation_ = snapshot.generation;
  const model::NodeTable& nodes = snapshot.nodes;
  node_versions_.resize(nodes.size());
  for (std::size_t slot = 0; slot < nodes.size(); ++slot) {
    const std::uint64_t node_version = nodes.version(slot);
    if (node_version != 0 && node_version == node_versions_[slot]) continue;
    node_versions_[slot] = node_version;
    if (nodes[slot] == nullptr) {
      forget(slot);
    } else {
      examine(slot, *nodes[slot]);
    }
  }
}

void NodeMirror::examine(std::size_t slot, const model::NodeState& node) {
  const model::NodeInventory& inventory = *node.inventory;
  const MirroredCapacity capacity = mirrored_capacity_of(node, cards_);
  if (shows_everywhere(inventory.mirrored, capacity)) {
    tasks_.erase(slot);
  } else {
    plan_patch(slot, node, capacity);
  }
  gpu_slots_.erase(slot);
  hidden_slots_.erase(slot);
  if (!cards_ || !capacity || !is_gpu_node(inventory)) return;
  gpu_slots_.insert(slot);
  if (!is_visible(inventory.mirrored.capacity, *capacity)) hidden_slots_.insert(slot);
  warn_of_stray_gpu(slot, inventory, *cards_);
}

void NodeMirror::plan_patch(std::size_t slot, const model::NodeState& node,
                            const MirroredCapacity& capacity) {
  const model::ShownAmounts& shown = node.inventory->mirrored;
  Task& task = tasks_[slot];
  const bool same_node = task.node == node.name();
  if (same_node && task.capacity == capacity && task.shown == shown) return;
  Task next{.node = node.name(), .capacity = capacity, .shown = shown};
  if (same_node && task.failed) {
    next.failed = true;
    next.next_try = task.next_try;
  }
  task = std::move(next);
}

void NodeMirror::forget(std::size_t slot) {
  tasks_.erase(slot);
  gpu_slots_.erase(slot);
  hidden_slots_.erase(slot);
  stray_gpus_.erase(slot);
}

void NodeMirror::warn_of_stray_gpu(std::size_t slot, const model::NodeInventory& inventory,
                                   const admission::CardRange& cards) {
  const auto stray_gpu = std::ranges::find_if(inventory.gpus, [&](const model::GpuInfo& gpu) {
    const bool counts_slices = gpu.mig_enabled && gpu.mig_table;
    return !counts_slices && (gpu.memory < cards.smallest || gpu.memory > cards.largest);
  });
  if (stray_gpu == inventory.gpus.end()) {
    stray_gpus_.erase(slot);
    return;
  }
  StrayGpu found{.node = inventory.name, .memory = stray_gpu->memory};
  StrayGpu& logged = stray_gpus_[slot];
  if (logged == found) return;
  parts_.log.write(
      LogLevel::kWarn,
      "node " + inventory.name + " has a GPU with " + std::to_string(stray_gpu->memory.value) +
          " MiB, which is not in the range " + range_text(cards) + "; the node's capacity of " +
          std::string(stray_gpu->memory > cards.largest ? model::kMilliResource
                                                        : model::kMemoryResource) +
          " exceeds what this GPU has; widen the range to include it");
  logged = std::move(found);
}

void NodeMirror::patch_nodes() {
  const base::TimePoint now = parts_.clock.now();
  if (tasks_.empty() || now < paused_until_) return;
  std::int64_t patches = 0;
  for (auto& [slot, task] : tasks_) {
    if (now < task.next_try) continue;
    if (patches == limits_.mirror_patches_per_tick || !parts_.readiness.is_ready()) return;
    ++patches;
    if (!patch(task)) return;
  }
}

bool NodeMirror::patch(Task& task) {
  const base::Result<void> patched = parts_.api.set_mirrored_capacity(task.node, task.capacity);
  const base::TimePoint now = parts_.clock.now();
  task.next_try = now + std::chrono::milliseconds(limits_.mirror_retry_ms);
  // The watch will show that a node is gone.
  task.failed = !patched && patched.error().code != base::ErrorCode::kNotFound;
  if (!task.failed) return true;
  paused_until_ = now + std::chrono::milliseconds(limits_.mirror_pause_ms);
  const std::string& error = patched.error().message;
  if (std::exchange(task.logged_error, error) == error) return false;
  parts_.log.write(LogLevel::kWarn,
                   "the capacity of snug.dev/gpu-milli and "
                   "snug.dev/gpu-memory-mib of node " +
                       task.node + " could not be written: " + error);
  return false;
}

bool NodeMirror::write_parameters() {
  // What is written is written again from time to time, since somebody may change or delete it.
  if (parameters_written_ && !cards_) return true;
  const base::TimePoint now = parts_.clock.now();
  if (now < next_parameters_try_ || !parts_.readiness.is_ready()) return parameters_written_;
  const base::Result<void> written = parts_.api.write_mirror_parameters(cards_);
  next_parameters_try_ = parts_.clock.now() + std::chrono::milliseconds(limits_.mirror_retry_ms);
  if (!written) {
    const std::string& error = written.error().message;
    if (std::exchange(logged_parameters_error_, error) != error) {
      parts_.log.write(LogLevel::kWarn, "the parameters of the admission policy could not be " +
                                            std::string(cards_ ? "written: " : "deleted: ") +
                                            error);
    }
    return parameters_written_;
  }
  logged_parameters_error_.clear();
  if (std::exchange(parameters_written_, true)) return true;
  if (cards_) {
    parts_.log.write(LogLevel::kInfo, "all GPU nodes show their shares, for cards " +
                                          range_text(*cards_) +
                                          "; the parameters of the admission policy are written");
  }
  return true;
}

}  // namespace snug::service
