// A hash table from node names to slots in a NodeTable. Thread-safe once it has been filled.
//
// kube-scheduler sends the names of all nodes with every call, in any order. So each lookup has two
// cache misses: one for the cell and one for the text of the name. find_all() looks up many names
// at once, which hides most of this latency (bench/http_bench).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/ids.hpp"

namespace snug::model {

class NameIndex {
 public:
  void reserve(std::size_t names);
  /// Adds a name. Requires that the name is not in the index.
  void emplace(std::string_view name, base::NodeIndex node);

  [[nodiscard]] std::optional<base::NodeIndex> find(std::string_view name) const;
  /// Looks up all `names`. The result has one element for each name, in the same order.
  [[nodiscard]] std::vector<std::optional<base::NodeIndex>> find_all(
      std::span<const std::string_view> names) const;
  [[nodiscard]] bool contains(std::string_view name) const { return find(name).has_value(); }
  [[nodiscard]] std::size_t size() const { return name_count_; }
  [[nodiscard]] bool empty() const { return name_count_ == 0; }

 private:
  struct Cell {
    std::uint32_t hash = 0;
    std::uint32_t length_plus_one = 0;  // the name's length plus 1; 0 if the cell is free
    std::uint32_t text = 0;             // offset of the name in text_
    std::uint32_t node = 0;
  };

  [[nodiscard]] static std::uint32_t hash_of(std::string_view name);
  [[nodiscard]] std::optional<base::NodeIndex> find(std::string_view name,
                                                    std::uint32_t hash) const;
  void insert_cell(const Cell& cell);

  std::string text_;  // all names, one after another
  /// The hash table, with open addressing and linear probing. Its size is a power of two; at most
  /// half of the cells are used.
  std::vector<Cell> cells_;
  std::size_t name_count_ = 0;
};

}  // namespace snug::model
