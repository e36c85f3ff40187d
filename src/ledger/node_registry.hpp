// The nodes of the ledger: their inventories, their holdings, and the node states, which snapshots
// share. Not thread-safe: guarded by the ledger's mutex.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "snug/model/snapshot.hpp"

namespace snug::ledger {

class NodeRegistry {
 public:
  /// The slot of a node; nullopt: the node does not exist.
  [[nodiscard]] std::optional<base::NodeIndex> find(std::string_view name) const;
  /// The state of a slot that find() returned.
  [[nodiscard]] const model::NodeStatePtr& state(base::NodeIndex index) const;
  /// Null if the node does not exist.
  [[nodiscard]] std::shared_ptr<const model::NodeInventory> inventory(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> names() const;
  /// The number of existing nodes.
  [[nodiscard]] std::size_t size() const { return node_count_; }

  enum class PutResult : std::uint8_t {
    kEqual,        // the node already has an equal inventory
    kLoadChanged,  // only GpuInfo::load has changed, on which no feasibility depends
    kChanged,
  };
  /// Adds a node or replaces its inventory.
  PutResult put(model::NodeInventory inventory);
  /// Removes a node. Its holdings are kept, and count again if the node returns. Returns false if
  /// the node does not exist.
  bool remove(std::string_view name);

  /// Adds a holding. Its node need not exist.
  void add(model::HoldingPtr holding);
  void remove(const model::Holding& holding);
  /// Replaces the holding that has the same uid, node and reservation.
  void replace(const model::HoldingPtr& holding);
  /// The uids of the node's pods that hold GPUs, and of its unplaced pods.
  [[nodiscard]] std::vector<std::string> gpu_pod_uids(std::string_view node) const;
  /// The number of such pods of all nodes, also of those without inventory.
  [[nodiscard]] std::int64_t gpu_holdings() const;

  /// Defers the computation of node states. While a Batch exists, states may be out of date and
  /// must not be read. Its destructor computes each changed state once.
  class Batch {
   public:
    explicit Batch(NodeRegistry& nodes) : nodes_(nodes) { nodes_.in_batch_ = true; }
    ~Batch() { nodes_.end_batch(); }
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

   private:
    NodeRegistry& nodes_;
  };

  /// The number of changes of inventories, except changes of loads.
  [[nodiscard]] base::Generation inventory_generation() const { return inventory_generation_; }
  /// The sum of GPU compute that the holdings of each namespace take.
  [[nodiscard]] const model::NamespaceUsage& namespace_usage() const { return namespace_usage_; }

  /// The current node states, by slot. Takes time in proportion to the changes since the last call.
  [[nodiscard]] model::NodeTable table();
  [[nodiscard]] const std::shared_ptr<const model::NameIndex>& name_index();
  /// The GPU models, by GpuInfo::model_id.
  [[nodiscard]] std::shared_ptr<const std::vector<std::string>> models() const { return models_; }
  /// The MIG tables, by GpuInfo::mig_table_id.
  [[nodiscard]] std::shared_ptr<const std::vector<model::MigTableRef>> mig_tables() const {
    return mig_tables_;
  }

 private:
  __extension__ using WideAmount = __int128;

  /// What the CPU-only pods request. The numbers for CPU and memory are wider than those of
  /// HostResources, which saturate, so a pod can be subtracted exactly. The amounts that mirror
  /// shares do not overflow, since those of a container are at most kLargestQuantity.
  struct CpuOnlySum {
    WideAmount cpu_milli = 0;
    WideAmount memory_bytes = 0;
    model::MirroredAmounts mirrored;

    void add(const model::Holding& holding, int sign);
    [[nodiscard]] model::HostResources host() const;
  };
  struct Slot {
    std::string name;
    std::shared_ptr<const model::NodeInventory> inventory;  // null: the node does not exist
    std::vector<model::HoldingPtr> holdings;                // holdings with GPUs, and unplaced ones
    /// CPU-only holdings, by uid (a view into the holding).
    std::map<std::string_view, model::HoldingPtr> cpu_only;
    CpuOnlySum cpu_only_sum;    // the sum over `cpu_only`
    model::NodeStatePtr state;  // null: the node does not exist
    std::uint64_t version = 0;  // the version of `state`
  };

  std::uint32_t slot_of(std::string_view name);
  void refresh_state(std::uint32_t slot);
  [[nodiscard]] static model::NodeStatePtr state_of(const Slot& node);
  void end_batch();
  void set_inventory(std::uint32_t slot, std::shared_ptr<const model::NodeInventory> inventory);
  void free_slot_if_unused(std::uint32_t slot);
  [[nodiscard]] std::uint8_t model_id_of(const std::string& model);
  void assign_mig_table_id(model::GpuInfo& gpu);

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<std::uint32_t> stale_slots_;  // slots whose states the Batch must compute
  bool in_batch_ = false;
  std::size_t node_count_ = 0;
  base::Generation inventory_generation_;
  model::NamespaceUsage namespace_usage_;  // the sums of held_compute(), by namespace
  std::uint64_t last_version_ = 0;         // the last version assigned to a state
  std::unordered_map<std::string, std::uint32_t, model::StringHash, std::equal_to<>> by_name_;
  std::shared_ptr<const std::vector<std::string>> models_;             // null: there are none
  std::shared_ptr<const std::vector<model::MigTableRef>> mig_tables_;  // null: there are none
  std::shared_ptr<const model::NameIndex> index_;                      // null: out of date
  /// The chunks of table(). A null chunk is out of date.
  std::vector<std::shared_ptr<const model::NodeTable::Chunk>> chunks_;
};

}  // namespace snug::ledger
