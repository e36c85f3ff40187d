// Maps node names to their slots in a NodeTable. Filled once, then read-only and thread-safe.
//
// A scheduler names every node of the cluster in every call, in any order, so each lookup misses
// the cache twice: for the cell and for the name's text. find_all() looks up many names at once and
// hides most of this latency (bench/http_bench).
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
  /// Requires that the name is not in the index.
  void emplace(std::string_view name, base::NodeIndex node);

  [[nodiscard]] std::optional<base::NodeIndex> find(std::string_view name) const;
  /// In the order of the names.
  [[nodiscard]] std::vector<std::optional<base::NodeIndex>> find_all(
      std::span<const std::string_view> names) const;
  [[nodiscard]] bool contains(std::string_view name) const { return find(name).has_value(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

 private:
  struct Cell {
    std::uint32_t hash = 0;
    std::uint32_t next_length = 0;  // the name's length plus 1; 0: the cell is free
    std::uint32_t text = 0;         // offset of the name in text_
    std::uint32_t node = 0;
  };

  [[nodiscard]] static std::uint32_t hash_of(std::string_view name);
  [[nodiscard]] std::optional<base::NodeIndex> find(std::string_view name,
                                                    std::uint32_t hash) const;
  void insert_cell(const Cell& cell);

  std::string text_;  // all names, one after another
  /// Open addressing, linear probing; a power of two, at most half full.
  std::vector<Cell> cells_;
  std::size_t size_ = 0;
};

}  // namespace snug::model
