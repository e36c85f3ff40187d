// The nodes of the ledger: who is where, what each has, and the states that snapshots share.
// Not thread-safe: the ledger's mutex guards it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "snug/model/snapshot.hpp"

namespace snug {

class NodeSlots {
 public:
  /// The slot of a node that exists; nothing: no such node.
  [[nodiscard]] std::optional<NodeIndex> find(std::string_view name) const;
  /// Of a slot that find() gave.
  [[nodiscard]] const NodeStatePtr& state(NodeIndex index) const;
  [[nodiscard]] std::vector<std::string> names() const;
  /// How many nodes exist.
  [[nodiscard]] std::size_t size() const { return existing_; }

  /// False: the node had this very inventory already.
  bool put(NodeInventory inventory);
  /// The node goes; its holdings stay for when it comes back. False: there was no such node.
  bool remove(std::string_view name);

  /// The node need not exist (yet).
  void add(HoldingPtr holding);
  void remove(const Holding& holding);
  /// In the place of the one with the same uid and node.
  void replace(const HoldingPtr& holding);

  /// Counts the changes of what nodes have.
  [[nodiscard]] Generation inventories() const { return inventories_; }
  /// What the holdings of each namespace have of GPUs' compute.
  [[nodiscard]] const NamespaceUse& held() const { return held_; }

  /// The states as they are now; costs what changed since the last call.
  [[nodiscard]] NodeTable table();
  [[nodiscard]] const std::shared_ptr<const NameIndex>& name_index();
  /// GPU models by their numbers.
  [[nodiscard]] std::shared_ptr<const std::vector<std::string>> models() const { return models_; }
  /// MIG tables by their numbers.
  [[nodiscard]] std::shared_ptr<const std::vector<MigTableRef>> mig_tables() const {
    return mig_tables_;
  }

 private:
  struct Slot {
    std::string name;
    std::shared_ptr<const NodeInventory> inventory;  // null: the node is gone
    std::vector<HoldingPtr> holdings;
    NodeStatePtr state;         // null: the node is gone
    std::uint64_t version = 0;  // of the state
  };

  std::uint32_t slot_of(std::string_view name);
  void refresh(std::uint32_t slot);
  void set_inventory(std::uint32_t slot, std::shared_ptr<const NodeInventory> inventory);
  void drop_if_unused(std::uint32_t slot);
  [[nodiscard]] std::uint8_t number_of(const std::string& model);
  void number_table(GpuInfo& gpu);

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::size_t existing_ = 0;
  Generation inventories_;
  NamespaceUse held_;          // the sum of compute_held() over all holdings
  std::uint64_t version_ = 0;  // the last that a state was given
  std::unordered_map<std::string, std::uint32_t, StringHash, std::equal_to<>> by_name_;
  std::shared_ptr<const std::vector<std::string>> models_;       // null: none yet
  std::shared_ptr<const std::vector<MigTableRef>> mig_tables_;   // null: none yet
  std::shared_ptr<const NameIndex> index_;                       // null: out of date
  std::vector<std::shared_ptr<const NodeTable::Chunk>> chunks_;  // null: out of date
};

}  // namespace snug
