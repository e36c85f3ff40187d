// Node names to their slots in a NodeTable. Filled once, then only read, by any number of threads.
//
// A scheduler names every node of the cluster in every call, in any order, so that each look-up
// waits for memory twice: for the cell and for the name. find_all() looks up many at once, and
// hides most of that (bench/http_bench).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/ids.hpp"

namespace snug {

class NameIndex {
 public:
  void reserve(std::size_t names);
  /// The name is not in it yet.
  void emplace(std::string name, NodeIndex node);

  [[nodiscard]] std::optional<NodeIndex> find(std::string_view name) const;
  /// In the order of the names.
  [[nodiscard]] std::vector<std::optional<NodeIndex>> find_all(
      std::span<const std::string_view> names) const;
  [[nodiscard]] bool contains(std::string_view name) const { return find(name).has_value(); }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    std::string name;
    NodeIndex node;
  };
  struct Cell {
    std::uint32_t hash = 0;
    std::uint32_t entry = 0;  // its position in entries_ plus 1; 0: the cell is free
  };

  [[nodiscard]] static std::uint32_t hash_of(std::string_view name);
  [[nodiscard]] std::optional<NodeIndex> find(std::string_view name, std::uint32_t hash) const;
  void rehash(std::size_t cells);
  void put(std::uint32_t hash, std::uint32_t entry);

  std::vector<Entry> entries_;
  /// Open addressing, linear probing; a power of two, at most half full.
  std::vector<Cell> cells_;
};

}  // namespace snug
